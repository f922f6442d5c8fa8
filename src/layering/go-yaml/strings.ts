/** Line breaks of YAML 1.1: CR, LF, NEL, LS, PS. */
export const isBreak = (character: string | undefined): boolean =>
  character !== undefined && /^[\r\n\u0085\u2028\u2029]$/.test(character);

/** A space or a tab. */
const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t';

/** A blank, a line break, or NUL. */
const isBlankOrBreak = (character: string | undefined): boolean =>
  isBlank(character) || isBreak(character) || character === '\0';

/**
 * What the library writes as it is. Its ranges end at U+FFFD, so characters beyond the basic plane are
 * escaped, and so are tabs and carriage returns.
 */
export function isPrintable(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0a || (code >= 0x20 && code <= 0x7e)) return true;
  return code >= 0xa0 && code <= 0xfffd && code !== 0xfeff;
}

const WORDS: ReadonlySet<string> = new Set([
  '',
  '~',
  ...['y', 'yes', 'true', 'on', 'n', 'no', 'false', 'off', 'null'].flatMap((word) => [
    word,
    word.toUpperCase(),
    word.charAt(0).toUpperCase() + word.slice(1),
  ]),
  ...['.nan', '.NaN', '.NAN'],
  ...['', '+', '-'].flatMap((sign) => ['.inf', '.Inf', '.INF'].map((word) => sign + word)),
]);

const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
/** Go's ParseFloat reads over underscores that stand between digits, and over no others. */
const STRAY_UNDERSCORE = /(?<![0-9])_|_(?![0-9])/;
const DECIMAL = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * Whether yaml.v2 (Go, 2.4.0, `resolve.go`) takes an unquoted word for a string, and not for a bool, null,
 * number or time of YAML 1.1. What it would not is written in double quotes.
 */
function readsAsString(text: string): boolean {
  if (WORDS.has(text)) return false;
  const [first = ''] = text;
  if (first === '.') return STRAY_UNDERSCORE.test(text) || !isFloat(text.replaceAll('_', ''));
  if (!/[-+0-9]/.test(first)) return true;
  return !isTime(text) && !isNumber(text.replaceAll('_', '')) && !BASE_60.test(text);
}

const isNumber = (plain: string): boolean =>
  isInteger(plain) || isFloat(plain) || isSignedBinary(plain);

/** A number too large for a float is no number. */
const isFloat = (text: string): boolean => DECIMAL.test(text) && Number.isFinite(Number(text));

const INTEGER =
  /^(?<sign>[-+]?)(?:(?:0[xX](?<hex>[0-9a-fA-F]+))|(?:0[bB](?<binary>[01]+))|(?:0[oO]?(?<octal>[0-7]+))|(?<decimal>0|[1-9][0-9]*))$/;

/** As Go's ParseInt and ParseUint with base 0 and 64 bits. */
function isInteger(plain: string): boolean {
  const groups = INTEGER.exec(plain)?.groups;
  if (groups === undefined) return false;
  const { sign = '', hex, binary, octal, decimal } = groups;
  const prefixed = [
    hex === undefined ? undefined : `0x${hex}`,
    binary === undefined ? undefined : `0b${binary}`,
    octal === undefined ? undefined : `0o${octal}`,
    decimal,
  ].find((digits) => digits !== undefined);
  return fits(sign, BigInt(prefixed ?? '0'));
}

/** The library tries binary numbers once more behind their prefix, where a sign may stand. */
function isSignedBinary(plain: string): boolean {
  const groups = /^0b(?<sign>[-+])(?<binary>[01]+)$/.exec(plain)?.groups;
  return groups !== undefined && fits(groups['sign'] ?? '', BigInt(`0b${groups['binary'] ?? '0'}`));
}

function fits(sign: string, magnitude: bigint): boolean {
  if (sign === '-') return magnitude <= 2n ** 63n;
  return magnitude < (sign === '+' ? 2n ** 63n : 2n ** 64n);
}

const TIME =
  /^(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})(?:(?:[Tt](?<clock>\d{1,2}:\d{1,2}:\d{1,2})(?:[.,]\d+)?(?:Z|[-+](?<zone>\d\d:\d\d)))| +(?<local>\d{1,2}:\d{1,2}:\d{1,2})(?:[.,]\d+)?)?$/;

/** The four forms of a time that the library gives to Go's time.Parse. */
function isTime(text: string): boolean {
  const groups = TIME.exec(text)?.groups;
  if (groups === undefined) return false;
  const { year, month, day, clock, local, zone } = groups;
  return (
    isDay(Number(year), Number(month), Number(day)) &&
    isClock(clock ?? local ?? '0:0:0', [23, 59, 59]) &&
    isClock(zone ?? '0:0', [24, 60])
  );
}

/** Whether each part of a clock is at most what it may be. */
const isClock = (text: string, most: readonly number[]): boolean =>
  text.split(':').every((part, index) => Number(part) <= (most[index] ?? 0));

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day <= (lengths[month - 1] ?? 0);
}

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
