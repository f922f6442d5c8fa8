import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { StepScope } from '../step.ts';
import { readTarget } from './block-devices.ts';
import type { TargetDisk } from './facts.ts';
import type { BlockDevice } from './lsblk.ts';
import { readOpeners } from './open-files.ts';
import { isBusy } from './readiness.ts';

/**
 * The processes that have the disk open. A look at processes that cannot be had must not end an
 * installation; it is told.
 */
export async function openersOrNote(
  { host, signal, note }: StepScope<'host'>,
  disk: BlockDevice,
): Promise<readonly string[]> {
  try {
    return await readOpeners(host, disk, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    note('warn', 'processes that have the disk open could not be looked for', { code: error.code });
    return [];
  }
}

/**
 * Waits until no process has the disk open. When the agent was killed, the writer that it had
 * started may still be at work, and two writers would leave neither's system.
 * @throws AgentError `disk.busy` with the processes, when they do not end
 */
export async function waitUntilClosed(scope: StepScope<'host'>, target: TargetDisk): Promise<void> {
  const { host, signal, until } = scope;
  let openers: readonly string[] = [];
  try {
    await until(
      'no process has the install disk open',
      async () => {
        openers = await openersOrNote(scope, await readTarget(host, target, signal));
        return openers.length === 0 ? { done: true } : { status: openers.join('; ') };
      },
      { every: seconds(2), within: minutes(2) },
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
    throw isBusy(target, openers);
  }
}
