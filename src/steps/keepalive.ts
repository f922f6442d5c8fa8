import { type Millis, minutes, renderDuration } from '../model/duration.ts';
import type { StepScope } from './step.ts';

/**
 * The service gives a host up whose text beside the stage has not changed for 60 minutes
 * (assisted-service, time-outs of host stages).
 */
const refreshEvery: Millis = minutes(30);

/**
 * Changes the text beside the stage each half hour, so that the service goes on waiting too; says
 * whether it did.
 */
export function keepaliveOf({ clock, progress }: StepScope<'clock'>): (status: string) => boolean {
  const since = clock.elapsed();
  let toldAt = since;
  return (status) => {
    const now = clock.elapsed();
    if (now - toldAt < refreshEvery) return false;
    progress({ info: `${status} (${renderDuration(now - since)})` });
    toldAt = now;
    return true;
  };
}
