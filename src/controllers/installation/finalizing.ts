import { operatorReport, type OperatorSnapshot } from '../../cluster/operators.ts';
import type { Watch } from '../../engine/wait.ts';
import { type Millis, seconds, unlimited } from '../../model/duration.ts';
import {
  type FinalizingStage,
  finalizingStages,
  type MonitoredOperator,
  type OperatorReport,
} from '../../ports/inventory.ts';
import { isEnded } from './end.ts';
import {
  allOf,
  followedInstallation,
  type RepeatedWork,
  type StepScope,
  untilDone,
} from './scope.ts';

/** The finalizing stages of an installation, shared with the service. */
export interface Finalizing {
  /** Notifies after each answer of the service. */
  readonly watch: Watch;
  /**
   * Time that the service has already spent in a stage that an earlier run of the controller began.
   */
  readonly spentIn: (stage: FinalizingStage) => Millis;
  /** The service accepts nothing more for this installation. */
  readonly isEnded: () => boolean;
  /** A stage of OLM has timed out in the service, or the installation has ended. */
  readonly isOver: (stage: FinalizingStage) => boolean;
  /** An earlier run of the controller has completed a stage. */
  readonly isPast: (stage: FinalizingStage) => boolean;
  /**
   * Reports a stage until the service has it. False for a stage without work: an earlier run has
   * completed it, or the installation has ended.
   */
  readonly enter: (stage: FinalizingStage) => Promise<boolean>;
  /** Sends a request until the service has accepted it, or the installation has ended. */
  readonly deliver: (what: string, send: () => Promise<void>) => Promise<void>;
}

/**
 * Waits until the service finalizes the cluster, and continues at the stage in the service; this
 * program stores nothing. All stages of an ended installation are over.
 */
export async function beginFinalizing(scope: StepScope): Promise<Finalizing> {
  const { inventory, clock, until, signal } = scope;
  const { view, watch } = followedInstallation(inventory);
  const hasEnded = (): boolean => isEnded(view());
  const first = await until(
    'the service finalizes the cluster',
    () => {
      const { cluster } = view();
      return cluster?.status === 'finalizing' || hasEnded()
        ? { done: stageIndex(cluster?.finalizing?.stage) }
        : { status: `the cluster is ${cluster?.status ?? 'not known yet'}` };
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
      // After the end the service refuses requests, and this program may not know of the end yet.
      failed: inventory.refresh,
    });
  const at = (stage: FinalizingStage) => {
    const finalizing = view().cluster?.finalizing;
    return finalizing?.stage === stage ? finalizing : undefined;
  };
  return {
    watch,
    spentIn: (stage) => {
      const now = clock.now();
      return Math.max(0, now - (at(stage)?.startedAt ?? now));
    },
    isEnded: hasEnded,
    isOver: (stage) => hasEnded() || at(stage)?.isTimedOut === true,
    isPast: (stage) => stageIndex(stage) < first,
    enter: async (stage) => {
      if (hasEnded() || stageIndex(stage) < first) return false;
      if (stageIndex(stage) > first)
        await deliver(`the stage ${stage}`, () => inventory.reportFinalizing(stage, signal));
      return !hasEnded();
    },
    deliver,
  };
}

const stageIndex = (stage: string | undefined): number =>
  finalizingStages.findIndex((one) => one === stage);

/** An operator with its state in the cluster. */
export interface SeenOperator {
  readonly name: string;
  /** Undefined while the cluster shows nothing of it. */
  readonly seen: OperatorSnapshot | undefined;
  /** The reason why the cluster shows nothing of it. */
  readonly reason: string;
}

/**
 * Reports operators to the service until it has each of them as available. The service's state is
 * read once, and again after a failed report: no other program reports operators. An operator that
 * the service does not wait for counts as available when the cluster shows it so.
 * @returns the names of the operators that are not available
 */
export async function reportOperators(
  scope: StepScope,
  operators: () => readonly SeenOperator[],
  { sentence, watch, isOver }: Pick<RepeatedWork<undefined>, 'sentence' | 'watch' | 'isOver'>,
): Promise<readonly string[]> {
  const { inventory, clock } = scope;
  let known: ReadonlyMap<string, MonitoredOperator> | undefined;
  const failedSince = new Map<string, Millis>();
  const reportedAt = new Map<string, Millis>();
  const pending = (): readonly SeenOperator[] =>
    operators().filter(
      ({ name, seen }) => known === undefined || (known.get(name) ?? seen)?.status !== 'available',
    );
  const reportOf = ({ name, seen }: SeenOperator): OperatorReport | undefined => {
    const now = clock.elapsed();
    if (seen?.status !== 'failed') failedSince.delete(name);
    else if (!failedSince.has(name)) failedSince.set(name, now);
    const entry = known?.get(name);
    if (entry === undefined || seen === undefined) return undefined;
    const failedFor = now - (failedSince.get(name) ?? now);
    const sinceReport = now - (reportedAt.get(name) ?? -Infinity);
    return operatorReport(entry, seen, failedFor, sinceReport);
  };
  const send = async (report: OperatorReport, signal: AbortSignal): Promise<void> => {
    const { name } = report;
    try {
      await inventory.reportOperator(report, signal);
    } catch (error) {
      known = undefined;
      throw error;
    }
    reportedAt.set(name, clock.elapsed());
    const before = known?.get(name);
    if (known !== undefined && before !== undefined)
      known = new Map(known).set(name, { ...before, ...report });
  };
  await untilDone(scope, {
    sentence,
    watch,
    isOver,
    work: async (signal) => {
      known ??= new Map((await inventory.operators(signal)).map((one) => [one.name, one]));
      const due = isOver() ? [] : pending().map(reportOf);
      await allOf(
        due.filter((report) => report !== undefined).map((report) => send(report, signal)),
      );
      const status = pending().map(statusText).join('; ');
      return status === '' ? { done: undefined } : { status };
    },
  });
  return pending().map(({ name }) => name);
}

function statusText({ name, seen, reason }: SeenOperator): string {
  if (seen === undefined) return `${name}: ${reason}`;
  return seen.text === '' ? `${name} is ${seen.status}` : `${name} is ${seen.status}: ${seen.text}`;
}
