import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, partOf, textAt } from '../../kube/object.ts';
import { isSelectedBy, selectorText } from '../../kube/selector.ts';
import { nodeKeys } from '../api/node-keys.ts';
import { isPaused } from '../api/machine-config-pool.ts';
import { buildConditions } from '../api/os-build.ts';
import {
  type Violation,
  violationsOf,
  currentBuild,
  expectedState,
  type PoolSnapshot,
} from './invariants.ts';

/** All objects of a cluster that concern layering. */
export interface ClusterSnapshot {
  readonly pools: readonly KubeObject[];
  readonly osConfigs: readonly KubeObject[];
  readonly builds: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
  /** The Jobs in `openshift-machine-config-operator`. */
  readonly jobs: readonly KubeObject[];
}

/** A node with its image annotations; empty texts where they are missing. */
export interface NodeImageStatus {
  readonly name: string;
  readonly state: string;
  readonly currentImage: string;
  readonly desiredImage: string;
}

/** Status of a pool. */
export interface PoolStatus {
  readonly pool: string;
  readonly isLayered: boolean;
  readonly isPaused: boolean;
  /** The pool's own conditions, as `oc get mcp` shows them; empty where one is missing. */
  readonly conditions: {
    readonly updated: string;
    readonly updating: string;
    readonly degraded: string;
  };
  readonly rendered: string;
  /** Repository that the builds of the pool are pushed to; empty for a pool that is not layered. */
  readonly pushSpec: string;
  /** The current build of the pool, with its phase. */
  readonly build: { readonly name: string; readonly phase: string };
  /** The image of the pool, by digest. */
  readonly image: string;
  readonly nodes: readonly NodeImageStatus[];
  /** Empty for a pool that is not layered. */
  readonly violations: readonly Violation[];
}

/** The objects of one pool. */
export function poolSnapshot(pool: string, cluster: ClusterSnapshot): PoolSnapshot {
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

/** Status of one pool. */
export function poolStatus(pool: string, cluster: ClusterSnapshot): PoolStatus {
  const snapshot = poolSnapshot(pool, cluster);
  const { machineConfigPool, osConfig, nodes } = snapshot;
  const expected = expectedState(snapshot);
  const build = currentBuild(snapshot);
  return {
    pool,
    isLayered: osConfig !== undefined,
    isPaused: isPaused(machineConfigPool),
    conditions: {
      updated: conditionOf(machineConfigPool, 'Updated').status,
      updating: conditionOf(machineConfigPool, 'Updating').status,
      degraded: conditionOf(machineConfigPool, 'Degraded').status,
    },
    rendered: expected.rendered,
    pushSpec: textAt(osConfig, 'spec', 'renderedImagePushSpec'),
    build: { name: build?.metadata.name ?? '', phase: build === undefined ? '' : phaseOf(build) },
    image: expected.image,
    nodes: nodes.map(nodeImageStatus),
    violations: osConfig === undefined ? [] : violationsOf(snapshot, expected),
  };
}

/** A node by its image annotations. */
export const nodeImageStatus = (node: KubeObject): NodeImageStatus => ({
  name: node.metadata.name,
  state: annotationOf(node, nodeKeys.state),
  currentImage: annotationOf(node, nodeKeys.currentImage),
  desiredImage: annotationOf(node, nodeKeys.desiredImage),
});

/** Type of the condition of a build that is True, or `not started`. */
export const phaseOf = (build: KubeObject): string =>
  buildConditions.find((type) => conditionOf(build, type).status === 'True') ?? 'not started';

/**
 * The pools that select a node; the first one rolls out to it. The pool of masters comes before any
 * other, and a custom pool before the pool of all workers. An empty selector selects nothing here,
 * and a Windows node is in no pool (machine-config-operator, `pkg/helpers`, GetPoolsForNode).
 */
export function poolsOfNode(
  { metadata: { labels = {} } }: KubeObject,
  pools: readonly KubeObject[],
): readonly string[] {
  if (labels['kubernetes.io/os'] === 'windows') return [];
  return pools
    .filter((pool) => {
      const selector = partOf(pool, 'spec', 'nodeSelector');
      return selectorText(selector) !== '' && isSelectedBy(selector, labels);
    })
    .sort((a, b) => rankOf(a) - rankOf(b))
    .map(({ metadata: { name } }) => name);
}

/** The nodes that a pool rolls out to. */
export const nodesOfPool = (
  name: string,
  { pools, nodes }: Pick<ClusterSnapshot, 'pools' | 'nodes'>,
): readonly KubeObject[] => nodes.filter((node) => poolsOfNode(node, pools)[0] === name);

/**
 * The nodes of a pool from which the operator removes the image once the pool is not paused,
 * because the image was not handed over.
 */
export const nodesAtRisk = (
  pool: string,
  cluster: Pick<ClusterSnapshot, 'pools' | 'nodes' | 'osConfigs'>,
): readonly string[] =>
  cluster.osConfigs.some(
    (one) => one.metadata.name === pool && textAt(one, 'status', 'currentImagePullSpec') !== '',
  )
    ? []
    : nodesOfPool(pool, cluster)
        .filter((node) => annotationOf(node, nodeKeys.desiredImage) !== '')
        .map(({ metadata }) => metadata.name);

/** The nodes of a pool that have joined, and whose desired image is another. */
export const nodesWithout = (
  image: string,
  pool: string,
  cluster: Pick<ClusterSnapshot, 'pools' | 'nodes'>,
): readonly string[] =>
  nodesOfPool(pool, cluster)
    .filter((node) => annotationOf(node, nodeKeys.currentConfig) !== '')
    .filter((node) => annotationOf(node, nodeKeys.desiredImage) !== image)
    .map(({ metadata }) => metadata.name);

const rankOf = ({ metadata: { name } }: KubeObject): number =>
  name === 'master' ? 0 : name === 'worker' ? 2 : 1;

/**
 * The objects of a cluster that refer to a registry that disappears with the bootstrap host, as
 * `KIND NAME`. A node compares its image letter for letter, so nothing corrects such a reference
 * later.
 * @param address ADDRESS:PORT of the registry
 */
export function stagingReferences(
  address: string,
  kind: string,
  objects: readonly KubeObject[],
): readonly string[] {
  // `10.0.0.1:5000` is not in `110.0.0.1:5000/x`, and `10.0.0.1:500` is not in `10.0.0.1:5000/x`.
  const escaped = address.replaceAll(/[^\w]/g, String.raw`\$&`);
  const named = new RegExp(String.raw`(?<![\w.-])${escaped}(?!\d)`);
  return objects
    .filter(({ metadata: { annotations }, spec, status }) =>
      named.test(JSON.stringify([annotations, spec, status])),
    )
    .map(({ metadata: { name } }) => `${kind} ${name}`);
}
