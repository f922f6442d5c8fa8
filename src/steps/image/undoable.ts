import { asAgentError } from '../../engine/failures.ts';
import { seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { isMountedAlready } from '../disk/in-use.ts';
import type { StepScope } from '../step.ts';
import type { PollResult } from '../../engine/wait.ts';

/** A command that leaves something behind which must not stay when a later one fails. */
export interface UndoableCommand {
  readonly argv: readonly string[];
  readonly undo?: readonly string[];
  /** Exit codes that are an answer beside 0. */
  readonly accept?: readonly number[];
  /** What this command undoes itself: the undos that were registered under the place. */
  readonly settles?: string;
  readonly place?: string;
  /** Whether a second try failed since the first one had done it, although it failed too. */
  readonly isDone?: (error: AgentError) => boolean;
  /** It moves gigabytes. */
  readonly isLong?: boolean;
  /** Throws when what the command printed shows that something is wrong. */
  readonly check?: (stdout: string) => void;
}

/**
 * Mounts a file system of the install disk. One that an earlier run has left frozen is frozen
 * still, and whoever wrote to it would wait for ever.
 */
export const mountCommands = (device: string, place: string): readonly UndoableCommand[] => [
  {
    argv: ['mount', device, place],
    undo: ['umount', place],
    place,
    isDone: (error) => isMountedAlready(error, place),
  },
  // 1: it is not frozen.
  { argv: ['fsfreeze', '--unfreeze', place], accept: [0, 1] },
];

/** Leaves a mounted file system of the install disk, with all of it where GRUB finds it. */
export const leaveCommands = (place: string): readonly UndoableCommand[] => [
  freeze(place),
  unmount(place),
];

/** Unmounts a file system of the install disk. */
export const unmount = (place: string): UndoableCommand => ({
  argv: ['umount', place],
  settles: place,
  isDone: (error) => stderrOf(error).includes('not mounted'),
});

const stderrOf = ({ context }: AgentError): string => String(context['stderr'] ?? '');

/** Freezes a mounted file system, so that everything written to it is on the disk. */
export const freeze = (place: string): UndoableCommand => ({
  argv: ['fsfreeze', '--freeze', place],
  undo: ['fsfreeze', '--unfreeze', place],
  place,
  isDone: (error) => stderrOf(error).includes('Device or resource busy'),
});

/** Three tries of a command that fails at once; one that took its time is not tried again. */
const tries = { every: seconds(5), within: seconds(10) };

/**
 * Runs commands in their order, each with a few tries. What is left mounted or frozen when one
 * fails is undone when the step ends, in reverse order, even when the run was stopped.
 * @throws AgentError what a command failed with in the end
 */
export async function runUndoable(
  { host, signal, until, onExit }: StepScope<'host'>,
  commands: readonly UndoableCommand[],
  run: (command: UndoableCommand) => Promise<unknown>,
): Promise<void> {
  let undos: readonly { readonly place: string; readonly argv: readonly string[] }[] = [];
  onExit(async () => {
    const { signal: unheard } = new AbortController();
    for (const { argv } of [...undos].reverse()) {
      // The next one may free what this one could not.
      await host.exec(argv, { signal: unheard, limit: seconds(10) }).catch(() => undefined);
    }
  }, 'always');
  for (const command of commands) {
    const { argv, undo, place = '', settles } = command;
    // Before it is run: a command that fails may have done its work.
    if (undo !== undefined) undos = [...undos, { place, argv: undo }];
    let isFirst = true;
    const attempt = async (): Promise<PollResult<true>> => {
      try {
        await run(command);
        return { done: true };
      } catch (error) {
        signal.throwIfAborted();
        const failure = asAgentError(error);
        const isDone = !isFirst && command.isDone?.(failure) === true;
        isFirst = false;
        return isDone ? { done: true } : { status: failure.message };
      }
    };
    await until(`${argv.slice(0, 2).join(' ')} succeeds`, attempt, tries);
    undos = undos.filter((one) => one.place !== settles);
  }
}
