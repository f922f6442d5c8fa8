import type { FailureReport } from '../engine/events.ts';

/**
 * Characters of a report's text. The service keeps 2048 and answers 500 to more; it stores a failure
 * as `Failed - ` and the text.
 */
const longestInfo = 2000;

/** A text as it may be sent: cut at the end, with a sign that it was cut. */
export function cutInfo(info: string): string {
  const characters = Array.from(info);
  if (characters.length <= longestInfo) return info;
  return `${characters.slice(0, longestInfo - 1).join('')}…`;
}

/** A failure as the service shows it: code, what happened, what to do; not cut yet. */
export const failureInfo = ({ code, message, hint }: FailureReport): string =>
  `${code}: ${message} — ${hint}`;
