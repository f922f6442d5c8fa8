import type { Progress, RunEvent } from '../engine/events.ts';
import { minutes } from '../model/duration.ts';

/**
 * Removes a percentage from the progress of a step if an earlier one was higher: a new attempt
 * starts at zero, and no view may show a falling percentage. Until the new attempt reaches the
 * earlier percentage, its text says how long the attempt will take.
 */
export function risingPercent(): (event: RunEvent) => RunEvent {
  const shown = new Map<string, number>();
  return (event) => {
    if (event.type !== 'step.progress' || event.progress.percent === undefined) return event;
    const { step, progress } = event;
    const { percent = 0 } = progress;
    if (percent < (shown.get(step) ?? 0)) return { ...event, progress: describeRestart(progress) };
    shown.set(step, percent);
    return event;
  };
}

function describeRestart({ percent, ...rest }: Progress): Progress {
  if (rest.info !== `${percent ?? 0}%`) return rest;
  const left = rest.remaining;
  // In whole minutes: each new text is news to the service, which gives up on a stage without news.
  const about = left === undefined ? '' : `, about ${Math.ceil(left / minutes(1))} min left`;
  return { ...rest, info: `again from the start${about}` };
}
