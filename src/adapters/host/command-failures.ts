import type { AgentError } from '../../model/failure.ts';
import { renderDuration, type Millis } from '../../model/duration.ts';
import { MASK } from '../../model/secret.ts';
import { hostFailure } from '../../ports/host-failures.ts';

/** The message has the last line of a command's output; of a longer line, its start and its end. */
const longestLine = 400;
const lineStart = 120;
const lineEnd = 270;

/** Maximum characters of stderr in the error of a command. */
const stderrTail = 2048;

/** A failed command, for its error. */
export interface CommandStory {
  readonly argv: readonly string[];
  /** Words that must not appear. */
  readonly secrets?: readonly string[] | undefined;
  readonly duration: Millis;
  readonly stderr?: string;
  readonly stdout?: string;
}

/** Masks every secret word, also inside longer words. */
function maskWords(text: string, secrets: readonly string[] | undefined): string {
  return (secrets ?? [])
    .filter((secret) => secret !== '')
    .reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
}

/** An argv with its secrets masked. */
export const maskArgv = (
  argv: readonly string[],
  secrets: readonly string[] | undefined,
): readonly string[] => argv.map((word) => maskWords(word, secrets));

/** `command.failed`: the command ended by a signal, or with an exit code that is not accepted. */
export function commandFailed(
  story: CommandStory,
  end: { readonly exitCode?: number | undefined; readonly killedBy?: string | undefined },
): AgentError {
  const how =
    end.exitCode === undefined
      ? `was ended by ${end.killedBy ?? 'a signal'}`
      : `ended with exit code ${end.exitCode}`;
  const said = lastWords(story);
  const what = `${programOf(story)} ${how}${said === '' ? '' : `: ${said}`}`;
  return hostFailure('command.failed', what, {
    context: {
      ...contextOf(story),
      ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
      ...(end.killedBy === undefined ? {} : { signal: end.killedBy }),
    },
  });
}

/** `command.not-found`: the host has no such program. */
export const commandNotFound = (story: CommandStory): AgentError =>
  hostFailure('command.not-found', `${programOf(story)} is not on the host`, {
    context: contextOf(story),
  });

/** `command.timed-out`: the limit of the command passed. */
export const commandTimedOut = (story: CommandStory, limit: Millis): AgentError =>
  hostFailure(
    'command.timed-out',
    `${programOf(story)} did not end within ${renderDuration(limit)}`,
    { context: { ...contextOf(story), limit } },
  );

/** `command.stopped`: the caller stopped the command. */
export const commandStopped = (story: CommandStory, reason: unknown): AgentError =>
  hostFailure('command.stopped', `${programOf(story)} was stopped`, {
    context: contextOf(story),
    cause: reason,
  });

const programOf = ({ argv }: CommandStory): string => argv[0] ?? 'an empty command';

function contextOf(story: CommandStory): Record<string, string | number> {
  const stderr = tail(story);
  return {
    argv: maskArgv(story.argv, story.secrets).join(' '),
    duration: story.duration,
    ...(stderr === '' ? {} : { stderr }),
  };
}

const tail = (story: CommandStory): string =>
  maskWords(story.stderr ?? '', story.secrets).slice(-stderrTail);

function lastWords(story: CommandStory): string {
  const said = tail(story) === '' ? maskWords(story.stdout ?? '', story.secrets) : tail(story);
  const last =
    said
      .trim()
      .split(/[\r\n]+/)
      .at(-1) ?? '';
  return last.length <= longestLine ? last : shortened(last);
}

/**
 * Programs in Go print their action at the start of a line, and the cause of the failure at its
 * end.
 */
const shortened = (line: string): string => `${line.slice(0, lineStart)} … ${line.slice(-lineEnd)}`;
