import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look } from '../../engine/wait.ts';
import { minutes } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { hasService } from '../conditions.ts';
import { longestWait } from './kube-watch.ts';
import { perRequest, type RequestBudget, requestBudget } from './request-budget.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { step, type StepScope } from '../step.ts';

/**
 * Version 1 of the service has no such stage for a worker, which goes from the write straight
 * to the reboot (assisted-service, stages of a worker before version 2).
 */
const hasWorkerStage = condition<Config>(
  'the service speaks version 2',
  ({ service }) => service.api === 'v2',
);

/** Kind of a cluster that is installed already and gets further hosts. */
const dayTwo = 'AddHostsCluster';

/** Waits until the control plane can take the worker in: a worker that starts too early is lost. */
export const waitForControlPlane = step({
  id: 'control-plane/wait-for-masters',
  title: 'Wait until two masters are done',
  stage: 'Waiting for control plane',
  uses: ['inventory', 'clock'],
  when: all(hasService, hasWorkerStage),
  limit: longestWait + minutes(30),
  waitsFor: 'two masters in stage Done, at most 24 hours; not at all for a cluster that exists',
  run: async (scope) => {
    const watch = watching(scope, requestBudget());
    await scope.until('two masters are done', watch, { every: perRequest, within: longestWait });
  },
});

type WaitScope = StepScope<'inventory' | 'clock'>;

/** What is remembered between looks. */
interface Known {
  /** Read until it succeeds, then never again. */
  isDayTwo?: boolean;
  /** A cluster that has no arbiter gets none: the request is saved from then on. */
  hasArbiters?: boolean;
  status: string;
}

function watching(scope: WaitScope, budget: RequestBudget): () => Promise<Look<true>> {
  const { signal } = scope;
  const known: Known = { status: 'the inventory service has not been asked yet' };
  const beat = heartbeatOf(scope);
  // A status that changes is reported to the service, which is a request as well.
  let told: string | undefined;
  return async () => {
    if (budget.mayAsk()) {
      try {
        if (await isReady(scope, budget, known)) return { done: true };
      } catch (error) {
        signal.throwIfAborted();
        const { code } = asAgentError(error);
        known.status = `the inventory service does not tell (${code})`;
      }
    }
    if (known.status !== told) budget.spend();
    told = known.status;
    if (beat(known.status)) budget.spend();
    return { status: known.status };
  };
}

async function isReady(scope: WaitScope, budget: RequestBudget, known: Known): Promise<boolean> {
  const { inventory, signal } = scope;
  if (known.isDayTwo === undefined) {
    budget.spend();
    known.isDayTwo = (await inventory.cluster(signal)).kind === dayTwo;
  }
  if (known.isDayTwo) return true;
  budget.spend();
  const masters = await inventory.hosts('master', signal);
  const look = lookAtControlPlane([...masters, ...(await arbiters(scope, budget, known))]);
  known.status = look.status;
  return look.isReady;
}

/** Arbiters that cannot be listed hold nobody back; they are asked for again. */
async function arbiters(
  { inventory, signal }: WaitScope,
  budget: RequestBudget,
  known: Known,
): Promise<readonly InventoryHost[]> {
  if (known.hasArbiters === false) return [];
  budget.spend();
  try {
    const found = await inventory.hosts('arbiter', signal);
    known.hasArbiters = found.length > 0;
    return found;
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

/** A worker may start when so many control-plane hosts are done (assisted-installer, same rule). */
const enough = 2;

/** What a look at the control plane showed. */
interface ControlPlaneLook {
  readonly isReady: boolean;
  /** What is missing, for people: `1 of 2 masters are done: m2 is Joined`. */
  readonly status: string;
}

/**
 * Decides whether a worker may go on. Arbiters count as masters: of two masters and an arbiter the
 * bootstrap host is one, and it cannot be done before the others.
 */
export function lookAtControlPlane(hosts: readonly InventoryHost[]): ControlPlaneLook {
  const done = hosts.filter(({ stage }) => stage === 'Done').length;
  const others = hosts
    .filter(({ stage }) => stage !== 'Done')
    .map(({ name, id, stage, status }) => `${name === '' ? id : name} is ${stage ?? status}`)
    .sort();
  const missing = others.length === 0 ? 'no other master is known' : others.join(', ');
  return {
    isReady: done >= enough,
    status: `${done} of ${enough} masters are done: ${missing}`,
  };
}
