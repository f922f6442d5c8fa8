/** What is written: strings, null, lists and mappings. Members that are undefined are left out. */
export type YamlValue =
  string | null | readonly YamlValue[] | { readonly [key: string]: YamlValue | undefined };

/**
 * Writes a value as gopkg.in/yaml.v2 2.4.0 does: keys sorted, lists at the indent of their key,
 * strings in the style that library chooses and folded at 80 columns. Names of builds are hashes of
 * this text, so every byte counts; it is no general writer of YAML.
 */
export function goYaml(value: YamlValue): string {
  const writer = new Writer();
  emit(writer, value, { isMember: false });
  // The end of a document begins a line.
  writer.indent = -1;
  writer.putIndent();
  return writer.text;
}

function emit(
  writer: Writer,
  value: YamlValue,
  { isMember }: { readonly isMember: boolean },
): void {
  if (value === null) {
    writer.putSpace();
    writer.put('null');
    writer.endScalar();
  } else if (typeof value === 'string') {
    indented(writer, deeper(writer.indent, 2), () => writeString(writer, value));
  } else if (isList(value)) {
    emitList(writer, value, isMember);
  } else {
    emitMapping(writer, value);
  }
}

/**
 * Whether a value is a list: the type of `Array.isArray` says nothing of lists that are read only.
 */
export const isList = (value: object): value is readonly YamlValue[] => Array.isArray(value);

const deeper = (indent: number, atTop: number): number => (indent < 0 ? atTop : indent + 2);

function emitList(writer: Writer, items: readonly YamlValue[], isMember: boolean): void {
  if (items.length === 0) {
    writer.putIndicator('[', { needsSpace: true });
    writer.putIndicator(']');
    return;
  }
  const isFlush = isMember && !writer.isIndention && writer.indent >= 0;
  indented(writer, isFlush ? writer.indent : deeper(writer.indent, 0), () => {
    for (const item of items) {
      writer.putIndent();
      writer.putIndicator('-', { needsSpace: true, keepsIndention: true });
      emit(writer, item, { isMember: false });
    }
  });
}

function emitMapping(
  writer: Writer,
  members: Readonly<Record<string, YamlValue | undefined>>,
): void {
  const present = Object.entries(members).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value] as const],
  );
  if (present.length === 0) {
    writer.putIndicator('{', { needsSpace: true });
    writer.putIndicator('}');
    return;
  }
  indented(writer, deeper(writer.indent, 0), () => {
    for (const [key, value] of present.sort(([a], [b]) => (a < b ? -1 : 1))) {
      writer.putIndent();
      writeString(writer, key);
      writer.putIndicator(':');
      emit(writer, value, { isMember: true });
    }
  });
}

function indented(writer: Writer, indent: number, write: () => void): void {
  const outer = writer.indent;
  writer.indent = indent;
  write();
  writer.indent = outer;
}

/** Columns after which a scalar is folded at its next space. */
const WIDTH = 80;

/**
 * What the emitter of yaml.v2 knows of what it has written; every choice of a space or line break
 * hangs on it.
 */
class Writer {
  text = '';
  /** Column of nested content; -1 before the first collection. */
  indent = -1;
  /** What a line holds so far is indentation and signs of block collections only. */
  isIndention = true;
  isWhitespace = true;
  #column = 0;

  put(text: string): void {
    this.text += text;
    this.#column += Array.from(text).length;
  }

  /** A line feed of the document itself, or a line break of the text. */
  putBreak(character = '\n'): void {
    this.text += character;
    this.#column = 0;
  }

