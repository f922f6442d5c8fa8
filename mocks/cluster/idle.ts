import type { RunEvent } from '../../src/engine/events.ts';

/** From this moment on nothing was missing any more for what a step waits for. */
export interface ReadyMark {
  /** Id of the step. */
  readonly step: string;
  /** Milliseconds since the epoch. */
  readonly readyAt: number;
}

/** How long a step of an agent continued although nothing was missing. */
export interface IdleStep {
  readonly step: string;
  readonly millis: number;
}

/** What `idleOf` says of one host. */
interface Idle {
  readonly steps: readonly IdleStep[];
  /** Time in which at least one wait could have ended and nothing else was done. */
  readonly millis: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * How much time passed on one host while every precondition was already true: for each marked step
 * that ended, from the moment when it could have ended (its mark, or its start when that came
 * later) to its end. Time in which a step without a mark ran, another lane's write for example, is
 * not idle.
 */
export function idleOf(marks: readonly ReadyMark[], events: readonly RunEvent[]): Idle {
  const runs = stepSpans(events);
  const marked = new Set(marks.map(({ step }) => step));
  const idle = runs.flatMap(({ step, from, to }) => {
    const ready = marks.filter((mark) => mark.step === step && mark.readyAt <= to);
    if (ready.length === 0) return [];
    const readyAt = Math.max(from, ...ready.map((mark) => mark.readyAt));
    return [{ step, from: readyAt, to }];
  });
  const working = runs.filter(({ step }) => !marked.has(step));
  return {
    steps: idle.map(({ step, from, to }) => ({ step, millis: to - from })),
    millis: lengthOf(idle, working),
  };
}

function stepSpans(events: readonly RunEvent[]): readonly (Span & { readonly step: string })[] {
  const started = new Map<string, number>();
  const spans: (Span & { readonly step: string })[] = [];
  for (const event of events) {
    if (event.type === 'step.started' && !started.has(event.step)) {
      started.set(event.step, event.at);
    }
    const from = event.type === 'step.finished' ? started.get(event.step) : undefined;
    if (event.type !== 'step.finished' || from === undefined) continue;
    spans.push({ step: event.step, from, to: event.at });
    started.delete(event.step);
  }
  return spans;
}

/**
 * How much time is in some of the spans and in none of the others: between two ends of any of them
 * nothing changes.
 */
function lengthOf(spans: readonly Span[], others: readonly Span[]): number {
  const ends = [...spans, ...others].flatMap(({ from, to }) => [from, to]);
  const times = ends.toSorted((one, other) => one - other);
  return times.slice(1).reduce((sum, until, at) => {
    const since = times[at] ?? until;
    const isIn = ({ from, to }: Span): boolean => from <= since && until <= to;
    return spans.some(isIn) && !others.some(isIn) ? sum + until - since : sum;
  }, 0);
}
