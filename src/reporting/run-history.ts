import type { FailureReport, Sink } from '../engine/events.ts';
import type { JournalEntry } from '../engine/journal.ts';
import type { RunStatus } from './run-status.ts';
import {
  type RunSteps,
  type StepState,
  stepsAfter,
  stepsInJournal,
  type Waiting,
} from '../engine/run-steps.ts';

/** Known facts of a run, mostly after its end. */
export interface RunHistory {
  readonly run: string;
  /** Milliseconds since 1970; undefined if the run did not begin. */
  readonly since?: number | undefined;
  readonly steps: RunSteps;
  /** The step that failed the run; for a run that has not ended, its present step. */
  readonly failed?: StepState | undefined;
  /** The wait of the step that failed the run, else of the step that waited last. */
  readonly wait?: (Waiting & { readonly step: string }) | undefined;
}

/** Collects facts about a run for its failure: the end of each step, and the last wait. */
export function runHistoryOf(run: string): {
  readonly sink: Sink;
  readonly read: () => RunHistory;
} {
  let steps: RunSteps = {};
  let waited: string | undefined;
  let since: number | undefined;
  let failed: StepState | undefined;
  return {
    sink: (event) => {
      if (event.type === 'run.started') since = event.at;
      if (event.type === 'run.failed') failed = failedBy(steps, event.failure);
      if (event.type === 'wait.updated') waited = event.step;
      steps = stepsAfter(steps, event);
    },
    read: () => {
      const wait = waitOf(failed) ?? waitOf(steps[waited ?? '']);
      return { run, steps, since, failed, wait };
    },
  };
}

const waitOf = (step: StepState | undefined): RunHistory['wait'] =>
  step?.lastWait && { step: step.step, ...step.lastWait };

/** The history of another process's run, from its status and its journal. */
export function historyFrom(
  { run, since, running }: RunStatus,
  entries: readonly JournalEntry[],
): RunHistory {
  const now = running.map((step): StepState => ({
    ...step,
    state: 'running',
    lastWait: step.wait,
  }));
  const current = now.find(({ wait }) => wait !== undefined) ?? now.at(-1);
  const steps = {
    ...stepsInJournal(entries),
    ...Object.fromEntries(now.map((step) => [step.step, step])),
  };
  return { run, since, steps, failed: current, wait: waitOf(current) };
}

/** A step outside the main line may fail too, and does not end the run. */
const failedBy = (steps: RunSteps, { code, message }: FailureReport): StepState | undefined =>
  Object.values(steps).find(({ failure }) => failure?.code === code && failure.message === message);
