import type { RunEvent, RunHappening, Sink } from '../engine/events.ts';
import type { Clock } from '../ports/clock.ts';

/** Hands every event of one run to whoever watches; adapters and the reporter tell theirs here too. */
export interface EventHub {
  /** Names the run. */
  readonly run: string;
  readonly tell: (happening: RunHappening) => void;
  readonly sink: Sink;
  readonly add: (sink: Sink) => void;
}

/** A hub that nobody watches yet. */
export function eventHub(clock: Clock, run: string): EventHub {
  const sinks: Sink[] = [];
  const sink: Sink = (event: RunEvent) => {
    for (const one of sinks) one(event);
  };
  return {
    run,
    sink,
    tell: (happening) => {
      sink({ ...happening, at: clock.now(), run });
    },
    add: (one) => {
      sinks.push(one);
    },
  };
}
