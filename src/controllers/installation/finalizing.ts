import { operatorReport, type OperatorSnapshot } from '../../cluster/operators.ts';
import type { Watch } from '../../engine/wait.ts';
import { type Millis, seconds, unlimited } from '../../model/duration.ts';
import {
  type FinalizingStage,
  finalizingStages,
  type InstallingCluster,
  type MonitoredOperator,
  type OperatorReport,
} from '../../ports/inventory.ts';
import { performActions } from '../../kube/actions.ts';
import { isEnded } from './wait-for-end.ts';
import { type ControllerScope, followedInstallation, untilDone } from './step.ts';

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
   * Reports a stage until the service has it. False where there is nothing to do in it: an earlier
   * run has left it behind, or the installation has ended.
   */
  readonly enter: (stage: FinalizingStage) => Promise<boolean>;
  /** Sends something until the service has taken it, or the installation has ended. */
  readonly deliver: (what: string, send: () => Promise<void>) => Promise<void>;
}

/**
 * Waits until the service finalizes the cluster, and continues at the stage that the service knows:
 * nothing is kept here. Of an installation that has ended, each stage is over.
 */
export async function beginFinalizing(
  scope: ControllerScope<'inventory' | 'clock'>,
): Promise<Finalizing> {
  const { inventory, clock, until, signal } = scope;
  const { view, watch } = followedInstallation(inventory);
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
    { watch, every: seconds(30), within: unlimited },
  );
  const deliver = (what: string, send: () => Promise<void>): Promise<undefined> =>
    untilDone(scope, {
      sentence: `the service has ${what}`,
      watch,
      isOver: hasEnded,
      work: async () => {
        await send();
        return { done: undefined };
      },
      // It refuses what comes after the end, and we may not know of the end yet.
      failed: inventory.refresh,
    });
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
  /** As the service has them; undefined where that is not known. */
  readonly known: ReadonlyMap<string, MonitoredOperator> | undefined;
  readonly operators: readonly SeenOperator[];
  readonly times: ReadonlyMap<string, OperatorTimes>;
  readonly now: Millis;
}

interface ReportAction {
  readonly type: 'report';
  /** Name of the operator. */
  readonly target: string;
  readonly report: OperatorReport;
}

/**
 * Reports operators to the service until it has each of them as available. It is asked for what it
 * has once, and again after a report that failed: nobody else reports them.
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
  const report = async ({ target, report: sent }: ReportAction, signal: AbortSignal) => {
    try {
      await inventory.reportOperator(sent, signal);
    } catch (error) {
      known = undefined;
      throw error;
    }
    times.set(target, { ...times.get(target), reportedAt: clock.elapsed() });
    const before = known?.get(target);
    if (known !== undefined && before !== undefined)
      known = new Map(known).set(target, { ...before, ...sent });
  };
  await untilDone(scope, {
    sentence,
    watch,
    isOver: isStopped,
    work: async (signal) => {
      known ??= new Map((await inventory.operators(signal)).map((one) => [one.name, one]));
      const readAgain = () => Promise.resolve(observe());
      await performActions(
        { seen: observe(), decide: reportsDue, readAgain, table: { report } },
        signal,
      );
      const pending = pendingOf(observe());
      const status = pending
        .map(({ name, seen, reason }) => statusText(name, seen, reason))
        .join('; ');
      return pending.length === 0 ? { done: undefined } : { status };
    },
  });
  return pendingOf(observe()).map(({ name }) => name);
}

const pendingOf = ({ known, operators }: Observed): readonly SeenOperator[] =>
  operators.filter((one) => !isAvailable(known, one));

/** One that the service does not wait for is available when the cluster says so. */
const isAvailable = (
  known: ReadonlyMap<string, MonitoredOperator> | undefined,
  { name, seen }: SeenOperator,
): boolean => known !== undefined && (known.get(name) ?? seen)?.status === 'available';

/** What the service is to be told now of the operators that it lists. */
function reportsDue(observed: Observed): readonly ReportAction[] {
  const { isStopped, known, times, now } = observed;
  if (isStopped) return [];
  return pendingOf(observed).flatMap(({ name, seen }) => {
    const entry = known?.get(name);
    if (entry === undefined || seen === undefined) return [];
    const { failedSince = now, reportedAt = -Infinity } = times.get(name) ?? {};
    const report = operatorReport({
      known: entry,
      seen,
      failedFor: now - failedSince,
      sinceReport: now - reportedAt,
    });
    return report === undefined ? [] : [{ type: 'report', target: name, report }];
  });
}

function statusText(name: string, seen: OperatorSnapshot | undefined, reason: string): string {
  if (seen === undefined) return `${name}: ${reason}`;
  return seen.text === '' ? `${name} is ${seen.status}` : `${name} is ${seen.status}: ${seen.text}`;
}
