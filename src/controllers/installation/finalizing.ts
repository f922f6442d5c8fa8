import { operatorReport, type OperatorSnapshot } from '../../cluster/operators.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Watch } from '../../engine/wait.ts';
import { type Millis, seconds, unlimited } from '../../model/duration.ts';
import {
  type FinalizingStage,
  finalizingStages,
  type InstallingCluster,
  type MonitoredOperator,
  type OperatorReport,
} from '../../ports/inventory.ts';
import { type Action, type Decision, reconcile } from '../../steps/reconcile.ts';
import { isEnded } from './wait-for-end.ts';
import { type ControllerScope, followedInstallation } from './step.ts';

/** How often the service is asked again where nothing changes. */
const askEvery: Millis = seconds(30);

/** The end of an installation, as the service and we go through it. */
export interface Finalizing {
  /** Notifies after each answer of the service. */
  readonly watch: Watch;
  /** How long the service has been at a stage that an earlier run of the controller began. */
  readonly spentIn: (stage: FinalizingStage) => Millis;
  /** The service takes nothing more of this installation. */
  readonly isEnded: () => boolean;
  /** The service has given up a stage of OLM, or the installation has ended. */
  readonly isOver: (stage: FinalizingStage) => boolean;
  /** An earlier run of the controller has left a stage behind. */
  readonly isPast: (stage: FinalizingStage) => boolean;
  /**
   * Reports a stage until the service has it. False where there is nothing to do in it: an earlier run has left it
   * behind, or the installation has ended.
   */
  readonly enter: (stage: FinalizingStage) => Promise<boolean>;
  /** Sends something until the service has taken it, or the installation has ended. */
  readonly deliver: (what: string, send: () => Promise<void>) => Promise<void>;
}

/**
 * Waits until the service finalizes the cluster, and continues at the stage that the service knows: nothing is kept here.
 * Of an installation that has ended, each stage is over.
 */
export async function beginFinalizing(
  scope: ControllerScope<'inventory' | 'clock'>,
): Promise<Finalizing> {
  const { inventory, clock, until, signal, note } = scope;
  const { view, watch } = followedInstallation(inventory);
  const limits = { watch, every: askEvery, within: unlimited };
  const hasEnded = (): boolean => isEnded(view());

  const first = await until(
    'the service finalizes the cluster',
    () => {
      const { cluster } = view();
      if (cluster?.status !== 'finalizing' && !hasEnded()) {
        return Promise.resolve({ status: `the cluster is ${cluster?.status ?? 'not known yet'}` });
      }
      return Promise.resolve({ done: stageIndex(cluster?.finalizing?.stage) });
    },
    limits,
  );
  const deliver = (what: string, send: () => Promise<void>): Promise<void> => {
    let [after, refusal] = [0, ''];
    return until(
      `the service has ${what}`,
      async () => {
        if (hasEnded()) return { done: undefined };
        if (clock.elapsed() < after) return { status: refusal };
        try {
          await send();
          return { done: undefined };
        } catch (error) {
          signal.throwIfAborted();
          const { code, message } = asAgentError(error);
          const status = `the service does not take it (${code})`;
          if (status !== refusal) note('warn', `${what}: trying again`, { code, reason: message });
          // It refuses what comes after the end, and we may not know of the end yet.
          if (status !== refusal) inventory.refresh();
          [after, refusal] = [clock.elapsed() + askEvery, status];
          return { status };
        }
      },
      limits,
    );
  };
  return {
    watch,
    spentIn: (stage) => spentIn(view().cluster, stage, clock.now()),
    isEnded: hasEnded,
    isOver: (stage) => {
      const { finalizing } = view().cluster ?? {};
      return hasEnded() || (finalizing?.stage === stage && finalizing.isTimedOut);
    },
    isPast: (stage) => stageIndex(stage) < first,
    enter: async (stage) => {
      if (hasEnded() || stageIndex(stage) < first) return false;
      if (stageIndex(stage) > first) {
        await deliver(`the stage ${stage}`, () => inventory.reportFinalizing(stage, signal));
      }
      return !hasEnded();
    },
    deliver,
  };
}

const spentIn = (
  { finalizing }: Partial<InstallingCluster> = {},
  stage: FinalizingStage,
  now: number,
): Millis => (finalizing?.stage === stage ? Math.max(0, now - (finalizing.startedAt ?? now)) : 0);

const stageIndex = (stage: string | undefined): number =>
  finalizingStages.findIndex((one) => one === stage);

