import { goBoolean } from '../../config/read-value.ts';
import { lookUpFlag } from './read-flags.ts';

/**
 * Whether a command line asks for help, whatever else is wrong with it: `-h`, `--help`, and either
 * with a true value behind `=`. A word that is the value of another flag asks for nothing.
 */
export function asksHelp(words: readonly string[]): boolean {
  for (let at = 0; at < words.length; at += 1) {
    const [, name, value] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(words[at] ?? '') ?? [];
    if (name === undefined) return false;
    if (name === 'h' || name === 'help') {
      if (goBoolean(value ?? 'true') === true) return true;
    } else if (value === undefined && lookUpFlag(name)?.isBoolean === false) {
      at += 1;
    }
  }
  return false;
}
