import type { RunEvent } from '../../src/engine/events.ts';

/** What the waits of a run told, in order. */
export const statusesOf = (events: readonly RunEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : []));
