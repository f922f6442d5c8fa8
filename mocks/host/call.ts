import type { Machine } from './machine.ts';

/** One command that reached a simulated host. */
export interface Call {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What the caller writes to the command. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Aborted when the command is stopped by a signal or its caller has gone. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** What stands for one program of the host; gives its exit code. */
export type Program = (machine: Machine, call: Call) => number | Promise<number>;

/** Programs by name. */
export type Programs = Readonly<Record<string, Program>>;

/** Stands for a program that the hosts do not have: ends as nsenter does then. */
export const absent: Program = (_machine, call) =>
  fail(call, `nsenter: failed to execute ${call.argv[0] ?? ''}: No such file or directory`, 127);

/** Ends a program with a message on stderr. */
export function fail(call: Call, message: string, exitCode = 1): number {
  call.err(`${message}\n`);
  return exitCode;
}
