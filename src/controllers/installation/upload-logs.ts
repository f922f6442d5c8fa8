import { asAgentError, noteFailed } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { minutes, seconds, unlimited } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { LogsState } from '../../ports/inventory.ts';
import { collect, collectorsOf, controllerLogArchive } from '../../steps/logs/collectors.ts';
import { gatherCluster, type Gathering, neededGathering } from './must-gather.ts';
import { NewCluster } from './new-cluster.ts';
import { runningPod } from './run-pod.ts';
import { isEnded, isRejection } from './wait-for-end.ts';
import { controllerStep, type ControllerScope, followedInstallation } from './step.ts';

const uploadEvery = minutes(5);

/** There is no service to send logs to once the cluster of an agent-based installer runs. */
const withoutService = ({ cluster }: { readonly cluster: NewCluster }): string | undefined =>
  cluster.isAgentBased ? 'an agent-based installation has no service to send logs to' : undefined;

/**
 * Uploads the log of the controller every five minutes, so that the service has it whatever
 * happens.
 */
export const uploadLogsRegularly = controllerStep({
  id: 'controller/upload-logs-regularly',
  title: 'Upload the controller log every five minutes',
  uses: ['kube', 'inventory', 'host', 'clock'],
  needs: { cluster: NewCluster },
  skipIf: withoutService,
  limit: unlimited,
  run: async (scope) => {
    const { clock, inventory } = scope;
    const service = followedInstallation(inventory);
    let last = clock.elapsed();
    const poll = async (): Promise<PollResult<true>> => {
      if (isEnded(service.view())) return { done: true };
      if (clock.elapsed() - last >= uploadEvery) {
        last = clock.elapsed();
        await uploadLog(scope).catch((error: unknown) => {
          noteFailed(scope, 'could not upload the controller log', error);
        });
      }
      return { status: 'the installation continues' };
    };
    const limits = { watch: service.watch, every: uploadEvery, within: unlimited };
    await scope.until('the installation is over', poll, limits);
  },
});

/**
 * The pause after a gathering that failed; it pulls an image and runs on every node, so each later
 * one is twice as long.
 */
const gatherPause = { first: seconds(30), longest: minutes(10) } as const;

/** How long the controller tries to leave its logs at the service before it ends without. */
const longestUpload = minutes(70);

/**
 * Uploads the logs when the installation has ended: those of the whole cluster too where it failed.
 * The service decides by its states (requested, completed) whether it waits for them.
 */
export const uploadFinalLogs = controllerStep({
  id: 'controller/upload-final-logs',
  title: 'Upload the logs of the installation',
  uses: ['kube', 'adminKube', 'inventory', 'host', 'clock'],
  needs: { cluster: NewCluster },
  skipIf: withoutService,
  // The states beside it take two minutes each at most, and whoever cleans up one more.
  limit: longestUpload + minutes(45),
  run: async (scope) => {
    await announce(scope, 'requested');
    const gathering = await neededGathering(scope);
    if (gathering !== undefined) await noteResolvers(scope);
    let [after, pause, status] = [0, gatherPause.first, ''];
    const gather = async (needed: Gathering): Promise<void> => {
      try {
        await gatherCluster(scope, { ...needed, pod: await runningPod(scope) });
      } catch (error) {
        after = scope.clock.elapsed() + pause;
        pause = Math.min(gatherPause.longest, pause * 2);
        throw error;
      }
    };
    const poll = async (): Promise<PollResult<true>> => {
      if (scope.clock.elapsed() < after) return { status };
      try {
        await uploadLog(scope);
        if (gathering !== undefined) await gather(gathering);
        return { done: true };
      } catch (error) {
        noteFailed(scope, 'could not upload the logs of the installation', error);
        // That is how the installation ended; another 70 minutes change nothing.
        if (isRejection(asAgentError(error))) return { done: true };
        status = `the last attempt failed (${asAgentError(error).code})`;
        return { status };
      }
    };
    try {
      const limits = { every: seconds(30), within: longestUpload };
      await scope.until('the inventory service has the logs', poll, limits);
    } catch (error) {
      scope.signal.throwIfAborted();
      if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
    }
    await announce(scope, 'completed');
  },
});

type LogScope = ControllerScope<'kube' | 'inventory' | 'host' | 'clock'>;

async function uploadLog(scope: LogScope): Promise<void> {
  const { inventory, config, signal } = scope;
  const pod = await runningPod(scope).catch(() => undefined);
  signal.throwIfAborted();
  const log = { pod, file: config.logFile };
  await inventory.uploadControllerLogs(await controllerLogArchive(scope, log), signal);
}

async function announce(scope: ControllerScope<'inventory'>, state: LogsState): Promise<void> {
  try {
    await scope.inventory.clusterLogsState(state, scope.signal);
  } catch (error) {
    noteFailed(scope, `could not say that the logs are ${state}`, error);
  }
}

/**
 * Notes how the pod and its node find names, for whoever reads the log of a cluster that failed.
 */
async function noteResolvers(scope: ControllerScope<'host' | 'clock'>): Promise<void> {
  for (const row of collectorsOf('cluster')) {
    const found = await collect(row, scope, (text) => text);
    scope.signal.throwIfAborted();
    if ('text' in found) scope.note('info', `${row.name}: ${found.text.trim()}`);
    else if (found.isAbsent) scope.note('info', `${row.name}: not there`);
    else scope.note('warn', `could not read ${row.name}`, { reason: found.missing });
  }
}
