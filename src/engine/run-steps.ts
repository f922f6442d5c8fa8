import type { FailureReport, RunEvent } from './events.ts';
import type { JournalEntry } from './journal.ts';
import { type Millis, renderDuration, unlimited } from '../model/duration.ts';

/** A wait of a step. */
export interface Waiting {
  readonly sentence: string;
  /** The missing condition. */
  readonly status: string;
  /** Number of attempts of a request; undefined for a wait that polls. */
  readonly attempt?: number | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Limit counted from `since`; then the step fails. */
  readonly limit: Millis;
}

/** State of a step. */
export interface StepState {
  readonly step: string;
  /** Empty if the step did not begin. */
  readonly title: string;
  readonly lane?: string | undefined;
  readonly state: 'running' | 'finished' | 'failed' | 'stopped' | 'skipped' | 'reused';
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly until?: number | undefined;
  readonly attempt: number;
  readonly info?: string | undefined;
  /** Percentage from 0 to 100; never falls. */
  readonly percent?: number | undefined;
  readonly bytesPerSecond?: number | undefined;
  readonly remaining?: Millis | undefined;
  /** The present wait. */
  readonly wait?: Waiting | undefined;
  /** All present waits, the newest last: a request may be retried within a wait. */
  readonly waits?: readonly Waiting[] | undefined;
  /** The last wait whose condition was not met. */
  readonly lastWait?: Waiting | undefined;
  readonly failure?: Pick<FailureReport, 'code' | 'message'> | undefined;
}

/** The steps of a run by their ids, in the order in which they began. */
export type RunSteps = Readonly<Record<string, StepState>>;

const ends = {
  'step.finished': 'finished',
  'step.failed': 'failed',
  'step.stopped': 'stopped',
  'step.skipped': 'skipped',
  'step.reused': 'reused',
} as const;

type EndEvent = Extract<RunEvent, { readonly type: keyof typeof ends }>;

/** Whether an event ends a step. */
export const isEnd = (event: RunEvent): event is EndEvent => event.type in ends;

/**
 * The steps of a run after an event. The status, the terminal, the page and the logs of a run show
 * this result.
 */
export function stepsAfter(steps: RunSteps, event: RunEvent): RunSteps {
  // A step that an agent left open ended with the agent.
  if (event.type.startsWith('run.')) return allEnded(steps, event.at, 'stopped');
  const step = 'step' in event ? stepAfter(steps[event.step], event) : undefined;
  return step === undefined ? steps : { ...steps, [step.step]: step };
}

/** Ends all running steps in a state. */
export const allEnded = (steps: RunSteps, until: number, state: StepState['state']): RunSteps =>
  Object.fromEntries(
    Object.entries(steps).map(([id, step]) => [
      id,
      step.state === 'running'
        ? { ...step, state, until, wait: undefined, waits: undefined }
        : step,
    ]),
  );

function stepAfter(before: StepState | undefined, event: RunEvent): StepState | undefined {
  if (isEnd(event)) return stepEnded(before, event);
  switch (event.type) {
    case 'step.started': {
      const { step, title, lane, attempt, at } = event;
      const begun = before?.state === 'running' ? before : undefined;
      const { since = at, percent, lastWait } = begun ?? {};
      return { step, title, lane, state: 'running', since, attempt, percent, lastWait };
    }
    case 'step.progress':
      return before && progressed(before, event.progress);
    case 'wait.updated': {
      const { sentence, status, attempt, waited, limit, at } = event;
      const wait = { sentence, status, attempt, since: at - waited, limit };
      return (
        before && { ...before, wait, waits: [...others(before, sentence), wait], lastWait: wait }
      );
    }
    case 'wait.finished': {
      if (before === undefined) return undefined;
      const waits = others(before, event.sentence);
      const wait = waits.at(-1);
      return { ...before, wait, waits, lastWait: event.isReached ? wait : before.lastWait };
    }
    default:
      return undefined;
  }
}

const others = ({ waits = [] }: StepState, sentence: string): readonly Waiting[] =>
  waits.filter((wait) => wait.sentence !== sentence);

/**
 * A wait for people, without its times: `waits until 2 masters are ready: 1 of 2`. For a run that
 * has ended, the caller gives another verb.
 */
export const waitText = (
  { sentence, status, attempt }: Pick<Waiting, 'sentence' | 'status' | 'attempt'>,
  verb = 'waits',
): string => `${verb} ${attempt === undefined ? 'until' : 'for'} ${sentence}: ${status}`;

/**
 * A wait for people: `waits until 2 masters are ready: 1 of 2, for 12 s of at most 20 min`.
 */
export const renderWait = (wait: Omit<Waiting, 'since'>, waited: Millis, verb?: string): string =>
  `${waitText(wait, verb)}, for ${renderDuration(waited)}${wait.limit < unlimited ? ` of at most ${renderDuration(wait.limit)}` : ''}`;

function progressed(
  before: StepState,
  progress: Extract<RunEvent, { readonly type: 'step.progress' }>['progress'],
): StepState {
  const { info, percent, bytesPerSecond, remaining } = progress;
  const most = Math.min(100, Math.max(before.percent ?? 0, percent ?? 0));
  return {
    ...before,
    info,
    percent: percent === undefined ? before.percent : most,
    bytesPerSecond,
    remaining,
    wait: undefined,
    waits: undefined,
  };
}

function stepEnded(before: StepState | undefined, event: EndEvent): StepState {
  const { step, at } = event;
  const known = before ?? { step, title: '', attempt: 1, since: at };
  return {
    ...known,
    title: 'title' in event ? event.title : known.title,
    state: ends[event.type],
    until: at,
    wait: undefined,
    waits: undefined,
    failure: event.type === 'step.failed' ? event.failure : undefined,
  };
}

/**
 * The state of each step in a journal, in the order of their first entries. A step that was started
 * again appears as new.
 */
export function stepsInJournal(entries: readonly JournalEntry[]): RunSteps {
  const steps: Record<string, StepState> = {};
  for (const entry of entries) {
    const { step, at } = entry;
    const { since = at, attempt = 0 } = steps[step] ?? {};
    steps[step] =
      entry.type === 'started'
        ? { step, title: '', state: 'running', since: at, attempt: attempt + 1 }
        : {
            step,
            title: '',
            state: entry.type,
            since,
            until: at,
            attempt: Math.max(1, attempt),
            failure: entry.type === 'failed' ? entry : undefined,
          };
  }
  return steps;
}
