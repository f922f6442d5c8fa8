import type { Guest } from './guest.ts';
import { GuestError } from './serial-log.ts';

/**
 * The last line of an agent that has failed, as the journal of a live system sends it to the
 * console.
 */
const lastOfFailure = / bootwright\[\d+\]: logs: /;

/**
 * Waits until a live guest has ended, as its agent reboots it.
 * @throws GuestError when the agent or the start of the system has failed, and the guest stays on;
 * when it is late
 */
export async function agentEnds(
  { console, ended }: Pick<Guest, 'console' | 'ended'>,
  deadlineSeconds: number,
): Promise<void> {
  const failed = console.waitForLine(lastOfFailure, deadlineSeconds).then(
    () => {
      throw new GuestError('the agent has failed: its last lines say why, and what to do');
    },
    // A guest that has ended says no more lines either.
    (error: unknown) =>
      ended(1).catch(() => {
        throw error;
      }),
  );
  await Promise.race([ended(deadlineSeconds), failed]);
}
