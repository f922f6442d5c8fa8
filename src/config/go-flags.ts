import type { AgentError } from '../model/failure.ts';
import { flagFailure, raise, readable, type Refuse } from './failures.ts';

/** One flag of a command line. */
export interface FlagUse {
  readonly name: string;
  /** Undefined for a boolean flag without a value. */
  readonly text: string | undefined;
}

/** What a command line says. */
interface FlagScan {
  readonly uses: readonly FlagUse[];
  /** The arguments from the first that is no flag. */
  readonly rest: readonly string[];
}

/** What is known of a flag before it is read; undefined for one that does not exist. */
type FlagLookup = (name: string) => { readonly isBoolean: boolean } | undefined;

/** What a command line is read by. */
interface FlagRules {
  readonly lookup: FlagLookup;
  /** Makes the error for a flag that does not exist. */
  readonly unknown: (name: string) => AgentError;
  /** Takes each mistake; throws the first unless given. */
  readonly refuse?: Refuse;
}

/**
 * Splits a command line by the rules of Go's `flag` package, which assisted-installer uses
 * and which its callers rely on: `-x` is `--x`; a value follows, also after `=`; a boolean
 * takes a value after `=` only; the first word that is no flag, or `--`, ends the flags.
 * @throws AgentError `cli.bad-flag`, or what `unknown` makes
 */
export function scanFlags(argv: readonly string[], rules: FlagRules): FlagScan {
  const uses: FlagUse[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (word === '--') return { uses, rest: argv.slice(at + 1) };
    if (word.length < 2 || !word.startsWith('-')) return { uses, rest: argv.slice(at) };
    const { use, takesNext } = readFlag(word, argv[at + 1], rules);
    if (use !== undefined) uses.push(use);
    if (takesNext) at += 1;
  }
  return { uses, rest: [] };
}

interface ReadFlag {
  /** Undefined for one that was refused. */
  readonly use?: FlagUse;
  readonly takesNext: boolean;
}

function readFlag(
  word: string,
  next: string | undefined,
  { lookup, unknown, refuse = raise }: FlagRules,
): ReadFlag {
  const split = readable(refuse, () => splitFlag(word));
  if (split === undefined) return { takesNext: false };
  const { name, value } = split;
  const flag = lookup(name);
  if (flag === undefined) {
    refuse(unknown(name));
    // What follows is likely its value.
    return { takesNext: value === undefined && next?.startsWith('-') === false };
  }
  if (value !== undefined || flag.isBoolean)
    return { use: { name, text: value }, takesNext: false };
  if (next !== undefined) return { use: { name, text: next }, takesNext: true };
  const hint = `write ${flagName(name)} VALUE or ${flagName(name)}=VALUE`;
  refuse(flagFailure('cli.bad-flag', `flag ${flagName(name)}: the value is missing`, { hint }));
  return { takesNext: false };
}

/** A flag as people write it: `-r`, `--role`. */
export const flagName = (name: string): string => (name.length === 1 ? `-${name}` : `--${name}`);

function splitFlag(word: string): { readonly name: string; readonly value: string | undefined } {
  const body = word.slice(word.startsWith('--') ? 2 : 1);
  if (body === '' || body.startsWith('-') || body.startsWith('=')) {
    throw flagFailure('cli.bad-flag', `flag ${word}: the name is missing`);
  }
  const equals = body.indexOf('=');
  return equals < 0
    ? { name: body, value: undefined }
    : { name: body.slice(0, equals), value: body.slice(equals + 1) };
}
