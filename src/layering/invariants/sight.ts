import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, textAt } from '../cluster-object.ts';
import { renderedNameOf } from '../machine-config-pool.ts';
import { buildKeys } from '../os-build/object.ts';

/** What the API shows of a layered pool. */
export interface PoolSight {
  readonly pool: string;
  readonly machineConfigPool: KubeObject | undefined;
  readonly osConfig: KubeObject | undefined;
  /** Every MachineOSBuild of the pool. */
  readonly builds: readonly KubeObject[];
  /** The nodes of the pool. */
  readonly nodes: readonly KubeObject[];
  /** The jobs in `openshift-machine-config-operator`. */
  readonly jobs: readonly KubeObject[];
}

/** What a pool is held against. */
export interface Expected {
  /** The image of the pool, by digest. */
  readonly image: string;
  /** Name of its rendered MachineConfig. */
  readonly rendered: string;
}

/** The build that a MachineOSConfig calls its own. */
export function currentBuild({ osConfig, builds }: PoolSight): KubeObject | undefined {
  const name = annotationOf(osConfig, buildKeys.currentBuild);
  return builds.find(({ metadata }) => metadata.name === name);
}

/** What the cluster itself says that the pool is to be. */
export const expectedBySight = ({ osConfig, machineConfigPool }: PoolSight): Expected => ({
  image: textAt(osConfig, 'status', 'currentImagePullSpec'),
  rendered: renderedNameOf(machineConfigPool),
});

/** Name of the job in which the cluster's builder makes the image of a build. */
export const jobOf = (build: string): string => `build-${build}`;

/** The jobs that build an image of the pool. */
export function buildJobs({ pool, builds, jobs }: PoolSight): readonly string[] {
  const own = new Set(builds.map(({ metadata }) => jobOf(metadata.name)));
  return jobs
    .filter(
      ({ metadata: { name, labels } }) =>
        own.has(name) || (name.startsWith('build-') && labels?.[buildKeys.pool] === pool),
    )
    .map(({ metadata }) => metadata.name);
}