  /** Begins a line at the indent, unless it has just begun. */
  putIndent(): void {
    const indent = Math.max(this.indent, 0);
    const isPast = this.#column > indent || (this.#column === indent && !this.isWhitespace);
    if (!this.isIndention || isPast) this.putBreak();
    this.put(' '.repeat(indent - this.#column));
    this.isWhitespace = true;
    this.isIndention = true;
  }

  /** A sign such as `:` or `-`, with a space before it where one is needed. */
  putIndicator(sign: string, { needsSpace = false, keepsIndention = false } = {}): void {
    if (needsSpace) this.putSpace();
    this.put(sign);
    this.isWhitespace = false;
    this.isIndention &&= keepsIndention;
  }

  /** A space, unless the last thing was one. */
  putSpace(): void {
    if (!this.isWhitespace) this.put(' ');
  }

  get isWide(): boolean {
    return this.#column > WIDTH;
  }

  endScalar(): void {
    this.isWhitespace = false;
    this.isIndention = false;
  }
}

function writeString(writer: Writer, text: string): void {
  const characters = Array.from(text);
  switch (scalarStyle(characters)) {
    case 'plain':
      writer.putSpace();
      writeText(writer, characters);
      break;
    case 'single':
      writer.putIndicator("'", { needsSpace: true });
      writeText(writer, characters, { isQuoted: true });
      writer.putIndicator("'");
      break;
    case 'double':
      writeDouble(writer, characters);
      break;
    case 'literal':
      writeLiteral(writer, characters);
      return;
  }
  writer.endScalar();
}

/**
 * Plain text, single quotes and literal blocks; but for these a single space beyond the width
 * becomes a line break.
 */
function writeText(
  writer: Writer,
  characters: readonly string[],
  { isQuoted = false, isLiteral = false } = {},
): void {
  let isAfterBreak = isLiteral;
  for (const [index, character] of characters.entries()) {
    if (!isLiteral && writer.isWide && isFoldable(characters, index, isQuoted)) {
      writer.putIndent();
    } else if (isBreak(character)) {
      writer.putBreak(character);
      writer.isIndention = true;
      isAfterBreak = true;
    } else {
      if (isAfterBreak) writer.putIndent();
      writer.put(isQuoted && character === "'" ? "''" : character);
      writer.isIndention = false;
      isAfterBreak = false;
    }
  }
}

/** A space alone, and within quotes neither the first nor the last character. */
function isFoldable(characters: readonly string[], index: number, isQuoted: boolean): boolean {
  const isInside = !isQuoted || (index > 0 && index < characters.length - 1);
  const isAlone = characters[index - 1] !== ' ' && characters[index + 1] !== ' ';
  return characters[index] === ' ' && isInside && isAlone;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\0': '0',
  '\u0007': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\u001b': 'e',
  '"': '"',
  '\\': '\\',
  '\u0085': 'N',
  '\u00a0': '_',
  '\u2028': 'L',
  '\u2029': 'P',
};

function writeDouble(writer: Writer, characters: readonly string[]): void {
  writer.putIndicator('"', { needsSpace: true });
  // The library looks for a byte order mark at the start of the text, whichever character it is at.
  const isMarked = characters[0] === '\ufeff';
  for (const [index, character] of characters.entries()) {
    if (isMarked || isEscaped(character)) {
      writer.put(`\\${ESCAPES[character] ?? numbered(character)}`);
    } else if (character === ' ') {
      writeQuotedSpace(writer, characters, index);
    } else {
      writer.put(character);
    }
  }
  writer.putIndicator('"');
}

/**
 * The first of several spaces may become a line break too; the next is then marked as one of the
 * text.
 */
function writeQuotedSpace(writer: Writer, characters: readonly string[], index: number): void {
  const isInside = index > 0 && index < characters.length - 1;
  if (!isInside || characters[index - 1] === ' ' || !writer.isWide) {
    writer.put(' ');
    return;
  }
  writer.putIndent();
  if (characters[index + 1] === ' ') writer.put('\\');
}

const isEscaped = (character: string): boolean =>
  !isPrintable(character) || isBreak(character) || character === '"' || character === '\\';

function numbered(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const [letter, width] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8];
  return `${letter}${code.toString(16).toUpperCase().padStart(width, '0')}`;
}

function writeLiteral(writer: Writer, characters: readonly string[]): void {
  writer.putIndicator('|', { needsSpace: true });
  const [first] = characters;
  if (first === ' ' || isBreak(first)) writer.putIndicator('2');
  const hint = chomping(characters);
  if (hint !== '') writer.putIndicator(hint);
  writer.putBreak();
  writer.isIndention = true;
  writer.isWhitespace = true;
  writeText(writer, characters, { isLiteral: true });
}

/** What a reader keeps of the line breaks at the end: none, one, all. */
function chomping(characters: readonly string[]): '' | '-' | '+' {
  if (!isBreak(characters.at(-1))) return '-';
  return characters.length === 1 || isBreak(characters.at(-2)) ? '+' : '';
}

/** Line breaks of YAML 1.1: CR, LF, NEL, LS, PS. */
const isBreak = (character: string | undefined): boolean =>
  character !== undefined && /^[\r\n\u0085\u2028\u2029]$/.test(character);

const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t';

const isBlankOrBreak = (character: string | undefined): boolean =>
  isBlank(character) || isBreak(character) || character === '\0';

/**
 * What the library writes as it is. Its ranges end at U+FFFD, so characters beyond the basic plane
 * are escaped, and so are tabs and carriage returns.
 */
function isPrintable(character: string): boolean {
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
 * Whether yaml.v2 (Go, 2.4.0, `resolve.go`) takes an unquoted word for a string, and not for a
 * bool, null, number or time of YAML 1.1. What it would not is written in double quotes.
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

const isClock = (text: string, most: readonly number[]): boolean =>
  text.split(':').every((part, index) => Number(part) <= (most[index] ?? 0));

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day <= (lengths[month - 1] ?? 0);
}

/**
 * The style that yaml.v2 chooses for a string: a literal block for one with line feeds, plain for
 * one that reads back as a string, otherwise double quotes; and where the characters do not allow
 * it, the next stronger one. Single quotes come where only indicators or other line breaks forbid
 * plain.
 * @param characters the code points of the string
 */
function scalarStyle(characters: readonly string[]): 'plain' | 'single' | 'double' | 'literal' {
  const allowed = allowedStyles(characters);
  if (characters.includes('\n')) return allowed.isLiteral ? 'literal' : 'double';
  if (!readsAsString(characters.join(''))) return 'double';
  if (allowed.isPlain) return 'plain';
  return allowed.isSingle ? 'single' : 'double';
}

function allowedStyles(characters: readonly string[]) {
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
