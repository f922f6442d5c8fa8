import { listAt, partOf } from '../kube/object.ts';
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
  kind,
  namespace,
  name,
});

/**
 * Whether nothing may be changed: the Cluster is paused, or the object itself, whatever its
 * annotation says (Cluster API, `annotations.IsPaused`).
 */
export const isClusterPaused = (cluster: KubeObject | undefined, object: KubeObject): boolean =>
  partOf(cluster, 'spec', 'paused') === true ||
  object.metadata.annotations?.[capiNames.paused] !== undefined;

/**
 * The owner of a kind of Cluster API, in whichever version: which of them is the controller
 * differs.
 */
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

/** The same; undefined if empty too. */
export function secretValue(secret: KubeObject, key: string): string | undefined {
  const text = secretText(secret, key);
  return text === '' ? undefined : text;
}

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

/** Definitions of kinds. */
const definitions: KubeKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
};

/** A kind as a reference of the contract means it. */
export interface ContractKind {
  readonly apiVersion: string;
  readonly kind: KubeKind;
}

/**
 * The plural of a kind, as core computes it (Cluster API, `contract.CalculateCRDName`,
 * gobuffalo/flect).
 */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}

/** The contracts that core reads, the newest first. */
const contracts = ['v1beta2', 'v1beta1'];

/**
 * The kind that a reference means, in the highest of the versions that its definition names for the
 * newest contract; undefined where there is no such kind, or none of a contract (Cluster API,
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

/** Of `v1alpha1_v1beta1`, as Kubernetes orders versions: stable ones first, then by numbers. */
function highestVersion(label: string): string | undefined {
  const ranked = label.split('_').flatMap((version) => {
    const [, major, stage = 'stable', minor = '0'] =
      /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
    return major === undefined ? [] : { version, rank: `${stage} ${major} ${minor}` };
  });
  const { compare } = new Intl.Collator('en', { numeric: true });
  return ranked.sort((one, other) => compare(one.rank, other.rank)).at(-1)?.version;
}
