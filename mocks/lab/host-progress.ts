import type { RunEvent } from '../../src/engine/events.ts';

/** What the events of an agent say of one host so far. */
export interface HostProgress {
  /** What the agent is at, for people. */
  readonly doing: string;
  /** Of the step that runs, where it tells. */
  readonly percent?: number | undefined;
  /** What is missing for the present wait. */
  readonly waitingFor?: string | undefined;
  readonly waits: readonly {
    readonly step: string;
    readonly for: string;
    readonly seconds: number;
  }[];
  readonly steps: readonly { readonly step: string; readonly seconds: number }[];
  readonly failure?: { readonly code: string; readonly message: string };
}

/** Nothing has happened yet. */
export const noProgress: HostProgress = { doing: '', waits: [], steps: [] };

/** What an event adds. */
export function afterEvent(progress: HostProgress, event: RunEvent): HostProgress {
  switch (event.type) {
    case 'step.started':
    case 'step.reused':
      return { ...progress, doing: event.title, percent: undefined, waitingFor: undefined };
    case 'step.progress':
      return { ...progress, percent: event.progress.percent ?? progress.percent };
    case 'wait.updated':
      return { ...progress, waitingFor: event.status, waits: withWait(progress.waits, event) };
    case 'step.finished':
      return {
        ...progress,
        percent: undefined,
        waitingFor: undefined,
        waits: closedWaits(progress.waits, event),
        steps: [...progress.steps, { step: event.step, seconds: event.duration / 1000 }],
      };
    case 'run.failed': {
      const { code, message } = event.failure;
      return { ...progress, failure: { code, message } };
    }
    default:
      return progress;
  }
}

function withWait(
  waits: HostProgress['waits'],
  { step, sentence, waited }: Extract<RunEvent, { type: 'wait.updated' }>,
): HostProgress['waits'] {
  const others = waits.filter((one) => one.step !== step || one.for !== sentence);
  return [...others, { step, for: sentence, seconds: waited / 1000 }];
}

/** A wait tells only changes; that its step has ended says how long it really was. */
function closedWaits(
  waits: HostProgress['waits'],
  { step, duration }: Extract<RunEvent, { type: 'step.finished' }>,
): HostProgress['waits'] {
  const own = waits.filter((one) => one.step === step);
  if (own.length !== 1) return waits;
  return waits.map((one) => (one.step === step ? { ...one, seconds: duration / 1000 } : one));
}
