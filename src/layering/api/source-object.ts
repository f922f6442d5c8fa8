import { type Document, isMap, isScalar, isSeq, LineCounter, type Node } from 'yaml';
import { isFields, type Fields, type Value } from '../../lib/fields.ts';
import { jsonIn } from '../../lib/json.ts';
import { parseYamlStream } from '../../lib/yaml-text.ts';
import type { AgentError } from '../../model/failure.ts';
import { layeringFailure } from '../failures.ts';

/** A mistake at one place of a file. */
export interface LintFinding {
  /** `FILE:LINE`. */
  readonly place: string;
  readonly severity: 'error' | 'warning';
  /** The violated rule, for MachineConfigs. */
  readonly rule?: string;
  /** The mistake, and the text that corrects it. */
  readonly message: string;
}

/** The reason why a file, or one of its documents, cannot be read. */
export interface SourceFinding extends LintFinding {
  readonly code: 'layering.malformed-file' | 'layering.wrong-object';
}

const findingOf =
  (code: SourceFinding['code']) =>
  (place: string, message: string): SourceFinding => ({ code, place, severity: 'error', message });

/** A finding about text that no parser can read. */
export const malformed = findingOf('layering.malformed-file');

/** A finding about an object of another kind. */
export const wrongObject = findingOf('layering.wrong-object');

/** Whether the result of reading is a finding and not an object. */
export const isSourceFinding = (read: object): read is SourceFinding => 'severity' in read;

/** The finding as an error, for callers that need the whole file. */
export const sourceFailure = ({ code, place, message }: SourceFinding): AgentError =>
  layeringFailure(code, `${place}: ${message}`);

/** Path and text of a file. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The text of a file, if it is UTF-8. A byte order mark at its start is removed.
 * @param wanted the expected content, for the message
 */
export function decodeSource(
  path: string,
  bytes: Uint8Array,
  wanted = 'a text',
): SourceFile | SourceFinding {
  const isBinary = bytes.includes(0);
  try {
    if (!isBinary) return { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    // Handled below.
  }
  const what = isBinary ? 'binary' : 'not UTF-8';
  return malformed(`${path}:1`, `${wanted} is expected, in UTF-8, and this file is ${what}`);
}

/** An object that was read from a file, with the lines of its parts. */
export interface SourceObject {
  readonly value: Fields;
  /**
   * `FILE:LINE`, or `FILE:LINE:COLUMN` on request, of a part or of its nearest existing ancestor.
   */
  readonly place: (path: Path) => string;
}

/** Fields and indexes from the top of an object. */
export type Path = readonly (string | number)[];

const LONG = 65_536;

/**
 * The objects of a file of YAML documents, or of a JSON file. Scalars are read as kubectl reads
 * them: `on` and `yes` are true, and times are strings. Line breaks follow Go's YAML too.
 * @param wanted the expected content, for the message
 * @throws AgentError `layering.malformed-file`, and `layering.wrong-object` for a document that is
 * not an object
 */
export const readObjects = (file: SourceFile, wanted?: string): readonly SourceObject[] =>
  readDocuments(file, wanted).map((read) => {
    if (isSourceFinding(read)) throw sourceFailure(read);
    return read;
  });

/**
 * The same, with a finding in place of each unreadable document. `columns` writes each place as
 * `FILE:LINE:COLUMN`.
 */
export function readDocuments(
  file: SourceFile,
  wanted = 'an object',
  { columns = false } = {},
): readonly (SourceObject | SourceFinding)[] {
  // The parser with line numbers takes seconds for a rendered MachineConfig of a real cluster.
  const isLong = file.text.length > LONG && file.text.trimStart().startsWith('{');
  // YAML's flow style also begins with a brace, and the YAML parser reports the line of a mistake.
  const value = isLong ? jsonIn(file.text) : undefined;
  if (!isFields(value)) return readLines(file, wanted, columns);
  let read: SourceObject | SourceFinding | undefined;
  const place = (path: Path): string => {
    [read] = read === undefined ? readLines(file, wanted, columns) : [read];
    return read !== undefined && !isSourceFinding(read) ? read.place(path) : `${file.path}:1`;
  };
  return [{ value, place }];
}

function readLines(
  file: SourceFile,
  wanted: string,
  columns: boolean,
): readonly (SourceObject | SourceFinding)[] {
  // Line ends of Go's YAML.
  const text = file.text.replaceAll(/\r\n|[\r\u0085]/g, '\n');
  const lines = new LineCounter();
  // A missing end is reported in the last line with content.
  const end = text.trimEnd().length;
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(Math.min(offset, end));
    return `${file.path}:${line}${columns ? `:${col}` : ''}`;
  };
  return parseYamlStream(text, { version: '1.1', lineCounter: lines, hasAliases: true })
    .filter((document) => document.errors.length > 0 || !isEmpty(document.contents))
    .map((document) => sourceOf(document, { at, wanted }));
}

const isEmpty = (contents: unknown): boolean =>
  contents === null || (isScalar(contents) && contents.value === null);

/** An object without line numbers. */
export const lineless = (value: Fields, path: string): SourceObject => ({
  value,
  place: () => `${path}:1`,
});

function sourceOf(
  document: Document.Parsed,
  { at, wanted }: { readonly at: (offset: number) => string; readonly wanted: string },
): SourceObject | SourceFinding {
  const [error] = document.errors;
  if (error !== undefined) return malformed(at(error.pos[0]), reasonOf(error));
  const start = document.contents?.range[0] ?? 0;
  const place = (path: Path): string => at(offsetOf(document, path) ?? start);
  try {
    const value = document.toJS({ maxAliasCount: -1 }) as Value;
    if (isFields(value)) return { value, place };
    const found = Array.isArray(value) ? 'a list' : 'a single word or text';
    return wrongObject(at(start), `${wanted} is expected, and this is ${found}`);
  } catch (thrown) {
    // Aliases without an anchor, or that expand beyond the memory, are found only when they are
    // resolved.
    return malformed(at(start), reasonOf(thrown));
  }
}

/** The parser is recursive: deep nesting overflows its stack. */
function reasonOf(thrown: unknown): string {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return reason.includes('call stack') ? 'it is nested too deeply' : reason;
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

/**
 * The objects of a file, with the items of a List as `oc get -o yaml` prints one, and findings for
 * the unreadable parts.
 * @param wanted the expected content, for the messages
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
