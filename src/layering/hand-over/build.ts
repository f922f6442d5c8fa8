import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../ports/kube.ts';
import { conditionOf, listAt, partOf, textAt } from '../cluster-object.ts';
import { buildKeys, buildOwnership, type MachineOSBuildObject } from '../os-build/object.ts';
import { seededBuildStatus, type SeededBuildStatus } from '../os-build/status.ts';
import { isMembers, type Value } from '../schema/schema.ts';

/** What a MachineOSBuild of the right name is to the one that hands an image over. */
export type BuildStanding =
  /** Made by an earlier attempt, or by this one. */
  | { readonly kind: 'ours'; readonly isFinished: boolean }
  /** Made by the cluster's builder, which may have started a job for it. */
  | { readonly kind: 'of-the-builder'; readonly isFinished: boolean }
  /** It stands for something else, and that cannot be changed any more. */
  | { readonly kind: 'in-the-way'; readonly why: string };

/** Conditions after which a build takes no others (CRD of MachineOSBuild). */
const ends = ['Failed', 'Interrupted', 'Succeeded'] as const;

/** Judges a MachineOSBuild that is there by what it was to be. */
export function standingOf(
  found: KubeObject,
  { wanted, image }: { readonly wanted: MachineOSBuildObject; readonly image: string },
): BuildStanding {
  const { deletionTimestamp, labels } = found.metadata;
  if (deletionTimestamp !== undefined) return inTheWay('it is being deleted');
  if (!isDeepStrictEqual(partOf(found, 'spec'), wanted.spec)) {
    return inTheWay(`its spec is ${JSON.stringify(partOf(found, 'spec'))}`);
  }
  const end = ends.find((type) => conditionOf(found, type).status === 'True');
  const made = textAt(found, 'status', 'digestedImagePushSpec');
  if (end !== undefined && (end !== 'Succeeded' || made !== image)) {
    return inTheWay(`it has ${end}${made === '' ? '' : ` with image ${made}`}`);
  }
  const isFinished = end !== undefined;
  const isOurs = labels?.[buildKeys.preBuiltImage] === 'true';
  return { kind: isOurs ? 'ours' : 'of-the-builder', isFinished };
}

const inTheWay = (why: string): BuildStanding => ({ kind: 'in-the-way', why });

/**
 * The status that makes a build finished with the image. A start that is written already cannot be changed (CRD of
 * MachineOSBuild), so the end is put behind it.
 */
export function finishedStatus(
  found: KubeObject,
  { image, at }: { readonly image: string; readonly at: Date },
): SeededBuildStatus {
  const begun = Date.parse(textAt(found, 'status', 'buildStart'));
  const startedAt = Number.isNaN(begun) ? at : new Date(begun);
  return seededBuildStatus({ startedAt, endedAt: at, image });
}

/** What ties a build to its MachineOSConfig, beside what is there; nothing when it is tied. */
export function ownershipPatch(
  found: KubeObject,
  owner: { readonly name: string; readonly uid: string },
): object | undefined {
  const { ownerReferences, finalizers } = buildOwnership(owner);
  const owners = listAt(found, 'metadata', 'ownerReferences');
  const held = listAt(found, 'metadata', 'finalizers');
  const isOwned = owners.some((one) => memberOf(one, 'uid') === owner.uid);
  const missing = finalizers.filter((one) => !held.includes(one));
  if (isOwned && missing.length === 0) return undefined;
  // Only one owner may be the controller; one of an earlier MachineOSConfig is gone with that.
  const others = owners.filter((one) => memberOf(one, 'kind') !== 'MachineOSConfig');
  return {
    metadata: {
      ownerReferences: isOwned ? owners : [...others, ...ownerReferences],
      finalizers: [...held, ...missing],
    },
  };
}

const memberOf = (value: unknown, name: string): Value | undefined =>
  isMembers(value as Value) ? (value as Readonly<Record<string, Value>>)[name] : undefined;
