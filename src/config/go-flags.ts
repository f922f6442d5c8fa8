import type { AgentError } from '../model/failure.ts';
import { flagFailure, raise, type Refuse } from './failures.ts';

/** One flag of a command line. */
export interface FlagUse {
  readonly name: string;
  /** Undefined for a boolean flag without a value. */
  readonly text: string | undefined;
}

/** A program's rules for its command line. */
interface FlagRules {
  /** Undefined for an unknown flag. */
  readonly lookup: (name: string) => { readonly isBoolean: boolean } | undefined;
  /** Makes the error for an unknown flag. */
  readonly unknown: (name: string) => AgentError;
  /** Takes each mistake; throws the first unless given. */
  readonly refuse?: Refuse;
}

/**
 * Splits a command line by the rules of Go's `flag` package. assisted-installer uses it, and its
 * callers rely on the rules: `-x` is `--x`; a value follows, also after `=`; a boolean takes a
 * value only after `=`; the first word that is not a flag, or `--`, ends the flags and begins the
 * rest.
 * @throws AgentError `cli.bad-flag`, or the error of `unknown`
 */
export function scanFlags(
  argv: readonly string[],
  { lookup, unknown, refuse = raise }: FlagRules,
): { readonly uses: readonly FlagUse[]; readonly rest: readonly string[] } {
  const uses: FlagUse[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    const isFlag = /^-(?:[^-]|-.)/s.test(word);
    if (!isFlag) return { uses, rest: argv.slice(word === '--' ? at + 1 : at) };
    const [, name, value] = flagWord.exec(word) ?? [];
    if (name === undefined) {
      refuse(flagFailure('cli.bad-flag', `flag ${word}: the name is missing`));
      continue;
    }
    const flag = lookup(name);
    const next = argv[at + 1];
    if (flag === undefined) {
      refuse(unknown(name));
      // The next word is likely the value of this flag.
      if (value === undefined && next?.startsWith('-') === false) at += 1;
    } else if (value !== undefined || flag.isBoolean) {
      uses.push({ name, text: value });
    } else if (next === undefined) {
      const hint = `write ${flagName(name)} VALUE or ${flagName(name)}=VALUE`;
      refuse(flagFailure('cli.bad-flag', `flag ${flagName(name)}: the value is missing`, { hint }));
    } else {
      uses.push({ name, text: next });
      at += 1;
    }
  }
  return { uses, rest: [] };
}

/** Matches a word that is a flag: its name, and its value if it has one. */
const flagWord = /^--?([^-=][^=]*)(?:=(.*))?$/s;

/** A flag as users write it: `-r`, `--role`. */
export const flagName = (name: string): string => (name.length === 1 ? `-${name}` : `--${name}`);
