import type { FailureReport, RunEvent, Sink } from '../engine/events.ts';
import type { JournalEntry } from '../engine/journal.ts';
import type { Millis } from '../model/duration.ts';
import type { RunStatus } from './run-status.ts';

/** What became of a step. */
export interface StepHistory {
  readonly step: string;
  readonly title: string;
  readonly state: 'running' | 'finished' | 'failed' | 'stopped' | 'skipped' | 'reused';
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly until?: number;
  readonly attempts: number;
  readonly failure?: Pick<FailureReport, 'code' | 'message'>;
}

/** What a step waited for last. */
export interface LastWait {
  readonly step: string;
  readonly sentence: string;
  /** What was missing. */
  readonly status: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly limit: Millis;
}

/** What is known of a run, mostly when it has ended. */
export interface RunHistory {
  readonly run: string;
  /** Milliseconds since 1970; undefined of a run that did not begin. */
  readonly since?: number;
  /** By their ids, in the order in which they began. */
  readonly steps: ReadonlyMap<string, StepHistory>;
  /** The step that the run failed by; of one that has not ended, the one that it is at. */
  readonly failed?: StepHistory;
  /** Of the step that the run failed by, else of the step that waited last. */
  readonly wait?: LastWait;
}

/**
 * Remembers what a person asks of a run that has failed: the end of each step, and its last wait.
 */
export function runHistoryOf(run: string): {
  readonly sink: Sink;
  readonly read: () => RunHistory;
} {
  const steps = new Map<string, StepHistory>();
  const waits = new Map<string, LastWait>();
  let since: number | undefined;
  let failed: StepHistory | undefined;
  return {
    sink: (event) => {
      if (event.type === 'run.started') since = event.at;
      if (event.type === 'wait.updated') {
        const { step, sentence, status, waited, limit, at } = event;
        // What waited last is last in the map.
        waits.delete(step);
        waits.set(step, { step, sentence, status, since: at - waited, limit });
      }
      if (event.type === 'run.failed') failed = failedBy(steps, event.failure);
      const step = 'step' in event ? stepAfter(steps.get(event.step), event) : undefined;
      if (step !== undefined) steps.set(step.step, step);
    },
    read: () => {
      const wait = waits.get(failed?.step ?? '') ?? [...waits.values()].at(-1);
      return {
        run,
        steps,
        ...(since === undefined ? {} : { since }),
        ...(failed === undefined ? {} : { failed }),
        ...(wait === undefined ? {} : { wait }),
      };
    },
  };
}

/**
 * What became of each step by a journal, in the order of their first entries; a step that was
 * started again is as if for the first time.
 */
export function stepsInJournal(entries: readonly JournalEntry[]): Map<string, StepHistory> {
  const steps = new Map<string, StepHistory>();
  for (const entry of entries) {
    const { step, at } = entry;
    const { since = at, attempts = 0 } = steps.get(step) ?? {};
    const common = { step, title: '' };
    if (entry.type === 'started') {
      steps.set(step, { ...common, state: 'running', since: at, attempts: attempts + 1 });
      continue;
    }
    steps.set(step, {
      ...common,
      state: entry.type,
      since,
      until: at,
      attempts: Math.max(1, attempts),
      ...(entry.type === 'failed' ? { failure: entry } : {}),
    });
  }
  return steps;
}

/** What the status and the journal say of a run that another process does, or did. */
export function historyFrom(
  { run, since, running }: RunStatus,
  entries: readonly JournalEntry[],
): RunHistory {
  const steps = stepsInJournal(entries);
  for (const { step, title, since: from, attempt } of running)
    steps.set(step, { step, title, state: 'running', since: from, attempts: attempt });
  const current = running.find(({ wait }) => wait !== undefined) ?? running.at(-1);
  if (current === undefined) return { run, since, steps };
  const { step, wait } = current;
  const failed = steps.get(step);
  return {
    run,
    since,
    steps,
    ...(failed === undefined ? {} : { failed }),
    ...(wait === undefined ? {} : { wait: { step, ...wait } }),
  };
}

/** A step beside the main line may fail too, and ends no run. */
const failedBy = (
  steps: ReadonlyMap<string, StepHistory>,
  { code, message }: FailureReport,
): StepHistory | undefined =>
  [...steps.values()].find(({ failure }) => failure?.code === code && failure.message === message);

const ends = {
  'step.finished': 'finished',
  'step.failed': 'failed',
  'step.stopped': 'stopped',
  'step.skipped': 'skipped',
  'step.reused': 'reused',
} as const;

function stepAfter(
  before: StepHistory | undefined,
  event: Extract<RunEvent, { readonly step: string }>,
): StepHistory | undefined {
  const { step, at } = event;
  if (event.type === 'step.started') {
    const { title, attempt: attempts } = event;
    return { step, title, attempts, state: 'running', since: before?.since ?? at };
  }
  if (!(event.type in ends)) return undefined;
  const known = before ?? { step, title: '', attempts: 0, since: at };
  return {
    ...known,
    ...('title' in event ? { title: event.title } : {}),
    state: ends[event.type as keyof typeof ends],
    until: at,
    ...(event.type === 'step.failed'
      ? { failure: { code: event.failure.code, message: event.failure.message } }
      : {}),
  };
}
