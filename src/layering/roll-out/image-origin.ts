import type { KubeObject } from '../../ports/kube.ts';
import {
  annotationOf,
  conditionOf,
  containerStatuses,
  countAt,
  textAt,
} from '../../kube/object.ts';
import { buildKeys } from '../api/os-build.ts';
import { currentBuild, jobOf, type PoolSnapshot } from '../hand-over/invariants.ts';
import { phaseOf } from '../hand-over/pool-status.ts';

/** Origin of a pool's image. */
export interface ImageOrigin {
  /** The MachineOSBuild with the image; empty where no build of the pool has it. */
  readonly build: string;
  /** The rendered MachineConfig in it. */
  readonly rendered: string;
  /** Whether it was built before the cluster was up. */
  readonly isOfInstallation: boolean;
  /** End of its build, RFC 3339; empty where unknown. */
  readonly builtAt: string;
  /** An earlier build with the same image; empty if absent. */
  readonly reusedFrom: string;
  /** The last observed generation of the MachineOSConfig; 0 where unknown. */
  readonly generation: number;
}

/** The origin of a pool's image; undefined for a pool without an image. */
export function imageOrigin(snapshot: PoolSnapshot, image: string): ImageOrigin | undefined {
  if (image === '') return undefined;
  const { osConfig, builds } = snapshot;
  const named = textAt(osConfig, 'status', 'machineOSBuild', 'name');
  const same = builds
    .filter((build) => imageOf(build) === image)
    .sort((a, b) => (buildEndTime(a) < buildEndTime(b) ? -1 : 1));
  const build = same.find(({ metadata }) => metadata.name === named) ?? same.at(-1);
  const first = same[0];
  return {
    build: build?.metadata.name ?? '',
    rendered: textAt(build, 'spec', 'machineConfig', 'name'),
    isOfInstallation: build?.metadata.labels?.[buildKeys.preBuiltImage] === 'true',
    builtAt: buildEndTime(build),
    reusedFrom: first === build ? '' : (first?.metadata.name ?? ''),
    generation: countAt(osConfig, 'status', 'observedGeneration'),
  };
}

/** The image of a build, by digest; empty without one. */
export const imageOf = (build: KubeObject | undefined): string =>
  textAt(build, 'status', 'digestedImagePushSpec');

const buildEndTime = (build: KubeObject | undefined): string => textAt(build, 'status', 'buildEnd');

/** A build that has not produced the desired image of the pool. */
export interface UnfinishedBuild {
  readonly name: string;
  /**
   * Type of the condition that is True, or `not started`; `missing` where the build does not exist.
   */
  readonly phase: string;
  /** Start of the build, RFC 3339; empty before it. */
  readonly since: string;
  /** Whether it has ended without an image. */
  readonly isOver: boolean;
  readonly message: string;
  /** Its pod with the pod's state; empty if absent. */
  readonly pod: string;
}

/**
 * The current build of a pool until it succeeds; undefined without one.
 * @param pods the pods of the operator's namespace, where builds run
 */
export function unfinishedBuild(
  snapshot: PoolSnapshot,
  pods: readonly KubeObject[],
): UnfinishedBuild | undefined {
  const { osConfig } = snapshot;
  const name = annotationOf(osConfig, buildKeys.currentBuild);
  if (name === '') return undefined;
  const build = currentBuild(snapshot);
  const phase = build === undefined ? 'missing' : phaseOf(build);
  if (phase === 'Succeeded') return undefined;
  return {
    name,
    phase,
    since: textAt(build, 'status', 'buildStart'),
    isOver: ['Failed', 'Interrupted'].includes(phase),
    message: conditionOf(build, phase).message,
    pod: podText(pods.filter((pod) => isOfJob(pod, jobOf(name))).at(-1)),
  };
}

/**
 * Whether a pod belongs to a Job, by the label of the job controller (batch/v1, `JobNameLabel`).
 */
const isOfJob = ({ metadata: { labels } }: KubeObject, job: string): boolean =>
  labels?.['batch.kubernetes.io/job-name'] === job;

function podText(pod: KubeObject | undefined): string {
  if (pod === undefined) return '';
  const why = containerStatuses(pod)
    .map((one) => textAt(one, 'state', 'waiting', 'reason'))
    .find((one) => one !== '');
  return `${pod.metadata.name}: ${textAt(pod, 'status', 'phase')}${why === undefined ? '' : `, ${why}`}`;
}
