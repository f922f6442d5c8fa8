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
 * The last lines of a failed command: the failure, its cause if known, and the next action. Line
 * breaks within a message become blanks.
 * @param mask removes secrets before a line is cut
 */
export function failureText(thrown: unknown, mask = (text: string) => text): string {
  const isKnown = thrown instanceof AgentError;
  const { code, hint } = isKnown ? thrown : unknownFailure;
  const why = reasonOf(thrown) ?? (isKnown ? undefined : firstFrame(thrown));
  // A word of the command line may be a URL with a password.
  const said = [
    `failed: ${code}: ${messageOf(thrown)}`,
    ...(why === undefined ? [] : [`why: ${why}`]),
  ];
  const lines = [...said.map((line) => shownText(mask(line))), mask(`next: ${hint}`)];
  return lines.map((line) => `${plainLine(line)}\n`).join('');
}

/** The exit code of a failure: the code of its kind; for an unforeseen error, a bug, 1. */
export const exitCodeOf = (thrown: unknown): number =>
  exitCodes[thrown instanceof AgentError ? thrown.kind : 'bug'];

/** The source line of an unforeseen error: one line has room for no more. */
const firstFrame = (thrown: unknown): string | undefined =>
  thrown instanceof Error ? /^ +(at .*)$/m.exec(thrown.stack ?? '')?.[1] : undefined;

/** Prints a note or a warning of a command as one line on standard error. */
export const printNote = (kind: 'note' | 'warning', text: string): void => {
  printError(`${kind}: ${plainLine(shownText(text))}\n`);
};

/**
 * A stream of the process. If its reader is gone, as with `| head`, or its terminal is closed, the
 * output ends and the work continues. Another write error is reported in one line on standard
 * error, if that still works, and the program ends with an exit code for it.
 */
export function outputStream(name: 'stdout' | 'stderr'): NodeJS.WriteStream {
  const stream = process[name];
  if (stream.listenerCount('error') > 0) return stream;
  return stream.once('error', (cause: NodeJS.ErrnoException) => {
    // Each further write fails in the same way.
    stream.on('error', () => undefined);
    if (cause.code === 'EPIPE' || stream.isTTY || name === 'stderr') return;
    const failure = cliFailure('cli.output-not-written', cause.message);
    printError(`failed: ${failure.code}: ${failure.message}\n`);
    process.exitCode = exitCodeOf(failure);
  });
}

/**
 * Prints the output of a command on standard output, whole, and without control characters for a
 * terminal.
 */
export const print = (text: string): void => {
  outputStream('stdout').write(plainText(text, Infinity));
};

/**
 * Writes binary data to standard output.
 * @throws AgentError `cli.output-not-written` if standard output is a terminal
 */
export function printBytes(bytes: Uint8Array): void {
  if (process.stdout.isTTY)
    throw cliFailure('cli.output-not-written', 'standard output is a terminal', {
      hint: 'write it to a file, or to a program that reads it',
    });
  outputStream('stdout').write(bytes);
}

/** Prints lines about events, each with the present time. */
export function printAt(lines: readonly string[]): void {
  const at = new Date().toISOString();
  for (const line of lines) print(`${at} ${line}\n`);
}

/** Prints the same way on standard error. */
export const printError = (text: string): void => {
  outputStream('stderr').write(plainText(text, Infinity));
};

/** A document for programs. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/** Prints a document for programs. */
export const printJson = (value: unknown): void => print(jsonText(value));

/** A text in single quotes: a shell takes it as one word, whatever it contains. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A word to paste into a shell: in quotes if the shell would interpret a character of it. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuoted(word);

/** Columns of the terminal, or the given number if the output has none: a serial console says 0. */
export const outputWidth = (otherwise: number): number => process.stdout.columns || otherwise;

/** The lines of a text, broken at blanks so that they fit into a width. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = [...lines.slice(-1), word].join(' ');
    if (lines.length > 0 && longer.length <= width) lines.splice(-1, 1, longer);
    else lines.push(word);
  }
  return lines;
}
