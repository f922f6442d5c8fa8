import { listAt, partOf, textAt } from '../kube/object.ts';
import type { Kube, KubeKind, KubeObject } from '../ports/kube.ts';
import { isConflict } from '../ports/kube-failures.ts';
import { capiNames, clusters, type OwnedMetadata, type OwnerReference } from './api.ts';

/**
 * Namespace and name as one text, the key of a queue; the name is the object's own unless given.
 */
export const objectKey = ({ metadata }: KubeObject, name = metadata.name): string =>
  `${metadata.namespace ?? ''}/${name}`;

/** Namespace and name of such a key. */
export function refOf(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

/** The reference to an object of a kind. */
export const refTo = (
  kind: KubeKind,
  { metadata: { name, namespace = '' } }: KubeObject,
): { readonly kind: KubeKind; readonly namespace: string; readonly name: string } => ({
  kind,
  namespace,
  name,
});

/**
 * Whether changes are forbidden: the Cluster or the object itself is paused, with any value of the
 * annotation (Cluster API, `annotations.IsPaused`).
 */
export const isClusterPaused = (cluster: KubeObject | undefined, object: KubeObject): boolean =>
  partOf(cluster, 'spec', 'paused') === true ||
  object.metadata.annotations?.[capiNames.paused] !== undefined;

/** The owner of a kind of Cluster API, in any API version. It need not be the controlling owner. */
export const coreOwner = (
  { ownerReferences = [] }: Partial<OwnedMetadata>,
  kind: 'Cluster' | 'Machine',
): OwnerReference | undefined =>
  ownerReferences.find(
    (one) => one.kind === kind && one.apiVersion.split('/')[0] === clusters.group,
  );

/** Whether the owner with a uid controls an object, rather than another owner of the same name. */
export const isControlledBy = (object: KubeObject, uid: string | undefined): boolean =>
  uid !== undefined &&
  listAt(object, 'metadata', 'ownerReferences').some((one) => {
    const owner = one as { readonly uid?: string; readonly controller?: boolean };
    return owner.controller === true && owner.uid === uid;
  });

/** The bytes of a key in a Secret; undefined if absent or empty. */
export function secretBytes(
  secret: KubeObject | undefined,
  key: string,
): Buffer<ArrayBuffer> | undefined {
  const value = textAt(secret, 'data', key);
  return value === '' ? undefined : Buffer.from(value, 'base64');
}

/** The text of a key in a Secret; undefined if absent or empty. */
export const secretText = (secret: KubeObject | undefined, key: string): string | undefined =>
  secretBytes(secret, key)?.toString();

/** The base64-encoded data of a Secret. */
export const secretData = (
  contents: Readonly<Record<string, string | Uint8Array>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(contents).map(([key, content]) => [
      key,
      Buffer.from(content as Uint8Array).toString('base64'),
    ]),
  );

/** Creates an object unless its name is taken; returns whether it did. */
export async function createOnce(
  kube: Pick<Kube, 'create'>,
  kind: KubeKind,
  object: KubeObject,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace } = object.metadata;
  try {
    await kube.create({ kind, namespace, denials: 'final' }, object, signal);
    return true;
  } catch (error) {
    if (!isConflict(error)) throw error;
    return false;
  }
}

/** The kind CustomResourceDefinition. */
const definitions: KubeKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
};

/** A kind in a reference of the contract. */
export interface ContractKind {
  readonly apiVersion: string;
  readonly kind: KubeKind;
}

/**
 * The plural of a kind, computed as in core (Cluster API, `contract.CalculateCRDName`,
 * gobuffalo/flect).
 */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}

/** The contracts that core reads, newest first. */
const contracts = ['v1beta2', 'v1beta1'];

/**
 * The kind of a reference, in the highest version that its definition lists for the newest
 * contract. Undefined if the kind does not exist or lists no contract (Cluster API,
 * `GetLatestContractAndAPIVersionFromContract`).
 */
export async function contractKind(
  { get }: Pick<Kube, 'get'>,
  { apiGroup: group, kind }: { readonly apiGroup: string; readonly kind: string },
  signal: AbortSignal,
): Promise<ContractKind | undefined> {
  const plural = pluralOf(kind);
  const found = await get({ kind: definitions, name: `${plural}.${group}` }, signal);
  const labels = found?.metadata.labels ?? {};
  const named = contracts.map((contract) => labels[`cluster.x-k8s.io/${contract}`] ?? '');
  const version = highestVersion(named.find((value) => value !== '') ?? '');
  if (version === undefined) return undefined;
  return { apiVersion: `${group}/${version}`, kind: { group, version, plural } };
}

/**
 * The highest version in a label such as `v1alpha1_v1beta1`, in the order of Kubernetes: stable
 * versions first, then by number.
 */
function highestVersion(label: string): string | undefined {
  const ranked = label.split('_').flatMap((version) => {
    const [, major, stage = 'stable', minor = '0'] =
      /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
    return major === undefined ? [] : { version, rank: `${stage} ${major} ${minor}` };
  });
  const { compare } = new Intl.Collator('en', { numeric: true });
  return ranked.sort((one, other) => compare(one.rank, other.rank)).at(-1)?.version;
}