/** An operator as the cluster shows it. */
export interface SeenOperator {
  readonly name: string;
  /** Undefined while there is nothing to see of it. */
  readonly seen: OperatorSnapshot | undefined;
  /** Why there is nothing to see of it. */
  readonly reason: string;
}

/** Operators that the service is to have as available. */
export interface OperatorWait {
  readonly sentence: string;
  readonly watch: Watch;
  readonly operators: () => readonly SeenOperator[];
  /** The wait ends although operators are missing. */
  readonly isStopped: () => boolean;
}

/** What is remembered of an operator between two polls. */
interface OperatorTimes {
  /** It is failed since then. */
  readonly failedSince?: number;
  readonly reportedAt?: number;
}

interface Observed {
  readonly isStopped: boolean;
  /** Undefined until the service has listed them. */
  readonly known: ReadonlyMap<string, MonitoredOperator> | undefined;
  readonly operators: readonly SeenOperator[];
  readonly times: ReadonlyMap<string, OperatorTimes>;
  readonly now: Millis;
}

interface OperatorAction extends Action {
  /** Without it the service is asked for its operators. */
  readonly report?: OperatorReport;
}

/**
 * Reports operators to the service until it has each of them as available. It is asked for what it has once, and again
 * after a report that failed: nobody else reports them.
 * @returns the names of those that are not available
 */
export async function reportOperators(
  scope: ControllerScope<'inventory' | 'clock'>,
  { sentence, watch, operators, isStopped }: OperatorWait,
): Promise<readonly string[]> {
  const { inventory, clock } = scope;
  let known: ReadonlyMap<string, MonitoredOperator> | undefined;
  const times = new Map<string, OperatorTimes>();
  const observe = (): Observed => {
    const now = clock.elapsed();
    for (const { name, seen } of operators()) {
      const { failedSince = now, ...rest } = times.get(name) ?? {};
      times.set(name, { ...rest, ...(seen?.status === 'failed' ? { failedSince } : {}) });
    }
    return { isStopped: isStopped(), known, operators: operators(), times, now };
  };
  await reconcile<Observed, OperatorAction>(scope, sentence, {
    watch,
    observe,
    decide: decideReports,
    apply: async ({ report }, signal) => {
      if (report === undefined) {
        const listed = await inventory.operators(signal);
        known = new Map(listed.map((one) => [one.name, one]));
        return;
      }
      const { name } = report;
      try {
        await inventory.reportOperator(report, signal);
      } catch (error) {
        known = undefined;
        throw error;
      }
      times.set(name, { ...times.get(name), reportedAt: clock.elapsed() });
      const before = known?.get(name);
      if (known !== undefined && before !== undefined) {
        known = new Map(known).set(name, { ...before, ...report });
      }
    },
  });
  const last = observe();
  return last.operators.filter((one) => !isAvailable(last.known, one)).map(({ name }) => name);
}

/** One that the service does not wait for is available when the cluster says so. */
const isAvailable = (
  known: ReadonlyMap<string, MonitoredOperator> | undefined,
  { name, seen }: SeenOperator,
): boolean => known !== undefined && (known.get(name) ?? seen)?.status === 'available';

/** Which operators are to be reported now, and which are missing. */
export function decideReports(observed: Observed): Decision<OperatorAction> {
  const { isStopped, known, operators, times, now } = observed;
  if (isStopped) return { actions: [], missing: undefined };
  if (known === undefined) {
    const missing = 'the service has not listed its operators yet';
    return { actions: [{ key: 'list of the operators at the service' }], missing };
  }
  const pending = operators.filter((one) => !isAvailable(known, one));
  const actions = pending.flatMap(({ name, seen }): readonly OperatorAction[] => {
    const entry = known.get(name);
    if (entry === undefined || seen === undefined) return [];
    const { failedSince = now, reportedAt = -Infinity } = times.get(name) ?? {};
    const progress = {
      known: entry,
      seen,
      failedFor: now - failedSince,
      sinceReport: now - reportedAt,
    };
    const report = operatorReport(progress);
    return report === undefined ? [] : [{ key: `report of operator ${name}`, report }];
  });
  const missing = pending
    .map(({ name, seen, reason }) => statusText(name, seen, reason))
    .join('; ');
  return { actions, missing: pending.length === 0 ? undefined : missing };
}

function statusText(name: string, seen: OperatorSnapshot | undefined, reason: string): string {
  if (seen === undefined) return `${name}: ${reason}`;
  return seen.text === '' ? `${name} is ${seen.status}` : `${name} is ${seen.status}: ${seen.text}`;
}
