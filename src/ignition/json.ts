import { Buffer, isUtf8 } from 'node:buffer';
import { ignitionFailure } from './failures.ts';
import { finding, type Finding, memberPath } from './finding.ts';

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonObject | readonly JsonValue[];
/** A JSON object with the keys of the text. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** A JSON text, parsed, with what is worth knowing about it. */
interface ParsedJson {
  readonly value: JsonValue;
  readonly notes: JsonNotes;
  readonly warnings: readonly Finding[];
}

/** Whether a JSON value is an object. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Parses the JSON of a config. Empty input and a web page are errors of their own.
 * Bytes that are not UTF-8 become replacement characters, as in Go, and are reported.
 *
 * @throws AgentError `ignition.empty`, `ignition.html-page`, `ignition.not-json` (line and column
 * in its context)
 */
export function parseJson(input: Uint8Array | string): ParsedJson {
  const text = typeof input === 'string' ? input : Buffer.from(input).toString('utf8');
  refuseOtherThanJson(text);
  const notes = scanJson(text);
  if ('problem' in notes) throw notJson(notes.line, notes.column, notes.problem);
  const warnings = notes.duplicates.map((path) => finding('duplicate-key', path));
  if (typeof input !== 'string' && !isUtf8(input)) warnings.push(finding('invalid-utf8', ''));
  return { value: JSON.parse(text) as JsonValue, notes, warnings };
}

function refuseOtherThanJson(text: string): void {
  if (text.startsWith('\u{feff}')) throw notJson(1, 1, 'a byte order mark');
  const [first] = text.trimStart();
  if (first === undefined) throw ignitionFailure('ignition.empty', 'ignition config is empty');
  if (first === '<') {
    throw ignitionFailure('ignition.html-page', 'ignition config is an HTML page');
  }
}

function notJson(line: number, column: number, problem: string): Error {
  const what = `ignition config is not JSON: line ${line}, column ${column}: ${problem}`;
  return ignitionFailure('ignition.not-json', what, { context: { line, column, problem } });
}

/** Where the first syntax error is. Lines and columns count from 1, columns in UTF-16 units. */
interface JsonSyntaxProblem {
  readonly line: number;
  readonly column: number;
  /** What is wrong, without quoting the text: it may be secret. */
  readonly problem: string;
}

/** What `JSON.parse` does not report about a text that it accepts. */
interface JsonNotes {
  /** Paths of duplicate keys in an object. */
  readonly duplicates: readonly string[];
  /** Paths of numbers written with a fraction or an exponent; Go takes none for an integer. */
  readonly fractions: ReadonlySet<string>;
}

/** No config is nested deeper, and deeper nesting would exhaust the stack. */
const MAX_DEPTH = 500;

class SyntaxProblem extends Error {
  readonly offset: number;
  constructor(offset: number, problem: string) {
    super(problem);
    this.offset = offset;
  }
}

const blank = /[ \t\n\r]*/uy;
// oxlint-disable-next-line no-control-regex -- JSON requires escaped control characters
const plainCharacters = /[^"\\\u0000-\u001f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/uy;
const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/uy;
const word = /true|false|null/uy;

class Scanner {
  readonly duplicates: string[] = [];
  readonly fractions = new Set<string>();
  /** Where keys and entries begin, by their paths; kept where somebody asks. */
  readonly offsets: Map<string, number> | undefined;
  readonly #text: string;
  #at = 0;

  constructor(text: string, offsets?: Map<string, number>) {
    this.#text = text;
    this.offsets = offsets;
  }

  scan(): void {
    this.#skipBlanks();
    this.#value('', 0);
    this.#skipBlanks();
    if (this.#at < this.#text.length)
      throw new SyntaxProblem(this.#at, 'data after the end of the config');
  }

  #value(path: string, depth: number): void {
    if (depth > MAX_DEPTH) throw new SyntaxProblem(this.#at, 'nesting is too deep');
    const first = this.#text[this.#at];
    if (first === '{') this.#object(path, depth);
    else if (first === '[') this.#array(path, depth);
    else if (first === '"') this.#string();
    else if (this.#take(word) === undefined) this.#number(path);
  }

  #object(path: string, depth: number): void {
    const keys = new Set<string>();
    this.#list('}', 'a key or the end of the object', () => {
      if (this.#text[this.#at] !== '"') throw this.#unexpected('a key in double quotes');
      const start = this.#at;
      this.#string();
      const key = JSON.parse(this.#text.slice(start, this.#at)) as string;
      const member = memberPath(path, key);
      if (keys.has(key)) this.duplicates.push(member);
      keys.add(key);
      this.offsets?.set(member, start);
      this.#skipBlanks();
      if (this.#text[this.#at] !== ':') throw this.#unexpected('a colon');
      this.#at += 1;
      this.#skipBlanks();
      this.#value(member, depth + 1);
    });
  }

  #array(path: string, depth: number): void {
    let index = 0;
    this.#list(']', 'a value or the end of the list', () => {
      const entry = memberPath(path, index);
      this.offsets?.set(entry, this.#at);
      this.#value(entry, depth + 1);
      index += 1;
    });
  }

  #list(end: string, expected: string, member: () => void): void {
    this.#at += 1;
    this.#skipBlanks();
    if (this.#text[this.#at] === end) {
      this.#at += 1;
      return;
    }
    for (;;) {
      if (this.#at >= this.#text.length) throw this.#unexpected(expected);
      member();
      this.#skipBlanks();
      const next = this.#text[this.#at];
      if (next !== ',' && next !== end) throw this.#unexpected(`a comma or ${end}`);
      this.#at += 1;
      if (next === end) return;
      this.#skipBlanks();
    }
  }

  #string(): void {
    this.#at += 1;
    for (;;) {
      this.#take(plainCharacters);
      const next = this.#text[this.#at];
      if (next === '"') break;
      if (next === undefined) throw new SyntaxProblem(this.#at, 'a string does not end');
      if (next !== '\\') throw new SyntaxProblem(this.#at, 'a control character in a string');
      if (this.#take(escape) === undefined) throw new SyntaxProblem(this.#at, 'an unknown escape');
    }
    this.#at += 1;
  }

  #number(path: string): void {
    const match = this.#take(number);
    if (match === undefined) throw this.#unexpected('a value');
    if (match[1] !== undefined || match[2] !== undefined) this.fractions.add(path);
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    return match;
  }

  #skipBlanks(): void {
    this.#take(blank);
  }

  #unexpected(expected: string): SyntaxProblem {
    if (this.#at >= this.#text.length)
      return new SyntaxProblem(this.#at, 'the text ends too early');
    return new SyntaxProblem(this.#at, `${expected} is expected`);
  }
}

/**
 * Reads JSON (RFC 8259) for what `JSON.parse` does not report: where the syntax error is, which
 * keys are duplicates, which numbers are written as fractions. The parser's own message would quote
 * the text.
 */
function scanJson(text: string): JsonSyntaxProblem | JsonNotes {
  const scanner = new Scanner(text);
  try {
    scanner.scan();
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    return { ...textPlace(text, error.offset), problem: error.message };
  }
  return { duplicates: scanner.duplicates, fractions: scanner.fractions };
}

/**
 * Where the keys and entries of a JSON text begin, by their paths: those before its first error. Of
 * a duplicate the last counts.
 */
export function jsonOffsets(text: string): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  try {
    new Scanner(text, offsets).scan();
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
  }
  return offsets;
}

/** The place of an offset. */
function textPlace(
  text: string,
  offset: number,
): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1 };
}
