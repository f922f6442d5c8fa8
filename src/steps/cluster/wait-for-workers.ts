import { agentBased, defaultInvoker, invokerOf, invokerRef } from '../../cluster/install-config.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Stage } from '../../model/stage.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { hasService } from '../conditions.ts';
import {
  hostNames,
  hostStates,
  perRequest,
  furtherRequests,
  servicePoll,
} from './request-budget.ts';
import { step, type StepScope } from '../step.ts';
import { longestWait } from './kube-watch.ts';

/** Time limit for reading the invoker; without it, the cluster counts as not agent-based. */
const invokerLimit: Millis = minutes(5);

/**
 * Waits until every worker has rebooted or failed, if the agent-based installer runs the inventory
 * service on this host. The service ends with the reboot of this host, and the workers need it
 * until they reboot.
 */
export const waitForWorkers = step({
  id: 'cluster/wait-for-workers',
  title: 'Wait for the workers to reboot',
  uses: ['kube', 'inventory', 'clock'],
  when: hasService,
  limit: longestWait + minutes(30),
  explain: () => 'waits for every worker to reboot or fail; only with the agent-based installer',
  run: async (scope) => {
    if ((await invokerOfCluster(scope)) !== agentBased) return;
    const { inventory } = scope;
    const named = hostNames(inventory, furtherRequests(scope.clock));
    const poll = servicePoll(scope, async (signal) => {
      const workers = await inventory.hosts('worker', signal);
      if (workerProgress(workers).isDone) return { done: true };
      return { status: workerProgress(await named('worker', workers, signal)).status };
    });
    await scope.until('every worker has rebooted or failed', poll, {
      every: perRequest,
      within: longestWait,
    });
  },
});

async function invokerOfCluster({
  kube,
  until,
  note,
}: StepScope<'kube' | 'inventory' | 'clock'>): Promise<string> {
  const poll = async (signal: AbortSignal): Promise<PollResult<string>> => {
    try {
      return { done: invokerOf(await kube.get(invokerRef, signal)) };
    } catch (error) {
      signal.throwIfAborted();
      return { status: `cannot read the invoker of the cluster (${asAgentError(error).code})` };
    }
  };
  try {
    const limits = { every: seconds(5), within: invokerLimit };
    return await until('the invoker of the cluster is known', poll, limits);
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
    note('warn', 'cannot read the invoker of the cluster; not waiting for workers', {
      reason: error.message,
    });
    return defaultInvoker;
  }
}

/** Stages of a worker that no longer needs the service. */
const rebooted: ReadonlySet<string> = new Set<Stage>([
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
]);

/** Statuses of hosts without a running installation. */
const ended: ReadonlySet<string> = new Set([
  'error',
  'cancelled',
  'disabled',
  'installed',
  'added-to-existing-cluster',
]);

/**
 * Decides whether the wait ends: no worker needs the service any more. A worker that is still
 * writing its disk needs it, and so does a worker without a stage; a failed worker does not. The
 * status is for people: `1 of 2 workers rebooted or failed; w2 is Installing`.
 */
export function workerProgress(workers: readonly InventoryHost[]) {
  const waiting = workers.filter(
    ({ stage = '', status }) => !rebooted.has(stage) && stage !== 'Failed' && !ended.has(status),
  );
  const done = workers.length - waiting.length;
  const counts = `${done} of ${workers.length} workers rebooted or failed`;
  return {
    isDone: waiting.length === 0,
    status: [counts, ...hostStates(waiting)].join('; '),
  };
}
