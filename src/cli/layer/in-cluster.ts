import {
  jobs,
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../kube/kinds.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { endPause, isPaused, pausedSince } from '../../layering/api/machine-config-pool.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { type ClusterSnapshot, nodesAtRisk } from '../../layering/hand-over/pool-status.ts';
import { exitCodes } from '../../model/failure.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { changePause } from '../../steps/cluster/pool-pause.ts';
import { withCluster } from '../cluster.ts';
import { print, printError, wrapped } from '../messages.ts';

/** The effect on nodes when a pool without an image is unpaused, for people. */
const revertsOf = (nodes: readonly string[]): readonly string[] => [
  `${nodes.length} nodes return to the OS of the release, one after the other, each with a drain and reboots:`,
  ...wrapped(nodes.join(', '), 98).map((line) => `  ${line}`),
];

/** Arguments of `layer unpause`. */
export interface UnpauseCall {
  readonly kubeconfig: string;
  /** Default: all pools. */
  readonly pool?: string;
  /** Required to unpause a pool whose nodes would lose their image. */
  readonly yes: boolean;
}

/**
 * Ends the pauses that a stopped installation's hand-over left; pauses by a person stay. Resolves
 * with 2 if the change needs `--yes`, and then changes nothing.
 * @throws AgentError `config.file-not-read`, `kube.*`, `layering.pool-missing`, `layering.not-kept`
 */
export function runLayerUnpause({ kubeconfig, pool, yes }: UnpauseCall): Promise<number> {
  return withCluster(kubeconfig, async (kube, signal) => {
    const cluster = await readCluster(kube, signal, pool);
    const asked = cluster.pools
      .filter(({ metadata }) => pool === undefined || metadata.name === pool)
      .map((one) => ({ name: one.metadata.name, one, since: pausedSince(one, 'handOver') }));
    const ours = asked.filter(({ since }) => since !== '');
    const risks = ours.flatMap(({ name }) => {
      const nodes = nodesAtRisk(name, cluster);
      const text = `pool ${name} has no image that was handed over`;
      return nodes.length === 0 ? [] : [text, ...revertsOf(nodes)];
    });
    for (const line of risks) print(`${line}\n`);
    if (risks.length > 0 && !yes) {
      printError(
        'nothing was changed: run the same "bootwright layer unpause" line again with --yes\n',
      );
      return exitCodes.input;
    }
    for (const { name, since, one } of asked) {
      const due = (now: KubeObject) => endPause(now, 'handOver', since);
      const left = since === '' ? one : await changePause({ kube, signal }, name, due);
      if (isPaused(left)) print(`pool ${name} stays paused: somebody else has paused it\n`);
      else print(`pool ${name} is ${since === '' ? 'not paused' : 'unpaused'}\n`);
    }
    return 0;
  });
}

/**
 * Reads all objects of the cluster about layering.
 * @throws AgentError `kube.*`, `layering.pool-missing` if there is no pool of the name
 */
export async function readCluster(
  kube: Kube,
  signal: AbortSignal,
  pool?: string,
): Promise<ClusterSnapshot> {
  const [pools, osConfigs, builds, nodesThere, jobsThere] = await Promise.all([
    kube.list({ kind: machineConfigPools }, signal),
    kube.list({ kind: machineOSConfigs }, signal),
    kube.list({ kind: machineOSBuilds }, signal),
    kube.list({ kind: nodes }, signal),
    kube.list({ kind: jobs, namespace: operatorNamespace }, signal),
  ]);
  const names = pools.map(({ metadata }) => metadata.name);
  if (names.length === 0 || (pool !== undefined && !names.includes(pool))) {
    const wanted = pool === undefined ? '' : ` ${pool}`;
    const others = names.length === 0 ? 'none' : names.join(', ');
    throw layeringFailure(
      'layering.pool-missing',
      `there is no MachineConfigPool${wanted}; the cluster has: ${others}`,
    );
  }
  return { pools, osConfigs, builds, nodes: nodesThere, jobs: jobsThere };
}
