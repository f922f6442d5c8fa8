import { layeringFailure } from '../failures.ts';

/** A text, null, a list of mappings, or a mapping. Members that are undefined are left out. */
export type YamlValue = string | null | readonly YamlMapping[] | YamlMapping;

/** A mapping whose keys are names of Go fields, which never need quotes. */
export interface YamlMapping {
  readonly [key: string]: YamlValue | undefined;
}

/**
 * Writes an object as the operator's YAML library (sigs.k8s.io/yaml over gopkg.in/yaml.v2 2.4.0)
 * does: keys sorted, lists at the indent of their key, texts in the style that the library chooses
 * and folded at 80 columns. The names of builds are hashes of this text, so every byte counts. It
 * is not a general YAML writer.
 * @throws AgentError `layering.no-name` for a text that the library cannot read back
 */
export function goYaml(object: YamlMapping, indent = ''): string {
  return Object.keys(object)
    .toSorted()
    .map((key) => {
      const value = object[key];
      if (value === undefined) return '';
      const head = `${indent}${key}:`;
      if (value === null) return `${head} null\n`;
      if (typeof value === 'string') {
        const text = scalar(throughJson(value), head.length + 1, `${indent}  `);
        return `${head} ${text}${endsWithBreak(text) ? '' : '\n'}`;
      }
      if (!isList(value)) return `${head}\n${goYaml(value, `${indent}  `)}`;
      if (value.length === 0) return `${head} []\n`;
      const items = value.map((item) => {
        const members = goYaml(item, `${indent}  `);
        return `${indent}- ${members === '' ? '{}\n' : members.slice(indent.length + 2)}`;
      });
      return `${head}\n${items.join('')}`;
    })
    .join('');
}

/** The type of `Array.isArray` does not cover read-only lists. */
const isList = (value: object): value is readonly YamlMapping[] => Array.isArray(value);

/** Characters that yaml.v2 refuses in its input and that encoding/json does not escape. */
const REFUSED = /[\u007f-\u0084\u0086-\u009f\ufffe\uffff]|\u0085(?:---|\.\.\.)(?=[ \u0085])/;

/**
 * The text after Go has written it as JSON and read it again as YAML, which the operator's library
 * does first. JSON does not escape NEL (U+0085); YAML reads it as a line break within quotes, drops
 * the spaces around it and folds it. All other text comes back unchanged.
 */
