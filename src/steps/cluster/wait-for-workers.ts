import { agentBased, defaultInvoker, invokerOf, invokerRef } from '../../cluster/install-config.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Stage } from '../../model/stage.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { hasService } from '../conditions.ts';
import { perRequest, requestBudget } from './request-budget.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { step, type StepScope } from '../step.ts';
import { longestWait } from './kube-watch.ts';

/** How long the cluster is asked who started it; without an answer, it was not the agent-based one. */
const invokerLimit: Millis = minutes(5);

/**
 * Waits until every worker has left its host, where the agent-based installer runs the inventory
 * service on this one: it goes away with the reboot, and the workers need it until theirs.
 */
export const waitForWorkers = step({
  id: 'cluster/wait-for-workers',
  title: 'Wait until the workers no longer need this host',
  uses: ['kube', 'inventory', 'clock'],
  when: hasService,
  limit: longestWait + minutes(30),
  waitsFor: 'workers that have left their hosts; only with the agent-based installer',
  run: async (scope) => {
    if ((await invokerOfCluster(scope)) !== agentBased) return;
    await scope.until('every worker has left its host', watching(scope), {
      every: perRequest,
      within: longestWait,
    });
  },
});

type WorkerWaitScope = StepScope<'kube' | 'inventory' | 'clock'>;

async function invokerOfCluster({ kube, until, note }: WorkerWaitScope): Promise<string> {
  const look = async (signal: AbortSignal): Promise<Look<string>> => {
    try {
      return { done: invokerOf(await kube.get(invokerRef, signal)) };
    } catch (error) {
      signal.throwIfAborted();
      return { status: `the cluster does not tell who started it (${asAgentError(error).code})` };
    }
  };
  try {
    const limits = { every: seconds(5), within: invokerLimit };
    return await until('the cluster tells who started it', look, limits);
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
    note('warn', 'the cluster does not tell who started it; workers are not waited for', {
      reason: error.message,
    });
    return defaultInvoker;
  }
}

function watching(scope: WorkerWaitScope): (signal: AbortSignal) => Promise<Look<true>> {
  const budget = requestBudget();
  const beat = heartbeatOf(scope);
  let status = 'the inventory service has not been asked yet';
  return async (signal) => {
    if (budget.mayAsk()) {
      budget.spend();
      try {
        const look = lookAtWorkers(await scope.inventory.hosts('worker', signal));
        if (look.isDone) return { done: true };
        status = look.status;
      } catch (error) {
        signal.throwIfAborted();
        status = `the inventory service does not tell (${asAgentError(error).code})`;
      }
    }
    beat(status);
    return { status };
  };
}

/** Stages of a worker that its agent has left behind: nothing of the host needs the service now. */
const left: ReadonlySet<string> = new Set<Stage>([
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
]);

/** Statuses and a stage of hosts on which nothing is under way any more. */
const ended: ReadonlySet<string> = new Set([
  'error',
  'cancelled',
  'disabled',
  'installed',
  'added-to-existing-cluster',
]);

/** What a look at the workers showed. */
interface WorkerLook {
  readonly isDone: boolean;
  /** For people: `1 of 2 workers left their host; w2 is Installing`. */
  readonly status: string;
}

/**
 * Decides whether every worker is past the need of the service, which goes away with this host when
 * the agent-based installer put it here. One that still writes is not, nor one without a stage; one
 * that was given up is, since nothing more comes from it.
 */
export function lookAtWorkers(workers: readonly InventoryHost[]): WorkerLook {
  const waiting = workers.filter(
    ({ stage = '', status }) => !left.has(stage) && stage !== 'Failed' && !ended.has(status),
  );
  const others = waiting
    .map(({ name, id, stage, status }) => `${name === '' ? id : name} is ${stage ?? status}`)
    .sort();
  return {
    isDone: waiting.length === 0,
    status: [
      `${workers.length - waiting.length} of ${workers.length} workers left their host`,
      ...others,
    ].join('; '),
  };
}
