import { systemClock } from '../../adapters/clock.ts';
import { kubeCluster } from '../../adapters/kube/kube.ts';
import { systemRandom } from '../../adapters/random.ts';
import {
  jobs,
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../cluster/kinds.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { operatorNamespace } from '../../layering/bootstrap-manifests/secret.ts';
import type { ClusterSight } from '../../layering/invariants/standing.ts';
import type { Kube } from '../../ports/kube.ts';
import { clusterCredentials } from '../after-pivot-credentials.ts';
import { stopSignal } from '../stop-signal.ts';

/** Works on the cluster of a kubeconfig; a stop ends it by the code of the signal. */
export async function withCluster(
  kubeconfig: string,
  work: (kube: Kube, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  using stop = stopSignal();
  const credentials = await clusterCredentials({}, kubeconfig);
  const kube = kubeCluster({
    credentials,
    clock: systemClock,
    random: systemRandom,
    tell: () => undefined,
  });
  try {
    return await work(kube, stop.signal);
  } catch (error) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    throw error;
  } finally {
    await kube.close();
  }
}

/**
 * Looks at all that the cluster says of layering.
 * @throws AgentError `kube.*`, `layering.pool-missing` where there is no pool of the name
 */
export async function lookAtCluster(
  kube: Kube,
  signal: AbortSignal,
  pool?: string,
): Promise<ClusterSight> {
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
