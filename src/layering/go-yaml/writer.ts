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
