import type { KubeObject, KubePatch, KubeRef } from '../ports/kube.ts';
import { etcds } from './kinds.ts';
import { isAtLeast, releaseVersion } from './release-version.ts';

/** The one object of the etcd operator. */
export const etcdCluster: KubeRef = { kind: etcds, name: 'cluster' };

/** Lets etcd run with less than three members (cluster-etcd-operator, releases up to 4.6). */
const flag = 'useUnsupportedUnsafeNonHANonProductionUnstableEtcd';

/** Where the overrides that were there before ours are kept, as JSON, until they are put back. */
export const overrideAnnotation = 'bootwright.io/etcd-override';

/** When etcd is to be let start with less than three members. */
export type OverrideMode = 'auto' | 'always' | 'never';

/**
 * Whether etcd of this release needs to be told that less than three members will do: 4.6 and older,
 * pre-releases included. Newer releases find it out by themselves. A version that cannot be read
 * needs nothing.
 */
export function needsOverride(version: string, mode: OverrideMode): boolean {
  if (mode !== 'auto') return mode === 'always';
  const release = releaseVersion(version);
  return release?.[0] === 4 && !isAtLeast(release, [4, 7, 0]);
}

/** The overrides of an Etcd object; null when there are none. */
export function overridesOf(etcd: KubeObject): unknown {
  const { spec } = etcd as { readonly spec?: { readonly unsupportedConfigOverrides?: unknown } };
  return spec?.unsupportedConfigOverrides ?? null;
}

const fields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};

/** Whether the flag is set. */
export const isOverridden = (etcd: KubeObject): boolean => fields(overridesOf(etcd))[flag] === true;

/**
 * The overrides that were there before ours, from the record on the object; undefined when there is
 * no record. A record that cannot be read counts as none having been there.
 */
export function recordedBefore(etcd: KubeObject): { readonly before: unknown } | undefined {
  const record = etcd.metadata.annotations?.[overrideAnnotation];
  if (record === undefined) return undefined;
  try {
    return { before: JSON.parse(record) as unknown };
  } catch {
    return { before: null };
  }
}

/** Sets the flag and records in the same request what was there before. */
export const overridePatch = (before: unknown): KubePatch => ({
  type: 'merge',
  body: {
    metadata: { annotations: { [overrideAnnotation]: JSON.stringify(before) } },
    spec: { unsupportedConfigOverrides: { [flag]: true } },
  },
});

/**
 * Puts back what the record on the object says and removes the record; undefined when there is none.
 * Overrides that another has added since are left as they are.
 */
export function restorePatch(etcd: KubeObject): KubePatch | undefined {
  const record = recordedBefore(etcd);
  if (record === undefined) return undefined;
  const others = Object.keys(fields(overridesOf(etcd))).filter((name) => name !== flag);
  const isOnlyOurs = record.before === null && others.length === 0;
  return {
    type: 'merge',
    body: {
      metadata: { annotations: { [overrideAnnotation]: null } },
      spec: {
        unsupportedConfigOverrides: isOnlyOurs
          ? null
          : { [flag]: fields(record.before)[flag] ?? null },
      },
    },
  };
}

/** Whether an object is as it was before the override: no record, and the flag as it was. */
export const isRestored = (etcd: KubeObject, before: unknown): boolean =>
  recordedBefore(etcd) === undefined && fields(overridesOf(etcd))[flag] === fields(before)[flag];
