import type { HostScope } from '../step.ts';
import { ask } from './read-host.ts';

/**
 * What the unit said that writes what is staged to the boot loader, when the host went down last.
 */
const finalizeJournalArgv = [
  ...['journalctl', '--boot=-1', '--unit=ostree-finalize-staged.service'],
  ...['--output=cat', '--no-pager', '--lines=50'],
] as const;

/**
 * Why what was staged was not booted, in the words of ostree; undefined where it said no error, or
 * nobody keeps the journal.
 */
export async function readFinalizeError(asked: HostScope): Promise<string | undefined> {
  const said = (await ask(asked, finalizeJournalArgv)) ?? '';
  return [...said.matchAll(/^error: (.+)$/gm)].at(-1)?.[1]?.slice(0, 300);
}
