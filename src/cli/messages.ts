import { messageOf, reasonOf } from '../engine/failures.ts';
import { plainLine, plainText } from '../lib/plain-text.ts';
import { shownText } from '../lib/shown-url.ts';
import { AgentError, exitCodes } from '../model/failure.ts';
import { cliFailure } from './failures.ts';

const unknownFailure = {
  code: 'run.unexpected',
  hint: 'report this as a bug, with the log',
};

/**
 * The lines that end a failed command: what failed, why where that is known, and what to do next.
 * Line breaks within a message become blanks.
 * @param mask takes secrets out, before a line is cut
 */
export function failureText(thrown: unknown, mask = (text: string) => text): string {
  const isKnown = thrown instanceof AgentError;
  const { code, hint } = isKnown ? thrown : unknownFailure;
  const why = reasonOf(thrown) ?? (isKnown ? undefined : firstFrame(thrown));
  // A word of the command line may be an address with a password.
  const said = [
    `failed: ${code}: ${messageOf(thrown)}`,
    ...(why === undefined ? [] : [`why: ${why}`]),
  ];
  const lines = [...said.map((line) => shownText(mask(line))), mask(`next: ${hint}`)];
  return lines.map((line) => `${plainLine(line)}\n`).join('');
}

/** The exit code of a failure: that of its kind; anything unforeseen is a bug, 1. */
export const exitCodeOf = (thrown: unknown): number =>
  exitCodes[thrown instanceof AgentError ? thrown.kind : 'bug'];

/** Where an unforeseen error was thrown: all that one line has room for. */
const firstFrame = (thrown: unknown): string | undefined =>
  thrown instanceof Error ? /^ +(at .*)$/m.exec(thrown.stack ?? '')?.[1] : undefined;

/** Prints a note or a warning beside the output of a command: a line on standard error. */
export const printNote = (kind: 'note' | 'warning', text: string): void => {
  printError(`${kind}: ${plainLine(shownText(text))}\n`);
};

/**
 * A stream of the process. Where nobody reads it any more, as behind `| head`, the output ends and
 * the work does not; what else stops it is one line, and a code at the end of the program, as far
 * as standard error takes that.
 */
export function outputStream(name: 'stdout' | 'stderr'): NodeJS.WriteStream {
  const stream = process[name];
  if (stream.listenerCount('error') > 0) return stream;
  return stream.once('error', (cause: NodeJS.ErrnoException) => {
    // Each further write fails as this one did.
    stream.on('error', () => undefined);
    if (cause.code === 'EPIPE' || name === 'stderr') return;
    const failure = cliFailure('cli.output-not-written', cause.message);
    printError(`failed: ${failure.code}: ${failure.message}\n`);
    process.exitCode = exitCodeOf(failure);
  });
}

/**
 * Prints what a command was asked for on standard output, whole, and without what steers a
 * terminal.
 */
export const print = (text: string): void => {
  outputStream('stdout').write(plainText(text, Infinity));
};

/**
 * Writes what is no text to standard output.
 * @throws AgentError `cli.output-not-written` where that is a terminal
 */
export function printBytes(bytes: Uint8Array): void {
  if (process.stdout.isTTY)
    throw cliFailure('cli.output-not-written', 'standard output is a terminal', {
      hint: 'write it to a file, or to a program that reads it',
    });
  outputStream('stdout').write(bytes);
}

/** Prints lines of what happens, each with the time of now. */
export function printAt(lines: readonly string[]): void {
  const at = new Date().toISOString();
  for (const line of lines) print(`${at} ${line}\n`);
}

/** The same on standard error. */
export const printError = (text: string): void => {
  outputStream('stderr').write(plainText(text, Infinity));
};

/** A document for programs. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/** Prints a document for programs. */
export const printJson = (value: unknown): void => print(jsonText(value));

/** A text in quotes, as a shell takes it for one word whatever is in it. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * A word as it is pasted into a shell: in quotes where the shell would read more than its letters.
 */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuoted(word);

/** Columns of the terminal; those that are given where the output is none. */
export const outputWidth = (otherwise: number): number =>
  process.stdout.isTTY ? process.stdout.columns : otherwise;

/** The lines of a text that breaks at blanks where it would be longer than a width. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = [...lines.slice(-1), word].join(' ');
    if (lines.length > 0 && longer.length <= width) lines.splice(-1, 1, longer);
    else lines.push(word);
  }
  return lines;
}
