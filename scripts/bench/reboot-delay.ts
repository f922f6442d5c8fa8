/**
 * How long a reboot waits that was ordered by `shutdown -r`, of all the commands of a host: `now`, or `+N` for so many
 * minutes. The last order counts.
 * @throws RangeError for any other time, or when none was ordered
 */
export function rebootDelaySeconds(ran: readonly { readonly argv: readonly string[] }[]): number {
  const order = ran.findLast(({ argv }) => argv[0] === 'shutdown' && argv[1] === '-r');
  const when = order?.argv[2];
  if (when === 'now') return 0;
  const minutes = /^\+(\d+)$/.exec(when ?? '')?.[1];
  if (minutes === undefined) throw new RangeError(`a reboot at ${when ?? 'no time'}`);
  return Number(minutes) * 60;
}
