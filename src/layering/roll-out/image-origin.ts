import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, countAt, listAt, textAt } from '../../kube/object.ts';
import { buildKeys } from '../api/os-build.ts';
import { currentBuild, jobOf, type PoolSnapshot } from '../hand-over/invariants.ts';
import { phaseOf } from '../hand-over/pool-status.ts';

/** Why a pool has its image. */
export interface ImageOrigin {
  /** The MachineOSBuild that gave it; empty where none of the pool did. */
  readonly build: string;
  /** The rendered MachineConfig in it. */
  readonly rendered: string;
  /** Whether it was built before the cluster was up. */
  readonly isOfInstallation: boolean;
  /** When its build ended, RFC 3339; empty where that is not said. */
  readonly builtAt: string;
  /** An earlier build with the same image; empty if absent. */
  readonly reusedFrom: string;
  /** The generation of the MachineOSConfig that was acted on last; 0 where that is not said. */
  readonly generation: number;
}

/** Where the image of a pool comes from; undefined for a pool without one. */
export function imageOrigin(snapshot: PoolSnapshot, image: string): ImageOrigin | undefined {
  if (image === '') return undefined;
  const { osConfig, builds } = snapshot;
  const named = textAt(osConfig, 'status', 'machineOSBuild', 'name');
  const same = builds
    .filter((build) => imageOf(build) === image)
    .sort((a, b) => (endOf(a) < endOf(b) ? -1 : 1));
  const build = same.find(({ metadata }) => metadata.name === named) ?? same.at(-1);
  const first = same[0];
  return {
    build: build?.metadata.name ?? '',
    rendered: textAt(build, 'spec', 'machineConfig', 'name'),
    isOfInstallation: build?.metadata.labels?.[buildKeys.preBuiltImage] === 'true',
    builtAt: endOf(build),
    reusedFrom: first === build ? '' : (first?.metadata.name ?? ''),
    generation: countAt(osConfig, 'status', 'observedGeneration'),
  };
}

/** The image that a build gave, by its digest; empty where it gave none. */
export const imageOf = (build: KubeObject | undefined): string =>
  textAt(build, 'status', 'digestedImagePushSpec');

const endOf = (build: KubeObject | undefined): string => textAt(build, 'status', 'buildEnd');

/** A build that has not given the image that the pool is to have. */
export interface UnfinishedBuild {
  readonly name: string;
  /** The condition that is true, or `not started`; `missing` where the build is not there. */
  readonly phase: string;
  /** When it began, RFC 3339; empty where it has not. */
  readonly since: string;
  /** It has ended without an image. */
  readonly isOver: boolean;
  readonly message: string;
  /** Its pod with the state of it; empty if absent. */
  readonly pod: string;
}

/**
 * The current build of a pool while it has not succeeded; undefined without one.
 * @param pods those of the operator's namespace, where builds run
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

/** Whether a pod is one of a job, as the job controller labels them (batch/v1, `JobNameLabel`). */
const isOfJob = ({ metadata: { labels } }: KubeObject, job: string): boolean =>
  labels?.['batch.kubernetes.io/job-name'] === job;

function podText(pod: KubeObject | undefined): string {
  if (pod === undefined) return '';
  const statuses = ['initContainerStatuses', 'containerStatuses'].flatMap(
    (list) => listAt(pod, 'status', list) as readonly KubeObject[],
  );
  const why = statuses
    .map((one) => textAt(one, 'state', 'waiting', 'reason'))
    .find((one) => one !== '');
  return `${pod.metadata.name}: ${textAt(pod, 'status', 'phase')}${why === undefined ? '' : `, ${why}`}`;
}
