import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  Scalar,
  type Document,
  type Node,
} from 'yaml';
import { layeringFailure } from './failures.ts';
import { isMembers, type Members } from './schema/schema.ts';

/** An object as it was read, with where its parts stand. */
export interface SourceObject {
  readonly value: Members;
  /** `FILE:LINE` of a part, or of the nearest thing around it that is there. */
  readonly place: (path: Path) => string;
  /**
   * `FILE:LINE` of a line, from 1, of a text. Only a literal block keeps the lines of its text; of another style
   * it is the place of the text.
   */
  readonly placeInText: (path: Path, line: number) => string;
}

/** Members and indexes from the top of an object. */
export type Path = readonly (string | number)[];

/** A text that was read. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const LONG = 65_536;

/**
 * The objects of a file of YAML documents, or of one in JSON. Words are read as kubectl reads them: `on` and `yes`
 * are true, and times are strings.
 * @throws AgentError `layering.malformed-file`, and `layering.wrong-object` for a document that is no object
 */
export function readObjects({ path, text }: SourceFile): readonly SourceObject[] {
  // The parser that knows lines takes seconds for a rendered MachineConfig of a real cluster.
  const isLong = text.length > LONG && text.trimStart().startsWith('{');
  const asJson = isLong ? parsedJson(text) : undefined;
  if (asJson !== undefined) return [lineless(asJson, path)];
  const lines = new LineCounter();
  const at: At = (offset, down = 0) => `${path}:${lines.linePos(offset).line + down}`;
  const documents = parseAllDocuments(text, {
    version: '1.1',
    lineCounter: lines,
    prettyErrors: false,
    customTags: (tags) =>
      tags.filter(
        (tag) =>
          typeof tag === 'string' || (tag.format !== 'TIME' && !tag.tag.endsWith('timestamp')),
      ),
  });
  return (Array.isArray(documents) ? documents : [])
    .filter((document) => document.errors.length > 0 || !isEmpty(document.contents))
    .map((document) => sourceOf(document, at));
}

const isEmpty = (contents: unknown): boolean =>
  contents === null || (isScalar(contents) && contents.value === null);

/** An object that was not read from lines. */
export const lineless = (value: Members, path: string): SourceObject => ({
  value,
  place: () => `${path}:1`,
  placeInText: () => `${path}:1`,
});

type At = (offset: number, down?: number) => string;

function sourceOf(document: Document.Parsed, at: At): SourceObject {
  const [error] = document.errors;
  if (error !== undefined) {
    throw layeringFailure('layering.malformed-file', `${at(error.pos[0])}: ${error.message}`);
  }
  const value = document.toJS() as Members[string];
  const start = document.contents?.range[0] ?? 0;
  if (!isMembers(value)) {
    throw layeringFailure('layering.wrong-object', `${at(start)}: an object is expected`);
  }
  const place = (path: Path): string => at(offsetOf(document, path) ?? start);
  const placeInText = (path: Path, line: number): string => {
    const node: unknown = document.getIn(path, true);
    const isLiteral = isScalar(node) && node.type === Scalar.BLOCK_LITERAL;
    const header = isLiteral ? node.range?.[0] : undefined;
    return header === undefined ? place(path) : at(header, line);
  };
  return { value, place, placeInText };
}

/** Where the key of the deepest part of the path stands that is there. */
function offsetOf(document: Document.Parsed, path: Path): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const segment of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(key) === String(segment));
      if (pair === undefined) return offset;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(segment)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    }
  }
  return offset;
}

function parsedJson(text: string): Members | undefined {
  try {
    const value = JSON.parse(text) as Members[string];
    return isMembers(value) ? value : undefined;
  } catch {
    // YAML's flow style begins the same way, and its parser knows the line.
    return undefined;
  }
}
