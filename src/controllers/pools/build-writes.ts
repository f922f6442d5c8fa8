import { jobs, machineOSBuilds, secrets } from '../../cluster/kinds.ts';
import {
  annotationOf,
  conditionOf,
  isOwnedBy,
  listAt,
  nodeKeys,
  textAt,
} from '../../layering/api/cluster-object.ts';
import { buildTimes, conditionsOf } from '../../layering/api/os-build.ts';
import { jobOf, type PoolSnapshot } from '../../layering/hand-over/invariants.ts';
import { phaseOf } from '../../layering/hand-over/pool-status.ts';
import {
  imageOf,
  isOfJob,
  newestBuild,
  rolledBackKey,
} from '../../layering/roll-out/image-origin.ts';
import type { Millis } from '../../model/duration.ts';
import type { Kube, KubeKind, KubeObject, KubePatch, KubeRef } from '../../ports/kube.ts';
import { patchOf } from '../../reconcile/write.ts';
import { buildSecretName } from './build-job.ts';

/** A request to the API server. */
export type ApiWrite =
  | { readonly create: KubeObject; readonly kind: KubeKind; readonly mayExist?: true }
  | { readonly patch: KubePatch; readonly ref: KubeRef }
  | { readonly remove: Parameters<Kube['remove']>[0] };

/** What is to be done next, as requests in their order, with what it is in a sentence. */
export interface BuildWork {
  readonly what: string;
  readonly writes: readonly ApiWrite[];
  /** Reason of the event that is made of the sentence, where one is made. */
  readonly event?: string;
  readonly isFailure?: true;
  /** What is written where the API server refuses one of the requests as invalid. */
  readonly ifRefused?: (why: string) => ApiWrite;
}

/** The next thing to do for the image of a pool; a sentence where something else comes first, empty where all is done. */
export type NextBuild =
  | BuildWork
  | {
      readonly waitsFor: string;
      /** The pool can have no build as its objects are. */
      readonly isRefused?: true;
    };

/** A status as a merge patch. */
export const patchStatus = (kind: KubeKind, object: KubeObject, status: object): ApiWrite => ({
  ref: { kind, name: object.metadata.name },
  patch: patchOf(object, { status }, 'status'),
});

/** Annotations as a merge patch; null takes one away. */
export const patchAnnotations = (
  kind: KubeKind,
  object: KubeObject,
  annotations: Readonly<Record<string, string | null>>,
): ApiWrite => ({
  ref: { kind, name: object.metadata.name },
  patch: patchOf(object, { metadata: { annotations } }),
});

/** When, and where objects of builds are. */
interface BuildPlace {
  readonly namespace: string;
  readonly now: Millis;
  readonly snapshot: PoolSnapshot;
}

/** How a build ends. */
type BuildEnd =
  | { readonly phase: 'succeeded'; readonly image: string }
  | { readonly phase: 'failed' | 'interrupted'; readonly why: string };

/** The last status of a build. */
export function finished(
  { now }: Pick<BuildPlace, 'now'>,
  build: KubeObject,
  end: BuildEnd,
): ApiWrite {
  const start = textAt(build, 'status', 'buildStart');
  const endedAt = new Date(now);
  const times = buildTimes({ startedAt: start === '' ? endedAt : new Date(start), endedAt });
  return patchStatus(machineOSBuilds, build, {
    ...{ buildStart: times.buildStart, buildEnd: times.buildEnd },
    ...('image' in end ? { digestedImagePushSpec: end.image } : {}),
    conditions: conditionsOf(end.phase, times.end, 'why' in end ? end.why : ''),
  });
}

/**
 * Removes the Job of a build, and before it what it is built from: as long as the Job is there, it is to be removed. One of its
 * name that was made for another build stays.
 */
export function jobRemoval(
  { namespace, snapshot }: BuildPlace,
  build: KubeObject,
): readonly ApiWrite[] {
  const job = jobIn(snapshot, build.metadata.name);
  const ref = { kind: jobs, namespace, name: jobOf(build.metadata.name) };
  return [
    { remove: { kind: secrets, namespace, name: buildSecretName(build) } },
    ...(job === undefined || !isOwnedBy(job, build)
      ? []
      : [{ remove: { ...ref, uid: job.metadata.uid } }]),
  ];
}

