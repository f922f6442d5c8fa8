import { type InstallConfig, invokerOf, invokerRef } from '../../cluster/install-config.ts';
import { nodes } from '../../cluster/kinds.ts';
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
import { asAgentError, engineFailure } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { InventoryCluster } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import type { Tasks } from './tasks.ts';

type UntaintScope = StepScope<'kube' | 'inventory' | 'clock'>;

/** What could not be done is tried again after this time. */
const againAfter: Millis = seconds(5);

/** How long the service may take; the install-config tells enough without it. */
const serviceLimit: Millis = seconds(30);

/** Takes the taint of the cloud off nodes that are not Ready, where nobody else will. */
export interface Untaint {
  /** Begins what these nodes need, beside the wait. */
  readonly look: (seen: readonly KubeObject[]) => void;
}

/** Makes the untaint of one wait. What fails is told in a note, and tried again. */
export function untaintOf(
  scope: UntaintScope,
  tasks: Tasks,
  installConfig: InstallConfig,
): Untaint {
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
      scope.note('warn', `${what}: not yet`, { code, reason: message });
    }
  };
  const decide = (signal: AbortSignal): Promise<void> =>
    trying('find out whether the taint of the cloud is removed', signal, async () => {
      isWanted = await decideUntaint(scope, installConfig, signal);
    });
  const untaint = (node: KubeObject, signal: AbortSignal): Promise<void> => {
    const { name } = node.metadata;
    return trying(`remove the taint of the cloud from ${name}`, signal, async () => {
      const patch = untaintPatch(node);
      if (patch === undefined) return;
      await scope.kube.patch({ kind: nodes, name }, patch, signal);
      scope.note('info', `the taint of the cloud is removed from ${name}`);
    });
  };
  return {
    look: (seen) => {
      const tainted = seen.filter((node) => !readinessOf(node).isReady && hasCloudTaint(node));
      if (tainted.length === 0 || isWanted === false) return;
      if (isWanted === undefined) tasks.run('decide on the taint', againAfter, decide);
      else
        for (const node of tainted) {
          const { name, resourceVersion = '' } = node.metadata;
          tasks.run(`untaint ${name} ${resourceVersion}`, againAfter, (signal) =>
            untaint(node, signal),
          );
        }
    },
  };
}

/** Asks only for what the decision depends on. */
async function decideUntaint(
  scope: UntaintScope,
  installConfig: InstallConfig,
  signal: AbortSignal,
): Promise<boolean> {
  const cluster = await clusterOf(scope, signal);
  const platform = cluster?.platformType ?? installConfig.platform ?? '';
  if (!mayNeedUntaint(platform)) return false;
  const invoker = invokerOf(await scope.kube.get(invokerRef, signal));
  const hasCredentials =
    needsCredentials({ platform, invoker }) &&
    (cluster === undefined ? clusterHasCredentials(installConfig) : serviceHasCredentials(cluster));
  const version = scope.config.cluster.openshiftVersion;
  return removesCloudTaint({ platform, invoker, version, hasCredentials });
}

/** What the service knows of the cluster; undefined when it does not tell in a short time. */
async function clusterOf(
  { inventory, clock, config }: UntaintScope,
  signal: AbortSignal,
): Promise<InventoryCluster | undefined> {
  if (config.service.url === '') return undefined;
  const late = (): Error => engineFailure('step.timed-out', 'the service does not tell in time');
  try {
    return await limited(clock, { limit: serviceLimit, signal, late }, (inner) =>
      inventory.cluster(inner),
    );
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
