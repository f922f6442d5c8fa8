import { flagFailure } from './failures.ts';

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

/**
 * Splits a command line by the rules of Go's `flag` package, which the agent that is replaced uses
 * and which its callers rely on: `-x` is `--x`; a value follows, also after `=`; a boolean
 * takes a value after `=` only; the first word that is no flag, or `--`, ends the flags.
 * @param unknown makes the error for a flag that does not exist
 * @throws AgentError `cli.bad-flag`, or what `unknown` makes
 */
export function scanFlags(
  argv: readonly string[],
  lookup: FlagLookup,
  unknown: (name: string) => Error,
): FlagScan {
  const uses: FlagUse[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (word === '--') return { uses, rest: argv.slice(at + 1) };
    if (word.length < 2 || !word.startsWith('-')) return { uses, rest: argv.slice(at) };
    const { name, value } = splitFlag(word);
    const flag = lookup(name);
    if (flag === undefined) throw unknown(name);
    if (value !== undefined || flag.isBoolean) {
      uses.push({ name, text: value });
      continue;
    }
    at += 1;
    const next = argv[at];
    if (next === undefined) {
      throw flagFailure('cli.bad-flag', `flag ${flagName(name)}: the value is missing`, {
        hint: `write ${flagName(name)} VALUE or ${flagName(name)}=VALUE`,
      });
    }
    uses.push({ name, text: next });
  }
  return { uses, rest: [] };
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
