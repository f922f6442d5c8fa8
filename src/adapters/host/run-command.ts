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

/** A command that began or ended, for whoever watches. */
export type CommandEvent = Extract<
  RunEventBody,
  { readonly type: 'command.started' | 'command.finished' }
>;

/** How commands reach the host. */
export interface HostAccess {
  /** Words before every argv: nsenter and its namespaces. */
  readonly prefix: readonly string[];
  /** Our own environment, of which only PATH is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onCommand: ((event: CommandEvent) => void) | undefined;
}

/**
 * Runs one command on the host to its end; of much output the end alone is kept.
 * @throws AgentError `command.failed`, `command.timed-out`, `command.not-found`, `command.stopped`;
 *   what `input` throws
 */
export async function runHostCommand(
  access: HostAccess,
  { argv, input, ...options }: ExecOptions & { readonly argv: readonly string[] },
): Promise<CommandResult> {
  const { signal, secrets, underLock } = options;
  const lock = underLock === undefined ? [] : lockWords(underLock);
  // A controller runs no command, and its library takes four megabytes.
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

/** What `flock` answers when another holds the lock; its own default 1 could mean anything. */
export const lockConflict = 75;

/**
 * Words before a command on the host that is to hold a lock until it has ended. `flock` becomes the
 * command, whose children inherit the open file too.
 */
export function lockWords(name: string): readonly string[] {
  if (!/^[\w.-]+$/.test(name)) throw new RangeError(`not the name of a lock file: ${name}`);
  return [
    ...['flock', '--nonblock', '--no-fork', '--conflict-exit-code', String(lockConflict)],
    `/run/lock/${name}`,
  ];
}

/** An end, and the reason where it was ours. */
type CommandEnd = ProcessEnd & { readonly stoppedBy: 'signal' | 'limit' | undefined };

async function untilEnd(
  running: RunningProcess,
  { limit, signal, isKillable = false }: ExecOptions,
): Promise<CommandEnd> {
  const late = AbortSignal.timeout(limit);
  const stopped = AbortSignal.any([signal, late]);
  const stop = (): Promise<void> => running.stop(isKillable ? 'SIGKILL' : 'SIGTERM');
  const onAbort = (): void => void stop();
  stopped.addEventListener('abort', onAbort, { once: true });
  const end = await running.ended;
  stopped.removeEventListener('abort', onAbort);
  if (!stopped.aborted) return { ...end, stoppedBy: undefined };
  // The leader may be gone while others of its group still die.
  await stop();
  return { ...end, stoppedBy: stopped.reason === late.reason ? 'limit' : 'signal' };
}

/** Gives the input; resolves with what the source threw, after ending the command for it. */
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
    // A command that did not read on tells why by its exit code.
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
 * For a program that is not there nsenter answers 127, as a shell does, and flock 69
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

/** Where the host keeps its programs; also searched when the container's PATH names less. */
const hostPath = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
] as const;

/**
 * Where our own PATH has a program. Other directories are not searched, so that whoever gives us a
 * PATH decides which program reaches the host; the answer names a file even where there is none.
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
 * The environment of every command on the host. It is built for each and never inherited: the token
 * of the service is in ours, and must reach no child (the agent being replaced leaked it to each).
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
    // Output is parsed and matched, so it must not be translated.
    LC_ALL: 'C',
    ...added,
  };
}
