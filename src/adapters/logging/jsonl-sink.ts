import type { RunEvent, Sink } from '../../engine/events.ts';
import { lineWriter, openForLines } from './line-writer.ts';

/** Version of the event stream; a reader ignores events and fields that it does not know. */
const streamVersion = 1;

/** Progress of one step is told at most so often, in milliseconds. */
const progressEvery = 200;

/** The event stream for programs: one JSON object per line. */
export interface EventStream {
  readonly sink: Sink;
  /** Resolves when all is written, or after a second. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the event stream.
 * @param to a path, or `fd:3` for a descriptor that is open already
 * @throws AgentError `log.not-opened`
 */
export function openEventStream(to: string, mask: (text: string) => string): EventStream {
  const writer = lineWriter(descriptorOf(to));
  const isDue = progressThrottle();
  return {
    sink: (event) => {
      if (isDue(event)) writer.write(`${mask(JSON.stringify({ v: streamVersion, ...event }))}\n`);
    },
    close: () => writer.close(),
  };
}

/** Lets everything through but progress that follows too soon on other progress of its step. */
export function progressThrottle(): (event: RunEvent) => boolean {
  const last = new Map<string, number>();
  return (event) => {
    if (event.type !== 'step.progress') return true;
    const since = event.at - (last.get(event.step) ?? Number.NEGATIVE_INFINITY);
    if (since < progressEvery && event.progress.percent !== 100) return false;
    last.set(event.step, event.at);
    return true;
  };
}

function descriptorOf(to: string): number {
  const number = /^fd:(\d+)$/.exec(to)?.[1];
  return number === undefined ? openForLines(to) : Number(number);
}
