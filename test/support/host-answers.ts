import type { Millis } from '../../src/model/duration.ts';
import type { FakeHost } from './fake-host.ts';

/** Stands for any further words of an argv. */
export const rest = Symbol('any further words');

/** Stands for any one word of an argv. */
export const any = Symbol('any one word');

/** An argv, exact, or with `any` for a word and `rest` at its end. */
export type ArgvPattern = readonly (string | typeof any | typeof rest)[];

/** What a fake command leaves behind. */
export interface FakeResult {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** The program does not exist. */
  readonly isMissing?: boolean;
  /** The command never ends by itself. */
  readonly hangs?: boolean;
  /** How long it says it took. */
  readonly duration?: Millis;
}

/** What a dynamic answer is told. */
export interface FakeCall {
  readonly argv: readonly string[];
  readonly host: FakeHost;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
}

/** An answer that depends on the call. Text is its stdout. */
export type DynamicAnswer = (
  argv: readonly string[],
  host: FakeHost,
  call: FakeCall,
) => FakeResult | string | undefined | void | Promise<FakeResult | string | undefined | void>;

/** One line of the command table. */
export interface CommandRow {
  readonly pattern: ArgvPattern;
  readonly answer: DynamicAnswer;
}

/** Whether an argv is what a pattern describes. */
export function matches(pattern: ArgvPattern, argv: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === rest;
  const words = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? argv.length < words.length : argv.length !== words.length) return false;
  return words.every((word, index) => word === any || word === argv[index]);
}

/** A pattern as people read it. */
export const renderPattern = (pattern: ArgvPattern): string =>
  pattern
    .map((word) =>
      word === rest
        ? '…'
        : word === any
          ? '?'
          : /\s/.test(word) || word === ''
            ? `'${word}'`
            : word,
    )
    .join(' ');

/** What a test says of one command. */
export interface Answering {
  /** It ends well with this on stdout, and this on stderr. */
  readonly prints: (stdout: string, stderr?: string) => FakeHost;
  /** It ends well and says nothing. */
  readonly succeeds: () => FakeHost;
  /** It ends with an exit code, this on stderr, and this on stdout. */
  readonly fails: (exitCode: number, stderr?: string, stdout?: string) => FakeHost;
  /** There is no such program. */
  readonly isMissing: () => FakeHost;
  /** It runs until it is stopped or its limit passes. */
  readonly hangs: (stderr?: string) => FakeHost;
  /** The answers of the first call, the second, …; the last one stays. */
  readonly inTurn: (...results: readonly (FakeResult | string)[]) => FakeHost;
  /** It is decided at each call. */
  readonly answers: (answer: DynamicAnswer) => FakeHost;
}

/** Builds the sentence part of `fakeHost().on([...])`. */
export function answering(add: (answer: DynamicAnswer) => FakeHost): Answering {
  return {
    prints: (stdout, stderr = '') => add(() => ({ stdout, stderr })),
    succeeds: () => add(() => ({})),
    fails: (exitCode, stderr = '', stdout = '') => add(() => ({ exitCode, stderr, stdout })),
    isMissing: () => add(() => ({ isMissing: true })),
    hangs: (stderr = '') => add(() => ({ hangs: true, stderr })),
    inTurn: (...results) => {
      let calls = 0;
      return add(() => {
        const result = results[Math.min(calls, results.length - 1)];
        calls += 1;
        return result;
      });
    },
    answers: add,
  };
}
