import { isBreak, isPrintable, scalarStyle } from './strings.ts';

/** Columns after which a scalar is folded at its next space. */
const WIDTH = 80;

/** What the emitter of yaml.v2 knows of what it has written; every choice of a space or line break hangs on it. */
export interface Writer {
  /** Column of nested content; -1 before the first collection. */
  indent: number;
  readonly put: (text: string) => void;
  /** A line feed of the document itself. */
  readonly putBreak: () => void;
  /** A line break of the text. */
  readonly putTextBreak: (character: string) => void;
  /** Begins a line at the indent, unless it has just begun. */
  readonly putIndent: () => void;
  /** A sign such as `:` or `-`, with a space before it where one is needed. */
  readonly putIndicator: (sign: string, then?: Partial<Indicator>) => void;
  /** A space, unless the last thing was one. */
  readonly putSpace: () => void;
  readonly isWide: () => boolean;
  /** What a line holds so far is indentation and signs of block collections only. */
  readonly setIndention: (isIndention: boolean) => void;
  readonly setWhitespace: (isWhitespace: boolean) => void;
  readonly isIndention: () => boolean;
  readonly text: () => string;
}

interface Indicator {
  readonly needsSpace: boolean;
  readonly keepsIndention: boolean;
}

/** An empty document. */
export function openWriter(): Writer {
  const parts: string[] = [];
  let column = 0;
  let isWhitespace = true;
  let isIndention = true;
  const writer: Writer = {
    indent: -1,
    put: (text) => {
      parts.push(text);
      column += Array.from(text).length;
    },
    putBreak: () => {
      parts.push('\n');
      column = 0;
    },
    putTextBreak: (character) => {
      parts.push(character);
      column = 0;
    },
    putIndent: () => {
      const indent = Math.max(writer.indent, 0);
      if (!isIndention || column > indent || (column === indent && !isWhitespace)) {
        writer.putBreak();
      }
      writer.put(' '.repeat(indent - column));
      isWhitespace = true;
      isIndention = true;
    },
    putIndicator: (sign, { needsSpace = false, keepsIndention = false } = {}) => {
      if (needsSpace) writer.putSpace();
      writer.put(sign);
      isWhitespace = false;
      isIndention = isIndention && keepsIndention;
    },
    putSpace: () => {
      if (!isWhitespace) writer.put(' ');
    },
    isWide: () => column > WIDTH,
    setIndention: (is) => {
      isIndention = is;
    },
    setWhitespace: (is) => {
      isWhitespace = is;
    },
    isIndention: () => isIndention,
    text: () => parts.join(''),
  };
  return writer;
}

/** Writes a string in the style that yaml.v2 chooses, folded where a line is longer than 80 columns. */
export function writeString(writer: Writer, text: string): void {
  const characters = Array.from(text);
  switch (scalarStyle(characters)) {
    case 'plain':
      writer.putSpace();
      writeFolding(writer, characters, { isQuoted: false });
      break;
    case 'single':
      writer.putIndicator("'", { needsSpace: true });
      writeFolding(writer, characters, { isQuoted: true });
      writer.putIndicator("'");
      break;
    case 'double':
      writeDouble(writer, characters);
      break;
    case 'literal':
      writeLiteral(writer, characters);
      return;
  }
  writer.setWhitespace(false);
  writer.setIndention(false);
}

/** Writes a word that is no string, such as null. */
export function writeWord(writer: Writer, word: string): void {
  writer.putSpace();
  writer.put(word);
  writer.setWhitespace(false);
  writer.setIndention(false);
}

interface Quoting {
  readonly isQuoted: boolean;
}

/** Plain text and single quotes: a single space beyond the width becomes a line break. */
function writeFolding(writer: Writer, characters: readonly string[], quoting: Quoting): void {
  let isAfterBreak = false;
  for (const [index, character] of characters.entries()) {
    if (character === ' ') {
      if (writer.isWide() && isFoldable(characters, index, quoting)) writer.putIndent();
      else writer.put(' ');
    } else if (isBreak(character)) {
      writer.putTextBreak(character);
      writer.setIndention(true);
      isAfterBreak = true;
    } else {
      if (isAfterBreak) writer.putIndent();
      writer.put(quoting.isQuoted && character === "'" ? "''" : character);
      writer.setIndention(false);
      isAfterBreak = false;
    }
  }
}

/** A space alone, and within quotes neither the first nor the last character. */
function isFoldable(characters: readonly string[], index: number, { isQuoted }: Quoting): boolean {
  const isInside = !isQuoted || (index > 0 && index < characters.length - 1);
  return isInside && characters[index - 1] !== ' ' && characters[index + 1] !== ' ';
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

/** The first of several spaces may become a line break too; the next is then marked as one of the text. */
function writeQuotedSpace(writer: Writer, characters: readonly string[], index: number): void {
  const isInside = index > 0 && index < characters.length - 1;
  if (!isInside || characters[index - 1] === ' ' || !writer.isWide()) {
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
  writer.setIndention(true);
  writer.setWhitespace(true);
  let isAfterBreak = true;
  for (const character of characters) {
    if (isBreak(character)) {
      writer.putTextBreak(character);
      writer.setIndention(true);
      isAfterBreak = true;
    } else {
      if (isAfterBreak) writer.putIndent();
      writer.put(character);
      writer.setIndention(false);
      isAfterBreak = false;
    }
  }
}

/** What a reader keeps of the line breaks at the end: none, one, all. */
function chomping(characters: readonly string[]): '' | '-' | '+' {
  if (!isBreak(characters.at(-1))) return '-';
  return characters.length === 1 || isBreak(characters.at(-2)) ? '+' : '';
}

/** What is written: strings, null, lists and mappings. Members that are undefined are left out. */
export type YamlValue =
  string | null | readonly YamlValue[] | { readonly [key: string]: YamlValue | undefined };

/**
 * Writes a value as gopkg.in/yaml.v2 2.4.0 does: keys sorted, lists at the indent of their key, strings in the
 * style that library chooses and folded at 80 columns. Names of builds are hashes of this text, so every byte
 * counts; it is no general writer of YAML.
 */
export function goYaml(value: YamlValue): string {
  const writer = openWriter();
  emit(writer, value, { isMember: false });
  // The end of a document begins a line.
  writer.indent = -1;
  writer.putIndent();
  return writer.text();
}

function emit(
  writer: Writer,
  value: YamlValue,
  { isMember }: { readonly isMember: boolean },
): void {
  if (value === null) {
    writeWord(writer, 'null');
  } else if (typeof value === 'string') {
    indented(writer, deeper(writer.indent, 2), () => writeString(writer, value));
  } else if (isList(value)) {
    emitList(writer, value, isMember);
  } else {
    emitMapping(writer, value);
  }
}

const isList = (value: object): value is readonly YamlValue[] => Array.isArray(value);

const deeper = (indent: number, atTop: number): number => (indent < 0 ? atTop : indent + 2);

function emitList(writer: Writer, items: readonly YamlValue[], isMember: boolean): void {
  if (items.length === 0) {
    writer.putIndicator('[', { needsSpace: true });
    writer.putIndicator(']');
    return;
  }
  const isFlush = isMember && !writer.isIndention() && writer.indent >= 0;
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
