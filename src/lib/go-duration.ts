import { hours, type Millis, minutes, seconds } from '../model/duration.ts';

const units = { h: hours(1), m: minutes(1), s: seconds(1), ms: 1 };

/**
 * The length of a duration in Go's form, `1h30m` or `1.5h` for example, in whole milliseconds, as
 * timers take no others; undefined for any other text.
 */
export function readGoDuration(text: string): Millis | undefined {
  if (!/^(\d{1,16}(\.\d{1,16})?(ms|[hms]))+$/.test(text)) return undefined;
  return Math.round(
    [...text.matchAll(/([\d.]{1,33})(ms|[hms])/g)].reduce(
      (sum, [, count, unit]) => sum + units[unit as keyof typeof units] * Number(count),
      0,
    ),
  );
}
