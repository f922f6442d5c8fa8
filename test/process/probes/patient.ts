import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

const pause = timers.setTimeout;

/**
 * Makes a limit of the program, given in milliseconds, ten minutes long: what it limits ends by
 * itself, but on a busy machine maybe not within the limit.
 */
export function lengthen(limit: number): void {
  timers.setTimeout = (delay, value, options) =>
    pause(delay === limit ? 600_000 : delay, value, options);
  syncBuiltinESMExports();
}
