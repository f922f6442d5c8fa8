import type { Machine } from './machine.ts';

/** A command on a simulated host. */
export interface Call {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Standard input of the command. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Aborted when a signal stops the command or its caller disconnects. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** The stand-in for one program of the host; returns its exit code. */
export type Program = (machine: Machine, call: Call) => number | Promise<number>;

/** Programs by name. */
export type Programs = Readonly<Record<string, Program>>;

/** Stand-in for a program that the hosts do not have: it exits as nsenter does then. */
export const absent: Program = (_machine, call) =>
  fail(call, `nsenter: failed to execute ${call.argv[0] ?? ''}: No such file or directory`, 127);

/** Ends a program successfully with a text on stdout. */
export function print(call: Call, text: string): number {
  call.out(text);
  return 0;
}

/** Ends a program with a message on stderr. */
export function fail(call: Call, message: string, exitCode = 1): number {
  call.err(`${message}\n`);
  return exitCode;
}

/** The arguments of a command, split into options and operands. */
export interface Words {
  /** Whether one of the option's names is present. */
  readonly has: (...names: readonly string[]) => boolean;
  /** Values of an option under any of its names, in order. */
  readonly all: (...names: readonly string[]) => readonly string[];
  /** Operands. */
  readonly rest: readonly string[];
}

/**
 * Splits the arguments of a program. `withValue` names the options that take the next word;
 * `--name=value` works for all.
 */
export function sortWords(words: readonly string[], withValue: readonly string[] = []): Words {
  const options: { readonly name: string; readonly value: string | undefined }[] = [];
  const rest: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const [, name, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    if (name !== undefined) options.push({ name, value });
    else if (!word.startsWith('-') || word === '-' || word === '--') rest.push(word);
    else if (withValue.includes(word)) options.push({ name: word, value: words[(at += 1)] });
    else options.push({ name: word, value: undefined });
  }
  return {
    has: (...names) => options.some(({ name }) => names.includes(name)),
    all: (...names) =>
      options.flatMap(({ name, value }) =>
        names.includes(name) && value !== undefined ? [value] : [],
      ),
    rest: rest.filter((word) => word !== '--'),
  };
}
