import { asAgentError, noteFailed } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import type { Controller } from '../../kube/manager.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { LogsState } from '../../ports/inventory.ts';
import { controllerLogArchive } from '../../steps/logs/collectors.ts';
import { isEnded, isRejection } from './end.ts';
import { gatherCluster, neededGathering } from './must-gather.ts';
import { runningPod } from './run-pod.ts';
import type { InstallationScope, StepScope } from './scope.ts';
import type { InstallationStores } from './stores.ts';

const uploadEvery = minutes(5);

/**
 * Uploads the log of the controller every five minutes, so that the service has it in any case.
 * Nothing may replace the final logs of an ended installation.
 */
export function logController(
  scope: InstallationScope,
  { service }: InstallationStores,
): Controller {
  const { clock } = scope;
  let dueAt = clock.elapsed() + uploadEvery;
  return {
    id: 'controller/upload-logs-regularly',
    title: 'Upload the controller log every five minutes',
    idle: 'the installation has ended',
    reads: [service],
    about: () => 'log of the controller',
    keys: () => ['log'],
    watch: () => undefined,
    reconcile: async (_, signal) => {
      if (isEnded(service.view())) return {};
      if (clock.elapsed() >= dueAt) {
        dueAt = clock.elapsed() + uploadEvery;
        await uploadLog(scope, signal);
      }
      return { status: 'the installation continues', after: dueAt - clock.elapsed() };
    },
  };
}

/**
 * The pause after a failed gathering. Gathering pulls an image and runs on every node, so each
 * later pause is twice as long.
 */
const gatherPause = { first: seconds(30), longest: minutes(10) } as const;

/** How long the controller tries to upload its logs before it ends without. */
const longestUpload = minutes(70);

/**
 * Uploads the logs at the end of the installation, after a failure with those of the whole cluster.
 * The log states (requested, completed) show the service whether to wait for them.
 */
export async function uploadFinalLogs(scope: StepScope): Promise<void> {
  const { clock, signal, until } = scope;
  await reportState(scope, 'requested');
  const gathering = await neededGathering(scope);
  if (gathering !== undefined) await noteResolvers(scope);
  let notBefore = 0;
  let pause: number = gatherPause.first;
  let status = '';
  const upload = async (): Promise<void> => {
    await uploadLog(scope, signal);
    if (gathering === undefined) return;
    try {
      await gatherCluster(scope, gathering, await runningPod(scope, signal));
    } catch (error) {
      notBefore = clock.elapsed() + pause;
      pause = Math.min(gatherPause.longest, pause * 2);
      throw error;
    }
  };
  const poll = async (): Promise<PollResult<true>> => {
    if (clock.elapsed() < notBefore) return { status };
    try {
      await upload();
      return { done: true };
    } catch (error) {
      noteFailed(scope, 'could not upload the logs of the installation', error);
      // The rejection ended the installation; another 70 minutes change nothing.
      if (isRejection(asAgentError(error))) return { done: true };
      status = `the last attempt failed (${asAgentError(error).code})`;
      return { status };
    }
  };
  try {
    const limits = { every: seconds(30), within: longestUpload };
    await until('the inventory service has the logs', poll, limits);
  } catch (error) {
    signal.throwIfAborted();
    if (asAgentError(error).code !== 'wait.timed-out') throw error;
  }
  await reportState(scope, 'completed');
}

async function uploadLog(scope: InstallationScope, signal: AbortSignal): Promise<void> {
  const pod = await runningPod(scope, signal).catch(() => undefined);
  signal.throwIfAborted();
  const log = { pod, file: scope.config.logFile };
  const archive = await controllerLogArchive({ ...scope, signal }, log);
  await scope.inventory.uploadControllerLogs(archive, signal);
}

async function reportState(scope: StepScope, state: LogsState): Promise<void> {
  try {
    await scope.inventory.clusterLogsState(state, scope.signal);
  } catch (error) {
    noteFailed(scope, `could not say that the logs are ${state}`, error);
  }
}

/** Resolver files of the controller's pod and its node. */
const resolvers = ['/etc/resolv.conf', '/tmp/var-run-resolv.conf', '/tmp/host-resolv.conf'];

/** Logs these files, for a cluster that failed. */
async function noteResolvers(scope: StepScope): Promise<void> {
  for (const path of resolvers) {
    try {
      const text = await scope.host.readText(path, scope.signal);
      scope.note('info', `${path}: ${text?.trim() ?? 'not there'}`);
    } catch (error) {
      noteFailed(scope, `could not read ${path}`, error);
    }
  }
}
