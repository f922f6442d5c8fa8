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

/** What is known of a run, mostly when it has ended. */
export interface RunHistory {
  readonly run: string;
  /** Milliseconds since 1970; undefined of a run that did not begin. */
  readonly since?: number | undefined;
  readonly steps: RunSteps;
  /** The step that the run failed by; of one that has not ended, the one that it is at. */
  readonly failed?: StepState | undefined;
  /** Of the step that the run failed by, else of the step that waited last. */
  readonly wait?: (Waiting & { readonly step: string }) | undefined;
}

/**
 * Remembers what a person asks of a run that has failed: the end of each step, and its last wait.
 */
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

/** What the status and the journal say of a run that another process does, or did. */
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

/** A step beside the main line may fail too, and ends no run. */
const failedBy = (steps: RunSteps, { code, message }: FailureReport): StepState | undefined =>
  Object.values(steps).find(({ failure }) => failure?.code === code && failure.message === message);
