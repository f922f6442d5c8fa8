import type { Kube, KubeKind } from '../ports/kube.ts';

/** Definitions of kinds. */
const definitions: KubeKind = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' },
};

/** A kind as a reference of the contract means it. */
export interface ContractKind {
  readonly apiVersion: string;
  readonly kind: KubeKind;
}

/** The plural of a kind, as core computes it (Cluster API, `contract.CalculateCRDName`, gobuffalo/flect). */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}

/** The contracts that core reads, the newest first. */
const contracts = ['v1beta2', 'v1beta1'];

/**
 * The kind that a reference means, in the highest of the versions that its definition names for the newest contract;
 * undefined where there is no such kind, or none of a contract (Cluster API, `GetLatestContractAndAPIVersionFromContract`).
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

/** Of `v1alpha1_v1beta1`, as Kubernetes orders versions. */
export const highestVersion = (label: string): string | undefined =>
  label
    .split('_')
    .filter((version) => rankOf(version) !== undefined)
    .sort((one, other) => compare(rankOf(one) ?? [], rankOf(other) ?? []))
    .at(-1);

function rankOf(version: string): readonly number[] | undefined {
  const [, major, stage, minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
  if (major === undefined) return undefined;
  const stability = ['alpha', 'beta', undefined].indexOf(stage);
  return [stability, Number(major), Number(minor)];
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((number, index) => number !== other[index]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
