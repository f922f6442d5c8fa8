import {
  type InstallConfig,
  installerVersion,
  invokerOf,
  invokerRef,
} from '../../cluster/install-config.ts';
import { nodes } from '../../kube/kinds.ts';
import { readinessOf } from '../../cluster/node.ts';
import {
  clusterHasCredentials,
  hasCloudTaint,
  mayNeedUntaint,
  needsCredentials,
  removesCloudTaint,
  serviceHasCredentials,
  untaintPatch,
} from '../../cluster/taint.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { InventoryCluster } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { givenVersion } from '../conditions.ts';
import type { StepScope } from '../step.ts';
import { askBriefly } from './inventory-hosts.ts';
import type { Tasks } from './tasks.ts';

type UntaintScope = StepScope<'kube' | 'inventory' | 'clock'>;
type DecisionScope = Pick<UntaintScope, 'kube' | 'inventory' | 'clock' | 'config'>;

const retryAfter: Millis = seconds(5);

/**
 * Removes the cloud provider taint from nodes that are not Ready, where nobody else does: starts in
 * the background of one wait what the given nodes need. What fails is noted, and tried again.
 */
export function untaintOf(
  scope: UntaintScope,
  tasks: Tasks,
  installConfig: InstallConfig,
): (seen: readonly KubeObject[]) => void {
  let isWanted: boolean | undefined;
  const noted = new Set<string>();
  const trying = async (
    what: string,
    signal: AbortSignal,
    work: () => Promise<void>,
  ): Promise<void> => {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      if (noted.has(`${what} ${code}`)) return;
      noted.add(`${what} ${code}`);
      scope.note('warn', `could not ${what}; trying again`, { code, reason: message });
    }
  };
  const decide = (signal: AbortSignal): Promise<void> =>
    trying('decide whether to remove the cloud provider taint', signal, async () => {
      isWanted = await decideUntaint(scope, installConfig, signal);
    });
  const untaint = (node: KubeObject, signal: AbortSignal): Promise<void> => {
    const { name } = node.metadata;
    return trying(`remove the cloud provider taint from ${name}`, signal, async () => {
      const patch = untaintPatch(node);
      if (patch === undefined) return;
      await scope.kube.patch({ kind: nodes, name }, patch, signal);
      scope.note('info', `removed the cloud provider taint from ${name}`);
    });
  };
  return (seen) => {
    const tainted = seen.filter((node) => !readinessOf(node).isReady && hasCloudTaint(node));
    if (tainted.length === 0 || isWanted === false) return;
    if (isWanted === undefined) tasks.run('decide on the taint', retryAfter, decide);
    else
      for (const node of tainted) {
        const { name, resourceVersion = '' } = node.metadata;
        tasks.run(`untaint ${name} ${resourceVersion}`, retryAfter, (signal) =>
          untaint(node, signal),
        );
      }
  };
}

/** Whether the cloud provider taint is to be removed. Requests only what that depends on. */
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
  const hasCredentials =
    needsCredentials({ platform, invoker }) &&
    (cluster === undefined ? clusterHasCredentials(installConfig) : serviceHasCredentials(cluster));
  const version = givenVersion(scope.config) ?? installerVersion(installer) ?? '';
  return removesCloudTaint({ platform, invoker, version, hasCredentials });
}

/** The cluster as the service has it; undefined when it does not answer in a short time. */
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
