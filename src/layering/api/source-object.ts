import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, Scalar, visit } from 'yaml';
import { memberPath } from '../../ignition/finding.ts';
import { jsonOffsets } from '../../ignition/json.ts';
import { parseYamlStream } from '../../lib/yaml-text.ts';
import { isFields, type Fields, type Value } from './schema.ts';
import {
  sourceFailure,
  isSourceFinding,
  isJson,
  malformed,
  type SourceFile,
  type SourceFinding,
  wrongObject,
  yamlText,
} from './source-text.ts';
import { jsonIn } from '../../lib/json.ts';

export type { SourceFile } from './source-text.ts';

/** An object as it was read, with the lines of its parts. */
export interface SourceObject {
  readonly value: Fields;
  /**
   * `FILE:LINE`, or `FILE:LINE:COLUMN` where that was asked for, of a part, or of the nearest
   * existing part around it.
   */
  readonly place: (path: Path) => string;
  /**
   * `FILE:LINE` of a line, from 1, of a text. Only a literal block keeps the lines of its text; of
   * another style it is the place of the text.
   */
  readonly placeInText: (path: Path, line: number) => string;
}

/** Fields and indexes from the top of an object. */
export type Path = readonly (string | number)[];

const LONG = 65_536;

/**
 * The objects of a file of YAML documents, or of one in JSON. Words are read as kubectl reads them:
 * `on` and `yes` are true, and times are strings; so are line breaks.
 * @param wanted what the file should hold, for the message
 * @throws AgentError `layering.malformed-file`, and `layering.wrong-object` for a document that is
 * no object
 */
export const readObjects = (file: SourceFile, wanted?: string): readonly SourceObject[] =>
  readDocuments(file, wanted).map((read) => {
    if (isSourceFinding(read)) throw sourceFailure(read);
    return read;
  });

/**
 * The same, with what cannot be read in its place; `columns` writes each place as
 * `FILE:LINE:COLUMN`.
 */
export function readDocuments(
  file: SourceFile,
  wanted = 'an object',
  { columns = false } = {},
): readonly (SourceObject | SourceFinding)[] {
  const { path } = file;
  // The parser that knows lines takes seconds for a rendered MachineConfig of a real cluster.
  const isLong = file.text.length > LONG && file.text.trimStart().startsWith('{');
  // YAML's flow style begins the same way, and its parser knows the line of what is wrong.
  const asJson = isLong ? jsonIn(file.text) : undefined;
  if (isFields(asJson)) {
    const source = longJson(asJson, file, columns);
    return [textFinding(source) ?? source];
  }
  const text = yamlText(file);
  if (typeof text !== 'string') return [text];
  const lines = new LineCounter();
  // What is missing at the end is missing in the last line that says something.
  const end = text.trimEnd().length;
  const at: At = (offset, down = 0) => {
    const { line, col } = lines.linePos(Math.min(offset, end));
    return `${path}:${line + down}${columns ? `:${down === 0 ? col : 1}` : ''}`;
  };
  return parseYamlStream(text, { version: '1.1', lineCounter: lines, hasAliases: true })
    .filter((document) => document.errors.length > 0 || !isEmpty(document.contents))
    .map((document) => {
      const finding = isJson(text) ? undefined : escapeFindingIn(document, text);
      return finding === undefined
        ? sourceOf(document, { at, wanted })
        : malformed(at(finding.offset), finding.problem);
    });
}

const isEmpty = (contents: unknown): boolean =>
  contents === null || (isScalar(contents) && contents.value === null);

/** An object that was not read from lines. */
export const lineless = (value: Fields, path: string): SourceObject => ({
  value,
  place: () => `${path}:1`,
  placeInText: () => `${path}:1`,
});

/** Its lines are looked for once somebody asks. */
function longJson(value: Fields, { path: file, text }: SourceFile, columns: boolean): SourceObject {
  let offsets: ReadonlyMap<string, number> | undefined;
  const lines = new LineCounter();
  const place = (path: Path): string => {
    if (offsets === undefined)
      for (const { index } of `\n${text}`.matchAll(/\n/g)) lines.addNewLine(index);
    offsets ??= jsonOffsets(text);
    let at = text.length - text.trimStart().length;
    let part = '';
    for (const segment of path) {
      part = memberPath(part, segment);
      at = offsets.get(part) ?? at;
    }
    const { line, col } = lines.linePos(at);
    return `${file}:${line}${columns ? `:${col}` : ''}`;
  };
  return { value, place, placeInText: place };
}

type At = (offset: number, down?: number) => string;

