import {
  type InstallConfig,
  installerVersion,
  invokerOf,
  invokerRef,
} from '../../cluster/install-config.ts';
import { nodes } from '../../kube/kinds.ts';
import {
  clusterHasCredentials,
  mayNeedUntaint,
  removesCloudTaint,
  serviceHasCredentials,
  untaintPatch,
} from '../../cluster/cloud-taint.ts';
import { readinessOf } from '../../cluster/node.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { InventoryCluster } from '../../ports/inventory.ts';
import type { KubeObject, KubePatch } from '../../ports/kube.ts';
import { givenVersion } from '../conditions.ts';
import type { StepScope } from '../step.ts';
import { askBriefly, type Tasks } from './inventory-hosts.ts';

type UntaintScope = StepScope<'kube' | 'inventory' | 'clock'>;
type DecisionScope = Pick<UntaintScope, 'kube' | 'inventory' | 'clock' | 'config'>;

const retryAfter: Millis = seconds(5);

/**
 * Removes the cloud provider taint from nodes that are not Ready if no other component removes it,
 * in the background of one wait. A failure is logged, and the removal is repeated.
 */
export function untaintOf(
  scope: UntaintScope,
  tasks: Tasks,
  installConfig: InstallConfig,
): (seen: readonly KubeObject[]) => void {
  let isWanted: boolean | undefined;
  const noted = new Set<string>();
  const untaint = async (
    tainted: readonly { readonly name: string; readonly patch: KubePatch }[],
    signal: AbortSignal,
  ): Promise<void> => {
    let what = 'decide whether to remove the cloud provider taint';
    try {
      isWanted ??= await decideUntaint(scope, installConfig, signal);
      for (const { name, patch } of isWanted ? tainted : []) {
        what = `remove the cloud provider taint from ${name}`;
        await scope.kube.patch({ kind: nodes, name }, patch, signal);
        scope.note('info', `removed the cloud provider taint from ${name}`);
      }
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      if (!noted.has(`${what} ${code}`))
        scope.note('warn', `could not ${what}; trying again`, { code, reason: message });
      noted.add(`${what} ${code}`);
    }
  };
  return (seen) => {
    const tainted = seen.flatMap((node) => {
      const patch = readinessOf(node).isReady ? undefined : untaintPatch(node);
      return patch === undefined ? [] : [{ name: node.metadata.name, patch }];
    });
    if (tainted.length > 0 && isWanted !== false)
      tasks.run('remove the taint', retryAfter, (signal) => untaint(tainted, signal));
  };
}

/** Whether to remove the cloud provider taint. Requests only the objects that decide it. */
export async function decideUntaint(
  scope: DecisionScope,
  installConfig: InstallConfig,
  signal: AbortSignal,
): Promise<boolean> {
  const cluster = await clusterOf(scope, signal);
  const platform = cluster?.platformType ?? installConfig.platform ?? '';
  if (!mayNeedUntaint(platform)) return false;
  const installer = await scope.kube.get(invokerRef, signal);
  const invoker = invokerOf(installer);
  const version = givenVersion(scope.config) ?? installerVersion(installer) ?? '';
  return removesCloudTaint({ platform, invoker, version }, () =>
    cluster === undefined ? clusterHasCredentials(installConfig) : serviceHasCredentials(cluster),
  );
}

/** The cluster in the service; undefined if the service does not answer in a short time. */
async function clusterOf(
  { inventory, clock, config }: DecisionScope,
  signal: AbortSignal,
): Promise<InventoryCluster | undefined> {
  if (config.service.url.isEmpty) return undefined;
  try {
    return await askBriefly({ clock, signal }, async (inner) => {
      for (;;) {
        const cluster = await inventory.cluster(inner).catch(() => undefined);
        if (cluster !== undefined) return cluster;
        await clock.sleep(retryAfter, inner);
      }
    });
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
