import { isBlank, isBlankOrBreak, isBreak, isPrintable } from './characters.ts';
import { readsAsString } from './reads-as-string.ts';

/** How a string is written. */
export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal';

/**
 * The style that yaml.v2 chooses for a string: a literal block for one with line feeds, plain for one that
 * reads back as a string, otherwise double quotes; and where the characters do not allow it, the next
 * stronger one. Single quotes come where only indicators or other line breaks forbid plain.
 * @param characters the code points of the string
 */
export function scalarStyle(characters: readonly string[]): ScalarStyle {
  const allowed = allowedStyles(characters);
  if (characters.includes('\n')) return allowed.isLiteral ? 'literal' : 'double';
  if (!readsAsString(characters.join(''))) return 'double';
  if (allowed.isPlain) return 'plain';
  return allowed.isSingle ? 'single' : 'double';
}

interface Allowed {
  readonly isPlain: boolean;
  readonly isSingle: boolean;
  readonly isLiteral: boolean;
}

function allowedStyles(characters: readonly string[]): Allowed {
  const isSpecial = characters.some((character) => !isPrintable(character));
  const isBreakThenSpace = characters.some((at, i) => at === ' ' && isBreak(characters[i - 1]));
  const isSpaceThenBreak = characters.some((at, i) => isBreak(at) && characters[i - 1] === ' ');
  const isSingle = !isSpecial && !isBreakThenSpace && !isSpaceThenBreak;
  return {
    isSingle,
    isLiteral: !isSpecial && !isSpaceThenBreak && characters.at(-1) !== ' ',
    isPlain:
      isSingle &&
      !characters.some((character) => isBreak(character)) &&
      characters.at(0) !== ' ' &&
      characters.at(-1) !== ' ' &&
      !hasIndicator(characters),
  };
}

/** Whether a parser would take a part of it for something other than text. */
function hasIndicator(characters: readonly string[]): boolean {
  const start = characters.slice(0, 3).join('');
  if (start === '---' || start === '...') return true;
  return characters.some((character, index) => {
    const next = characters[index + 1];
    const isBeforeBlank = next === undefined || isBlank(next);
    if (index === 0) {
      if ('#,[]{}&*!|>\'"%@`'.includes(character)) return true;
      return '?:-'.includes(character) && isBeforeBlank;
    }
    if (character === ':') return isBeforeBlank;
    return character === '#' && isBlankOrBreak(characters[index - 1]);
  });
}