/** Removes a build with all of it. */
export const removal = (place: BuildPlace, build: KubeObject): readonly ApiWrite[] => [
  ...jobRemoval(place, build),
  { remove: { kind: machineOSBuilds, name: build.metadata.name, uid: build.metadata.uid } },
];

/** Stops a build. The Job goes first: a crash behind it leaves a build that is stopped again. */
export const interruption = (place: BuildPlace, build: KubeObject, why: string): BuildWork => ({
  what: `MachineOSBuild ${build.metadata.name} is stopped: ${why}`,
  writes: [...jobRemoval(place, build), finished(place, build, { phase: 'interrupted', why })],
});

/** The Job of a build by its name. */
export const jobIn = ({ jobs: all }: PoolSnapshot, build: string): KubeObject | undefined =>
  all.find(({ metadata: { name } }) => name === jobOf(build));

/**
 * The builds that nothing needs once another has succeeded. Kept are that one, the newest with another image, which a
 * rollback takes, one that a rollback has set aside, and those of another image that a node has or is to have. What another
 * program made for no MachineOSConfig, or for a former one, is not ours to remove.
 */
export function oldBuilds(
  { builds, nodes }: PoolSnapshot,
  current: KubeObject,
  osConfig: KubeObject,
): readonly KubeObject[] {
  const others = builds.filter(({ metadata }) => metadata.name !== current.metadata.name);
  const fallback = newestBuild(
    others.filter((build) => phaseOf(build) === 'Succeeded' && imageOf(build) !== imageOf(current)),
  );
  const used = new Set(
    nodes.flatMap((node) => [
      annotationOf(node, nodeKeys.currentImage),
      annotationOf(node, nodeKeys.desiredImage),
    ]),
  );
  const isUsed = (image: string): boolean =>
    image !== '' && image !== imageOf(current) && used.has(image);
  return others.filter(
    (build) =>
      build !== fallback &&
      build.metadata.name !== annotationOf(osConfig, rolledBackKey) &&
      build.metadata.deletionTimestamp === undefined &&
      isOwnedBy(build, osConfig) &&
      !isUsed(imageOf(build)),
  );
}

/** How a Job ended: with the digest that its pod reported, unless that is not seen, or why it failed. */
type JobEnd = { readonly digest: string | undefined } | { readonly why: string };

/** The end of the Job of a build; undefined while it continues. */
export function jobEnd(
  build: string,
  job: KubeObject,
  pods: readonly KubeObject[],
): JobEnd | undefined {
  const terminated = pods
    .filter((pod) => isOfJob(pod, jobOf(build)))
    .toSorted((a, b) => createdAt(a) - createdAt(b))
    .flatMap((pod) => {
      const [status] = listAt(pod, 'status', 'containerStatuses');
      const text = textAt(
        status as KubeObject | undefined,
        'state',
        'terminated',
        'message',
      ).trim();
      return text === '' ? [] : [text];
    });
  if (conditionOf(job, 'Complete').status === 'True') {
    return { digest: terminated.find((text) => /^sha256:[0-9a-f]{64}$/.test(text)) };
  }
  const { status, reason, message } = conditionOf(job, 'Failed');
  if (status !== 'True') return undefined;
  const lines = terminated.at(-1) ?? '';
  // Our own last words begin so; the progress before them says nothing about the end.
  // What a build prints may hold what only those may read who may read the logs of its pod.
  const [, ...ends] = `\n${lines}`.split('\nfailed: ');
  const words = ends.at(-1)?.trim().slice(0, longestReason) ?? '';
  return { why: [words, `${reason}: ${message}`].filter((text) => text !== '').join('; ') };
}

/** A condition is read by people. */
const longestReason = 1500;

const createdAt = ({ metadata: { creationTimestamp = '' } }: KubeObject): number =>
  Date.parse(creationTimestamp) || 0;
