import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, isOwnedBy, nodeKeys } from '../api/cluster-object.ts';
import { repositoryConfigName } from '../manifests/served-config.ts';
import { type ClusterSnapshot, poolSnapshot, poolStatus } from './pool-status.ts';

/** What a rollback of a pool to the OS of the release does. */
export interface RollbackPlan {
  readonly pool: string;
  /** The MachineOSConfig exists and has to be removed. */
  readonly removesOsConfig: boolean;
  /** Builds that are not deleted with the MachineOSConfig, and would degrade the pool. */
  readonly orphans: readonly string[];
  /** A MachineConfig that leads new nodes to the image; without one undefined. */
  readonly repositoryConfig: string | undefined;
  /** Nodes that will roll back. */
  readonly nodes: readonly string[];
  /** What a person should know, one sentence each. */
  readonly notes: readonly string[];
}

/** Ready masters that etcd needs before one may restart. */
const safeMasters = 3;

/**
 * Decides what to remove. Without a MachineOSConfig the node controller takes the image annotation
 * off one node after the other, and the daemon of each goes back to the OS of the release (as seen
 * on 4.23). A build that nobody owns is not collected with it. The MachineConfig that names the
 * repository would bring new nodes to the image again.
 * @param configs names of MachineConfigs in the cluster
 */
export function planRollback(
  pool: string,
  cluster: ClusterSnapshot,
  configs: readonly string[] = [],
): RollbackPlan {
  const { osConfig, builds, nodes } = poolSnapshot(pool, cluster);
  const orphans = builds
    .filter((build) => osConfig === undefined || !isOwnedBy(build, osConfig))
    .map(({ metadata }) => metadata.name);
  const layered = nodes.filter((node) => annotationOf(node, nodeKeys.desiredImage) !== '');
  const repositoryConfig = configs.find((name) => name === repositoryConfigName(pool));
  const isNothing =
    osConfig === undefined && orphans.length === 0 && repositoryConfig === undefined;
  return {
    pool,
    removesOsConfig: osConfig !== undefined,
    orphans,
    repositoryConfig,
    nodes: isNothing ? [] : layered.map(({ metadata }) => metadata.name),
    notes: isNothing ? [] : notesOn(pool, cluster, layered),
  };
}

function notesOn(
  pool: string,
  cluster: ClusterSnapshot,
  layered: readonly KubeObject[],
): readonly string[] {
  const { isPaused, nodes } = poolStatus(pool, cluster);
  const masters = cluster.nodes.filter(
    (node) =>
      node.metadata.labels?.['node-role.kubernetes.io/master'] !== undefined &&
      conditionOf(node, 'Ready').status === 'True',
  );
  const isRisky =
    pool === 'master' && nodes.length > 1 && masters.length < safeMasters && layered.length > 0;
  return [
    ...(isPaused ? ['the pool is paused: no node changes until it is unpaused'] : []),
    ...(isRisky
      ? [`only ${masters.length} masters are Ready: a restart of one may stop etcd`]
      : []),
    pool === 'master'
      ? 'new nodes of the pool boot the OS of the release'
      : 'new nodes of the pool boot the OS of the release, except hosts that are installed with layering.repository',
    'the image stays in its registry as long as a node runs it; the operator may delete it afterwards',
  ];
}
