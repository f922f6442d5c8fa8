import { listAt, partOf } from '../layering/api/cluster-object.ts';
import type { Kube, KubeKind, KubeObject } from '../ports/kube.ts';
import { isConflict } from '../ports/kube-failures.ts';
import { capiNames, clusters, type OwnedMetadata, type OwnerReference } from './api.ts';

/** A name in the namespace of an object, its own unless given, as one text: the key of a queue. */
export const placed = ({ metadata }: KubeObject, name = metadata.name): string =>
  `${metadata.namespace ?? ''}/${name}`;

/** What such a key names. */
export function refOf(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

/** Where an object of a kind is. */
export const refTo = (
  kind: KubeKind,
  { metadata: { name, namespace = '' } }: KubeObject,
): { readonly kind: KubeKind; readonly namespace: string; readonly name: string } => ({
  ...{ kind, namespace, name },
});

/** Whether nothing may be changed: the Cluster is paused, or the object itself, whatever its annotation says (Cluster API, `annotations.IsPaused`). */
export const isClusterPaused = (cluster: KubeObject | undefined, object: KubeObject): boolean =>
  partOf(cluster, 'spec', 'paused') === true ||
  object.metadata.annotations?.[capiNames.paused] !== undefined;

/** The owner of a kind of Cluster API, in whichever version: which of them is the controller differs. */
export const coreOwner = (
  { ownerReferences = [] }: Partial<OwnedMetadata>,
  kind: 'Cluster' | 'Machine',
): OwnerReference | undefined =>
  ownerReferences.find(
    (one) => one.kind === kind && one.apiVersion.split('/')[0] === clusters.group,
  );

/** Whether an object is controlled by the owner with a uid, and not by another one of its name. */
export const isControlledBy = (object: KubeObject, uid: string | undefined): boolean =>
  uid !== undefined &&
  listAt(object, 'metadata', 'ownerReferences').some((one) => {
    const owner = one as { readonly uid?: string; readonly controller?: boolean };
    return owner.controller === true && owner.uid === uid;
  });

/** The bytes under a key of a Secret; undefined if absent. */
export function secretBytes(secret: KubeObject | undefined, key: string): Buffer | undefined {
  const value = partOf(secret, 'data', key);
  return typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
}

/** The same as text. */
export const secretText = (secret: KubeObject | undefined, key: string): string | undefined =>
  secretBytes(secret, key)?.toString();

/** The data of a Secret that holds these. */
export const secretData = (
  contents: Readonly<Record<string, string | Uint8Array>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(contents).map(([key, content]) => [
      key,
      Buffer.from(content as Uint8Array).toString('base64'),
    ]),
  );

/** Makes an object unless there is one of its name; says whether it did. */
export async function createOnce(
  kube: Pick<Kube, 'create'>,
  { kind, object }: { readonly kind: KubeKind; readonly object: KubeObject },
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace } = object.metadata;
  try {
    await kube.create({ kind, namespace }, object, signal);
    return true;
  } catch (error) {
    if (!isConflict(error)) throw error;
    return false;
  }
}
