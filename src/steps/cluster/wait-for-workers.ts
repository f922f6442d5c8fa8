import { agentBased, defaultInvoker } from '../../cluster/invoker.ts';
import { lookAtWorkers } from '../../cluster/worker-look.ts';
import { AgentError } from '../../model/failure.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { hasService } from '../conditions.ts';
import { perRequest, requestBudget } from '../control-plane/request-budget.ts';
import { step, type StepScope } from '../step.ts';
import { longestWait } from './cluster-wait.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { readInvoker } from './known-invoker.ts';

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
      return { done: await readInvoker(kube, signal) };
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