function sourceOf(
  document: Document.Parsed,
  { at, wanted }: { readonly at: At; readonly wanted: string },
): SourceObject | SourceFinding {
  const [error] = document.errors;
  if (error !== undefined) return malformed(at(error.pos[0]), reasonOf(error));
  const start = document.contents?.range[0] ?? 0;
  const place = (path: Path): string => at(offsetOf(document, path) ?? start);
  const placeInText = (path: Path, line: number): string => {
    const node: unknown = document.getIn(path, true);
    const isLiteral = isScalar(node) && node.type === Scalar.BLOCK_LITERAL;
    const header = isLiteral ? node.range?.[0] : undefined;
    return header === undefined ? place(path) : at(header, line);
  };
  try {
    const value = document.toJS({ maxAliasCount: -1 }) as Value;
    if (isFields(value)) {
      const source = { value, place, placeInText };
      return textFinding(source) ?? source;
    }
    const found = Array.isArray(value) ? 'a list' : 'a single word or text';
    return wrongObject(at(start), `${wanted} is expected, and this is ${found}`);
  } catch (thrown) {
    // Aliases of nothing, or of more than fits in memory, are found only when they are followed.
    return malformed(at(start), reasonOf(thrown));
  }
}

/** The parser descends by calling itself. */
function reasonOf(thrown: unknown): string {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return reason.includes('call stack') ? TOO_DEEP : reason;
}

function textFinding({ value, place }: SourceObject): SourceFinding | undefined {
  const path = below(value, []);
  return path === undefined ? undefined : malformed(place(path), HALF_CHARACTER);
}

/** The offset of the key of the deepest existing part of the path. */
function offsetOf(document: Document.Parsed, path: Path): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const segment of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(key) === String(segment));
      if (pair === undefined) return offset;
      offset = (pair.key as Node | null)?.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(segment)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    }
  }
  return offset;
}

/** The problem of an escape for half of a surrogate pair: no text can hold it. */
const HALF_CHARACTER = String.raw`half of a surrogate pair (\ud800 to \udfff): write the character itself`;

/** No object of a cluster is nested as deeply. */
const DEEPEST = 1_000;
const TOO_DEEP = 'it is nested too deeply, or contains itself';

const EMPTY_LINE =
  'an empty line follows an escaped line break, which programs read in different ways: write \\n';

/**
 * Half of a surrogate pair, even where the other half follows: only JSON writes a character by
 * both.
 */
const HALF = /(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/;
const ESCAPED_BREAK = /(?<!\\)(?:\\\\)*\\\n[ \t]*\n/;

interface EscapeFinding {
  readonly offset: number;
  readonly problem: string;
}

/** An escape of YAML that Go's YAML refuses, or reads in another way. */
function escapeFindingIn(document: Document.Parsed, text: string): EscapeFinding | undefined {
  let found: EscapeFinding | undefined;
  visit(document, {
    Scalar: (_, { type, range }) => {
      if (type !== Scalar.QUOTE_DOUBLE || range === undefined || range === null) return undefined;
      found = findingInQuotes(text.slice(range[0], range[1]), range[0]);
      return found === undefined ? undefined : visit.BREAK;
    },
  });
  return found;
}

function findingInQuotes(quoted: string, start: number): EscapeFinding | undefined {
  const half = HALF.exec(quoted);
  if (half !== null) return { offset: start + half.index, problem: HALF_CHARACTER };
  const empty = ESCAPED_BREAK.exec(quoted);
  return empty === null ? undefined : { offset: start + empty.index, problem: EMPTY_LINE };
}

/**
 * The path of a text or a field name with half of a surrogate pair.
 * @throws RangeError for what is too deep, as where an alias leads into itself
 */
function below(value: Value, path: Path): Path | undefined {
  if (path.length > DEEPEST) throw new RangeError(TOO_DEEP);
  if (typeof value === 'string') return value.isWellFormed() ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const deeper = [...path, Array.isArray(value) ? Number(key) : key];
    const found = key.isWellFormed() ? below(member, deeper) : deeper;
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The objects of a file, also those in a List as `oc get -o yaml` prints one, and what of it cannot
 * be read.
 * @param wanted what the file should hold, for the messages
 */
export const readListed = (
  file: SourceFile,
  wanted: string,
): readonly (SourceObject | SourceFinding)[] =>
  readDocuments(file, wanted).flatMap((read) =>
    isSourceFinding(read) ? [read] : unfolded(read, wanted),
  );

function unfolded(source: SourceObject, wanted: string): readonly (SourceObject | SourceFinding)[] {
  const items = itemsOf(source.value);
  if (items === undefined) return [source];
  if (items.length === 0) {
    return [wrongObject(source.place(['items']), `${wanted} is expected, and this List is empty`)];
  }
  return items.flatMap((item, index) => {
    const at = ['items', index] as const;
    if (!isFields(item)) {
      const problem = `${wanted} is expected, and this entry of the List is not an object`;
      return [wrongObject(source.place(at), problem)];
    }
    return unfolded(
      {
        value: item,
        place: (path) => source.place([...at, ...path]),
        placeInText: (path, line) => source.placeInText([...at, ...path], line),
      },
      wanted,
    );
  });
}

/** The items of a List; undefined for another object. */
export function itemsOf({ kind, items }: Fields): readonly Value[] | undefined {
  const isList = typeof kind === 'string' && kind.endsWith('List');
  return isList && Array.isArray(items) ? (items as readonly Value[]) : undefined;
}
