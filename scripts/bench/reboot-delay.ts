/**
 * How long a reboot waits that was ordered of `shutdown`: `now`, or `+N` for so many minutes.
 * @throws RangeError for any other time, or when none was ordered
 */
export function rebootDelaySeconds(when: string | undefined): number {
  if (when === 'now') return 0;
  const minutes = /^\+(\d+)$/.exec(when ?? '')?.[1];
  if (minutes === undefined) throw new RangeError(`a reboot at ${when ?? 'no time'}`);
  return Number(minutes) * 60;
}
