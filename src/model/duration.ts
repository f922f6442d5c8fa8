/** A span of time in milliseconds. */
export type Millis = number;

/** Seconds as milliseconds. */
export const seconds = (count: number): Millis => count * 1000;

/** Minutes as milliseconds. */
export const minutes = (count: number): Millis => seconds(count * 60);

/** Hours as milliseconds. */
export const hours = (count: number): Millis => minutes(count * 60);

/**
 * A limit for commands that end by themselves and have no other limit: readers of events need a
 * number.
 */
export const unlimited: Millis = hours(24 * 365);

/**
 * A duration for people: `850 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`. A negative one, after a clock
 * was set back, is `0 ms`.
 */
export function renderDuration(duration: Millis): string {
  if (duration < 1000) return `${Math.round(Math.max(0, duration))} ms`;
  const total = Math.round(duration / 1000);
  if (total < 60) return `${total} s`;
  if (total < 3600) return withRest(`${Math.floor(total / 60)} min`, total % 60, 's');
  // Rounded: 24 h less the seconds of an earlier wait are not 23 h 59 min.
  const minutesPart = Math.round(total / 60);
  return withRest(`${Math.floor(minutesPart / 60)} h`, minutesPart % 60, 'min');
}

const withRest = (whole: string, rest: number, unit: string): string =>
  rest === 0 ? whole : `${whole} ${rest} ${unit}`;

/**
 * A time as the API server stores it: RFC 3339 in whole seconds (k8s.io/apimachinery,
 * `metav1.Time`).
 */
export const wholeSeconds = (at: number): string =>
  new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

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
