import { existsSync } from 'node:fs';
import { join } from 'node:path/posix';
import { pipeline } from 'node:stream/promises';
import {
  commandFailed,
  commandNotFound,
  commandStopped,
  type CommandStory,
  commandTimedOut,
  maskArgv,
} from './command-failures.ts';
import type { ProcessEnd, RunningProcess } from './spawn.ts';
import type { RunEventBody } from '../../engine/events.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import type { CommandResult, ExecOptions } from '../../ports/host.ts';

/** The start or end of a command, for observers. */
export type CommandEvent = Extract<
  RunEventBody,
  { readonly type: 'command.started' | 'command.finished' }
>;

/** Options for running commands on the host. */
export interface HostAccess {
  /** Words before every argv: nsenter and its namespaces. */
  readonly prefix: readonly string[];
  /** The environment of this process, of which only PATH is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onCommand: ((event: CommandEvent) => void) | undefined;
}

/**
 * Runs one command on the host to its end; of long output, keeps only the end.
 * @throws AgentError `command.failed`, `command.timed-out`, `command.not-found`, `command.stopped`;
 * the error of `input`
 */
export async function runHostCommand(
  access: HostAccess,
  { argv, input, ...options }: ExecOptions & { readonly argv: readonly string[] },
): Promise<CommandResult> {
  const { signal, secrets, underLock } = options;
  const lock = underLock === undefined ? [] : lockWords(underLock);
  // A controller runs no command, and the library takes four megabytes.
  const { spawnInGroup } = await import('./spawn.ts');
  if (signal.aborted) throw commandStopped({ argv, secrets, duration: 0 }, signal.reason);
  const shown = maskArgv(argv, secrets);
  access.onCommand?.({ type: 'command.started', argv: shown });
  const running = spawnInGroup({
    argv: [...access.prefix, ...lock, ...argv],
    env: cleanEnvironment(access.environment, options.env),
    hasInput: input !== undefined,
    onLine: options.onLine,
  });
  const feeding = feed(running, input);
  const end = await untilEnd(running, options);
  const { exitCode, duration } = end;
  access.onCommand?.({ type: 'command.finished', argv: shown, exitCode, duration });
  const story: CommandStory = { ...end, argv, secrets };
  const sourceFailure = await feeding;
  if (end.stoppedBy === 'signal') throw commandStopped(story, signal.reason);
  if (end.stoppedBy === 'limit') throw commandTimedOut(story, options.limit);
  if (sourceFailure !== undefined) throw sourceFailure.thrown;
  return answerOf(story, end, options.accept ?? [0]);
}

/** Exit code of `flock` if another process holds the lock; its default, 1, could mean anything. */
export const lockConflict = 75;

/**
 * Words before a command on the host that has to hold a lock until it has ended. `flock` becomes
 * the command, whose children inherit the open file too.
 */
export function lockWords(name: string): readonly string[] {
  if (!/^[\w.-]+$/.test(name)) throw new RangeError(`not the name of a lock file: ${name}`);
  return [
    ...['flock', '--nonblock', '--no-fork', '--conflict-exit-code', String(lockConflict)],
    `/run/lock/${name}`,
  ];
}

async function untilEnd(
  running: RunningProcess,
  { limit, signal, isKillable = false }: ExecOptions,
): Promise<ProcessEnd & { readonly stoppedBy: 'signal' | 'limit' | undefined }> {
  const late = AbortSignal.timeout(limit);
  const stopped = AbortSignal.any([signal, late]);
  const stop = (): Promise<void> => running.stop(isKillable ? 'SIGKILL' : 'SIGTERM');
  const onAbort = (): void => void stop();
  stopped.addEventListener('abort', onAbort, { once: true });
  const end = await running.ended;
  stopped.removeEventListener('abort', onAbort);
  if (!stopped.aborted) return { ...end, stoppedBy: undefined };
  // The leader may be gone while other processes of its group still end.
  await stop();
  return { ...end, stoppedBy: stopped.reason === late.reason ? 'limit' : 'signal' };
}

/** Writes the input. If its source fails, ends the command and resolves with the error. */
async function feed(
  running: RunningProcess,
  input: ExecOptions['input'],
): Promise<{ readonly thrown: unknown } | undefined> {
  if (input === undefined || running.stdin === undefined) return undefined;
  let failure: { readonly thrown: unknown } | undefined;
  const source = async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      if (typeof input === 'string') yield Buffer.from(input);
      else yield* input;
    } catch (thrown) {
      failure = { thrown };
      throw thrown;
    }
  };
  try {
    await pipeline(source(), running.stdin);
  } catch {
    // A command that stopped reading gives the reason in its exit code.
    if (failure !== undefined) await running.stop();
  }
  return failure;
}

function answerOf(
  story: CommandStory,
  end: ProcessEnd,
  accepted: readonly number[],
): CommandResult {
  const { exitCode, stdout, stderr, duration } = end;
  if (end.spawnError === 'ENOENT' || isUnknownProgram(end)) throw commandNotFound(story);
  if (isDeniedEntry(end)) throw noEntry(story, end);
  if (exitCode === undefined || !accepted.includes(exitCode)) {
    throw commandFailed(story, {
      exitCode,
      killedBy: end.killedBy ?? end.spawnError,
    });
  }
  return { exitCode, stdout: stdout.trim(), stderr: stderr.trim(), duration };
}

/**
 * For a missing program, nsenter exits with 127, as a shell does, and flock with 69
 * (`EX_UNAVAILABLE`; util-linux).
 */
const isUnknownProgram = ({ exitCode, stderr }: ProcessEnd): boolean =>
  (exitCode === 127 && /^nsenter: failed to execute /m.test(stderr)) ||
  (exitCode === 69 && /^flock: failed to execute /m.test(stderr));

const isDeniedEntry = ({ exitCode, stderr }: ProcessEnd): boolean =>
  exitCode === 1 && /^nsenter: (?:reassociate to namespace|cannot open)/m.test(stderr);

const noEntry = (story: CommandStory, end: ProcessEnd): Error =>
  hostFailure(
    'command.failed',
    `the namespaces of the host cannot be entered: ${end.stderr.split('\n')[0] ?? ''}`,
    {
      hint: 'start the container with --privileged and --pid=host',
      context: { argv: maskArgv(story.argv, story.secrets).join(' '), stderr: end.stderr },
    },
  );

/** The host's directories of programs; also searched if the container's PATH has fewer. */
const hostPath = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
] as const;

/**
 * The path of a program in this process's PATH. Other directories are not searched, so that the
 * caller's PATH decides which program reaches the host. Returns a path even if the program is
 * missing.
 */
export function ownProgram(
  name: string,
  own: Readonly<Record<string, string | undefined>>,
): string {
  const given = entriesOf(own['PATH']);
  const places = (given.length > 0 ? given : hostPath).map((entry) => join(entry, name));
  return places.find((place) => existsSync(place)) ?? places[0] ?? name;
}

const entriesOf = (path = ''): readonly string[] => path.split(':').filter((entry) => entry !== '');

/**
 * The environment of every command on the host. It is built for each command and never inherited:
 * this process's environment has the service's token, which no child may get (the replaced agent
 * leaked it to each).
 */
export function cleanEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const path = [...entriesOf(own['PATH']), ...hostPath];
  return {
    PATH: [...new Set(path)].join(':'),
    HOME: '/root',
    TERM: 'dumb',
    // The program parses and matches output, so it must not be translated.
    LC_ALL: 'C',
    ...added,
  };
}
