import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { FoundPartition } from '../disk/block-devices.ts';
import type { TargetDisk } from '../disk/facts.ts';
import { execOnTarget } from '../disk/target.ts';
import type { StepScope } from '../step.ts';

/** Three attempts of a command that fails at once; a slow one is not repeated. */
const tries = { every: seconds(5), within: seconds(10) };

/**
 * Runs a command with a few attempts.
 * @param options.accept exit codes that are an answer, besides 0
 * @param options.isDone whether a further attempt failed because an earlier one had done the work,
 * although it failed too
 * @param options.exec runs the command instead of the host port
 * @returns its output
 * @throws AgentError of the last attempt; `disk.changed` at once
 */
export async function tryCommand(
  { host, signal, until }: StepScope<'host'>,
  argv: readonly string[],
  {
    accept = [0],
    isDone,
    limit = minutes(2),
    exec = host.exec,
  }: {
    readonly accept?: readonly number[];
    readonly isDone?: (error: AgentError) => boolean;
    readonly limit?: Millis;
    readonly exec?: typeof host.exec;
  } = {},
): Promise<string> {
  let last: AgentError | undefined;
  const attempt = async (): Promise<PollResult<string>> => {
    try {
      const { stdout } = await exec(argv, { signal, accept, limit });
      return { done: stdout };
    } catch (error) {
      signal.throwIfAborted();
      const failure = asAgentError(error);
      if (failure.code === 'disk.changed') throw failure;
      if (last !== undefined && isDone?.(failure) === true) return { done: '' };
      last = failure;
      return { status: failure.message };
    }
  };
  return until(`${argv.slice(0, 2).join(' ')} succeeds`, attempt, {
    ...tries,
    timeoutError: (status) => last ?? asAgentError(new Error(status)),
  });
}

/**
 * Grows the root partition of a written disk, except for a share of the disk that stays free.
 * growpart exits with 1 if the partition has its size already, as after an earlier attempt, and
 * with 2 after a failure (cloud-utils 0.33).
 * @throws AgentError `disk.changed`, `command.*`
 */
export async function growRoot(
  scope: StepScope<'host'>,
  target: TargetDisk,
  { number }: Pick<FoundPartition, 'number'>,
  freePercent: number,
): Promise<void> {
  const { host } = scope;
  const share = freePercent > 0 ? [`--free-percent=${freePercent}`] : [];
  await tryCommand(scope, ['growpart', ...share, target.path, String(number)], {
    accept: [0, 1],
    exec: (argv, options) => execOnTarget({ host, target }, argv, options),
  });
}

/**
 * Mounts file systems of the install disk. At the end of the step, remaining mounts and freezes are
 * undone in reverse order, even if the run was stopped.
 */
export function diskMounts(scope: StepScope<'host'>) {
  let undos: readonly { readonly place: string; readonly argv: readonly string[] }[] = [];
  scope.onExit(async () => {
    const { signal: unheard } = new AbortController();
    for (const { argv } of undos.toReversed()) {
      // The next undo may release the resource that blocked this one.
      await scope.host.exec(argv, { signal: unheard, limit: seconds(10) }).catch(() => undefined);
    }
  }, 'always');
  // Registered before the command runs: a failed command may have done its work.
  const willUndo = (place: string, argv: readonly string[]): void => {
    undos = [...undos, { place, argv }];
  };
  const unmount = async (place: string): Promise<void> => {
    const isDone = (error: AgentError): boolean => stderrOf(error).includes('not mounted');
    await tryCommand(scope, ['umount', place], { isDone });
    undos = undos.filter((one) => one.place !== place);
  };
  return {
    /** Mounts a device. A file system that an earlier run froze would block writers. */
    mount: async (device: string, place: string): Promise<void> => {
      willUndo(place, ['umount', place]);
      // The same file system is mounted: an earlier attempt succeeded although it failed.
      const isDone = (error: AgentError): boolean =>
        stderrOf(error)
          .split('\n')
          .some((line) => line.trim().replace(/\.$/, '').endsWith(` already mounted on ${place}`));
      await tryCommand(scope, ['mount', device, place], { isDone });
      // 1: it is not frozen.
      await tryCommand(scope, ['fsfreeze', '--unfreeze', place], { accept: [0, 1] });
    },
    unmount,
    /** Freezes a file system, so that GRUB can read the data in the log of XFS, and unmounts it. */
    leave: async (place: string): Promise<void> => {
      willUndo(place, ['fsfreeze', '--unfreeze', place]);
      const isDone = (error: AgentError): boolean =>
        stderrOf(error).includes('Device or resource busy');
      await tryCommand(scope, ['fsfreeze', '--freeze', place], { isDone });
      await unmount(place);
    },
  };
}

const stderrOf = ({ context }: AgentError): string => String(context['stderr'] ?? '');
