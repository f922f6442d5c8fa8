import type { AgentError } from '../../model/failure.ts';
import { renderDuration, type Millis } from '../../model/duration.ts';
import { MASK } from '../../model/secret.ts';
import { hostFailure } from '../../ports/host-failures.ts';

/**
 * The last line of what a command said is in the message; of a longer one, its start and its end.
 */
const longestLine = 400;
const lineStart = 120;
const lineEnd = 270;

/** How much of what a command said on stderr goes into its error, in characters. */
const stderrTail = 2048;

/** A command that did not do what it was asked, as its error shows it. */
export interface CommandStory {
  readonly argv: readonly string[];
  /** Words that must not be shown. */
  readonly secrets?: readonly string[] | undefined;
  readonly duration: Millis;
  readonly stderr?: string;
  readonly stdout?: string;
}

/** Replaces every secret word by the mask, also inside longer words. */
function maskWords(text: string, secrets: readonly string[] | undefined): string {
  return (secrets ?? [])
    .filter((secret) => secret !== '')
    .reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
}

/** An argv as it may be shown. */
export const maskArgv = (
  argv: readonly string[],
  secrets: readonly string[] | undefined,
): readonly string[] => argv.map((word) => maskWords(word, secrets));

/** `command.failed`: the command ended with an exit code that is no answer, or by a signal. */
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

/** `command.stopped`: whoever ran the command stopped it. */
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
 * Programs written in Go say at the start of a line what they did, and at its end why it failed.
 */
const shortened = (line: string): string => `${line.slice(0, lineStart)} … ${line.slice(-lineEnd)}`;