function throughJson(text: string): string {
  const wellFormed = text.toWellFormed();
  const refused = REFUSED.exec(wellFormed);
  if (refused !== null) {
    const code = (refused[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const line = wellFormed.slice(0, refused.index).split('\n').length;
    throw layeringFailure(
      'layering.no-name',
      `the character U+${code} in line ${line} of a text is one that the Machine Config Operator cannot hash`,
      { context: { character: `U+${code}`, line } },
    );
  }
  return wellFormed.replaceAll(/(?<! ) *\u0085[ \u0085]*/g, (run) => {
    const breaks = run.replaceAll(' ', '').length;
    return breaks === 1 ? ' ' : '\n'.repeat(breaks - 1);
  });
}

/**
 * Characters that the library escapes: tabs, carriage returns, NEL, a byte order mark, and every
 * character beyond the basic plane, since its ranges end at U+FFFD.
 */
const ESCAPED = /[^\n\u0020-\u007e\u00a0-\ufefe\uff00-\ufffd]/u;

/** Line breaks of YAML 1.1 that need no escape: LF, LS, PS. */
const BREAK = /[\n\u2028\u2029]/;
const SPACE_THEN_BREAK = / [\n\u2028\u2029]/;
const BREAK_THEN_SPACE = /[\n\u2028\u2029] /;
const endsWithBreak = (text: string): boolean => BREAK.test(text.slice(-1));

/** Text that a parser would read as another token, in whole or in part. */
const INDICATOR = /^(?:---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[?:-](?: |$))|.:(?: |$)| #/;

/**
 * A text in the style that yaml.v2 chooses: a literal block for a text with line feeds, plain for a
 * text that reads back as a string, otherwise double quotes. Where the characters do not allow the
 * style, the next stronger one. Single quotes are for texts in which only indicators or other line
 * breaks forbid plain.
 * @param column number of characters before it in its line
 */
function scalar(text: string, column: number, indent: string): string {
  const isSpecial = ESCAPED.test(text) || SPACE_THEN_BREAK.test(text);
  if (text.includes('\n')) {
    return isSpecial || text.endsWith(' ')
      ? doubleQuoted(text, column, indent)
      : literal(text, indent);
  }
  if (isSpecial || BREAK_THEN_SPACE.test(text) || !readsAsString(text))
    return doubleQuoted(text, column, indent);
  if (!BREAK.test(text) && text === text.replaceAll(/^ | $/g, '') && !INDICATOR.test(text))
    return folded(Array.from(text), column, indent);
  const written = Array.from(text, (character) => (character === "'" ? "''" : character));
  return `'${folded(written, column + 1, indent)}'`;
}

/**
 * A literal block. Its header has the indent if the text begins with a blank, and a mark for the
 * number of last line breaks that count.
 */
function literal(text: string, indent: string): string {
  const start = /^[ \n\u2028\u2029]/.test(text) ? '2' : '';
  const isLongEnd = text.length === 1 || endsWithBreak(text.slice(0, -1));
  const end = !endsWithBreak(text) ? '-' : isLongEnd ? '+' : '';
  const lines = text.replaceAll(/(?<=^|[\n\u2028\u2029])(?=[^\n\u2028\u2029])/g, indent);
  return `|${start}${end}\n${lines}`;
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

function doubleQuoted(text: string, column: number, indent: string): string {
  // The library escapes all characters of a text that begins with a byte order mark.
  const isMarked = text.startsWith('\ufeff');
  const written = Array.from(text, (character) => {
    const isPlain = !ESCAPED.test(character) && !BREAK.test(character) && !/["\\]/.test(character);
    return isPlain && !isMarked ? character : `\\${ESCAPES[character] ?? numbered(character)}`;
  });
  return `"${folded(written, column + 1, indent, true)}"`;
}

function numbered(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const [letter, width] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8];
  return `${letter}${code.toString(16).toUpperCase().padStart(width, '0')}`;
}

/** Column after which a text is folded at its next space. */
const WIDTH = 80;

/**
 * Joins the written characters of a text. A single space beyond the width becomes a
 * line break. In double quotes the first of several spaces does too, and the next one gets a
 * backslash, since it belongs to the text.
 */
function folded(written: readonly string[], start: number, indent: string, isDouble = false) {
  let text = '';
  let column = start;
  const put = (added: string): void => {
    text += added;
    column += Array.from(added).length;
  };
  for (const [index, part] of written.entries()) {
    const next = written[index + 1];
    const isFirst = index === 0 || written[index - 1] === ' ';
    const isLast = next === undefined || (next === ' ' && !isDouble);
    if (part === ' ' && column > WIDTH && !isFirst && !isLast) {
      text += '\n';
      column = 0;
      put(indent);
      if (next === ' ') put('\\');
    } else if (BREAK.test(part)) {
      text += part;
      column = 0;
    } else {
      if (column === 0) put(indent);
      put(part);
    }
  }
  return text;
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
/** Go's ParseFloat ignores underscores between digits, and no others. */
const STRAY_UNDERSCORE = /(?<![0-9])_|_(?![0-9])/;
const DECIMAL = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * Whether yaml.v2 (Go, 2.4.0, `resolve.go`) reads an unquoted word as a string, and not as a bool,
 * null, number or time of YAML 1.1. Other words are written in double quotes.
 */
function readsAsString(text: string): boolean {
  if (WORDS.has(text)) return false;
  if (!/^[-+.0-9]/.test(text)) return true;
  const plain = text.replaceAll('_', '');
  // A number too large for a float is not a number.
  const isFloat = DECIMAL.test(plain) && Number.isFinite(Number(plain));
  if (text.startsWith('.')) return STRAY_UNDERSCORE.test(text) || !isFloat;
  return !isFloat && !isPrefixedInteger(plain) && !BASE_60.test(text) && !isTime(text);
}

/** As Go's ParseInt and ParseUint with base 0 and 64 bits; a sign may follow 0b too. */
function isPrefixedInteger(plain: string): boolean {
  const [, sign, digits = ''] =
    /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+)$/.exec(
      plain.replace(/^0b([-+])/, (_, after: string) => `${after}0b`),
    ) ?? [];
  if (sign === undefined) return false;
  const size = BigInt(digits);
  return sign === '-' ? size <= 2n ** 63n : size < 2n ** (sign === '+' ? 63n : 64n);
}

const CLOCK = String.raw`(?:[01]?\d|2[0-3]):[0-5]?\d:[0-5]?\d(?:[.,]\d+)?`;
const ZONE = String.raw`(?:Z|[-+](?:[01]\d|2[0-4]):(?:[0-5]\d|60))`;
const TIME = new RegExp(
  String.raw`^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt]${CLOCK}${ZONE}| +${CLOCK})?$`,
);

/** The four formats that the library passes to Go's time.Parse. */
function isTime(text: string): boolean {
  const [, year, month, day] = TIME.exec(text) ?? [];
  // Leap years repeat every 400 years; Date maps the years 0 to 99 to other years.
  const date = new Date(Date.UTC(Number(year) + 2000, Number(month) - 1, Number(day)));
  return date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day);
}
