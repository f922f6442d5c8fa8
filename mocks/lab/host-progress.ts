import type { RunEvent } from '../../src/engine/events.ts';
import type { HostReport } from './report.ts';
import type { HostFault } from './scenario.ts';

/** What the events of an agent say of one host so far. */
export interface HostProgress {
  /** What the agent is at, for people. */
  readonly doing: string;
  /** Titles of the steps that were started, by id. */
  readonly titles: Readonly<Record<string, string>>;
  /**
   * Of the step that runs, where it tells; none while an attempt or another agent is behind what
   * was shown.
   */
  readonly percent?: number | undefined;
  /** Milliseconds to the end of that step, as it expects. */
  readonly remaining?: number | undefined;
  /** The highest percentage of each step. */
  readonly highest: Readonly<Record<string, number>>;
  /** The step that tells it. */
  readonly reportedBy?: string | undefined;
  /** What is missing for the present wait. */
  readonly waitingFor?: string | undefined;
  /** The step that waits. */
  readonly waiting?: string | undefined;
  readonly failure?: { readonly code: string; readonly message: string };
}

/** Nothing has happened yet. */
export const noProgress: HostProgress = { doing: '', titles: {}, highest: {} };

/** What an event adds. */
export function afterEvent(progress: HostProgress, event: RunEvent): HostProgress {
  switch (event.type) {
    case 'step.started':
    case 'step.reused':
      return afterStart(progress, event);
    case 'step.progress':
      return afterProgress(progress, event);
    case 'wait.updated':
      return {
        ...progress,
        waitingFor:
          event.attempt === undefined
            ? event.status
            : `waits for ${event.sentence}: ${event.status}`,
        waiting: event.step,
      };
    case 'wait.finished':
      return withoutWaiting(progress, event.step);
    case 'step.finished':
      return {
        ...withoutWaiting(progress, event.step),
        ...(progress.reportedBy === event.step
          ? { percent: undefined, remaining: undefined, reportedBy: undefined }
          : {}),
      };
    case 'run.failed': {
      const { code, message } = event.failure;
      return { ...progress, failure: { code, message } };
    }
    default:
      return progress;
  }
}

function afterProgress(
  progress: HostProgress,
  { step, progress: { percent, remaining } }: Extract<RunEvent, { type: 'step.progress' }>,
): HostProgress {
  const highest = progress.highest[step] ?? 0;
  const isBehind = percent !== undefined && percent < highest;
  return {
    ...progress,
    doing: progress.titles[step] ?? progress.doing,
    percent: isBehind ? undefined : (percent ?? progress.percent),
    remaining,
    highest: { ...progress.highest, [step]: Math.max(highest, percent ?? 0) },
    reportedBy: step,
  };
}

/** A lane that continues leaves what the other one does as it is. */
function afterStart(
  progress: HostProgress,
  { step, title, lane }: Extract<RunEvent, { type: 'step.started' | 'step.reused' }>,
): HostProgress {
  const titles = { ...progress.titles, [step]: title };
  if (lane === undefined) {
    const before = { percent: undefined, remaining: undefined, waitingFor: undefined };
    return { ...progress, titles, doing: title, ...before };
  }
  return { ...progress, titles, ...(progress.percent === undefined ? { doing: title } : {}) };
}

const withoutWaiting = (progress: HostProgress, step: string): HostProgress =>
  progress.waiting === step ? { ...progress, waitingFor: undefined, waiting: undefined } : progress;

type WaitEvent = Extract<RunEvent, { type: 'wait.updated' | 'wait.finished' }>;

const keyOf = ({ step, sentence }: WaitEvent): string => `${step} ${sentence}`;

/** What a wait that timed out had reported as missing. */
const missingIn = (
  waited: ReadonlyMap<string, HostReport['waited'][number]>,
  event: WaitEvent,
): string | undefined => waited.get(keyOf(event))?.missing;

/** What a host waited for, and where the time of its agents went, longest first. */
export function timesOf(events: readonly RunEvent[]): Pick<HostReport, 'waited' | 'steps'> {
  const seconds = (millis: number): number => Math.round(millis / 10) / 100;
  const waited = new Map<string, HostReport['waited'][number]>();
  const steps: HostReport['steps'][number][] = [];
  for (const event of events) {
    if (event.type === 'step.finished')
      steps.push({ step: event.step, seconds: seconds(event.duration) });
    if (event.type !== 'wait.updated' && event.type !== 'wait.finished') continue;
    const { step, sentence } = event;
    const isOver = event.type === 'wait.finished';
    const begun = event.at - event.waited;
    // A wait that nothing ends lasts as long as its agent.
    const took = isOver ? event.waited : Math.max(0, (events.at(-1)?.at ?? event.at) - begun);
    const missing = isOver
      ? event.isReached
        ? undefined
        : missingIn(waited, event)
      : event.status;
    waited.set(keyOf(event), { step, for: sentence, seconds: seconds(took), missing });
  }
  steps.sort((one, other) => other.seconds - one.seconds);
  return { waited: [...waited.values()], steps };
}

/**
 * Takes from the faults of a host the one that an event lets strike, if there is one. An agent that
 * is killed between the line of its journal and the event says of that step later that it has ended
 * before.
 */
export function takeFaults(faults: HostFault[], event: RunEvent): readonly HostFault[] {
  const place = placeOf(event.type);
  if (place === undefined) return [];
  const { step } = event as Extract<RunEvent, { type: 'step.finished' }>;
  const at = faults.findIndex((fault) => fault[place] === step);
  return at === -1 ? [] : faults.splice(at, 1);
}

function placeOf(type: RunEvent['type']): 'after' | 'during' | undefined {
  if (type === 'wait.updated') return 'during';
  return type === 'step.finished' || type === 'step.reused' ? 'after' : undefined;
}
