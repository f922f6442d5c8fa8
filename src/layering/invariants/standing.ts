import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, partOf, textAt } from '../cluster-object.ts';
import { nodeKeys } from '../node-keys.ts';
import { buildConditions } from '../os-build/status.ts';
import { nodesOfPool } from './pool-nodes.ts';
import { currentBuild, expectedBySight, type PoolSight } from './sight.ts';
import { type Breach, breachesOf } from './table.ts';

/** All objects of a cluster that say something about layering. */
export interface ClusterSight {
  readonly pools: readonly KubeObject[];
  readonly osConfigs: readonly KubeObject[];
  readonly builds: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
  /** The jobs in `openshift-machine-config-operator`. */
  readonly jobs: readonly KubeObject[];
}

/** A node with what it says of its image; empty texts where it says nothing. */
export interface NodeStanding {
  readonly name: string;
  readonly state: string;
  readonly currentImage: string;
  readonly desiredImage: string;
}

/** How a pool stands. */
export interface PoolStanding {
  readonly pool: string;
  readonly isLayered: boolean;
  readonly isPaused: boolean;
  readonly rendered: string;
  /** Where builds of the pool are pushed to; empty for a pool that is not layered. */
  readonly pushSpec: string;
  /** The build that the pool is to run, and how far it has come. */
  readonly build: { readonly name: string; readonly phase: string };
  /** The image of the pool, by digest. */
  readonly image: string;
  readonly nodes: readonly NodeStanding[];
  /** Empty for a pool that is not layered. */
  readonly breaches: readonly Breach[];
}

/** What a cluster shows of one pool. */
export function sightOf(pool: string, cluster: ClusterSight): PoolSight {
  const named = (objects: readonly KubeObject[]): KubeObject | undefined =>
    objects.find(({ metadata }) => metadata.name === pool);
  return {
    pool,
    machineConfigPool: named(cluster.pools),
    osConfig: named(cluster.osConfigs),
    builds: cluster.builds.filter(
      (build) => textAt(build, 'spec', 'machineOSConfig', 'name') === pool,
    ),
    nodes: nodesOfPool(pool, cluster),
    jobs: cluster.jobs,
  };
}

/** How one pool stands. */
export function standingOfPool(pool: string, cluster: ClusterSight): PoolStanding {
  const sight = sightOf(pool, cluster);
  const { machineConfigPool, osConfig, nodes } = sight;
  const expected = expectedBySight(sight);
  const build = currentBuild(sight);
  return {
    pool,
    isLayered: osConfig !== undefined,
    isPaused: partOf(machineConfigPool, 'spec', 'paused') === true,
    rendered: expected.rendered,
    pushSpec: textAt(osConfig, 'spec', 'renderedImagePushSpec'),
    build: { name: build?.metadata.name ?? '', phase: build === undefined ? '' : phaseOf(build) },
    image: expected.image,
    nodes: nodes.map(nodeStanding),
    breaches: osConfig === undefined ? [] : breachesOf(sight, expected),
  };
}

const nodeStanding = (node: KubeObject): NodeStanding => ({
  name: node.metadata.name,
  state: annotationOf(node, nodeKeys.state),
  currentImage: annotationOf(node, nodeKeys.currentImage),
  desiredImage: annotationOf(node, nodeKeys.desiredImage),
});

const phaseOf = (build: KubeObject): string =>
  buildConditions.find((type) => conditionOf(build, type).status === 'True') ?? 'not started';
