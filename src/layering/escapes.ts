import { type Document, Scalar, visit } from 'yaml';
import type { Value } from './schema/schema.ts';

/** What is wrong with an escape that names half of a character: no text can hold it. */
export const HALF_CHARACTER = String.raw`a text has half of a character, an escape of \ud800 to \udfff: write the character itself`;

/** No object of a cluster comes near it. */
const DEEPEST = 1_000;
/** What is wrong with an object that no program can follow to its end. */
export const TOO_DEEP = 'it is nested too deeply, or in itself';

const EMPTY_LINE =
  'behind an escaped line break stands an empty line, which programs read in different ways: write \\n';

/** Half of a character, even where the other half follows: only JSON writes a character by both. */
const HALF = /(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/;
const ESCAPED_BREAK = /(?<!\\)(?:\\\\)*\\\n[ \t]*\n/;

/** Something that is wrong with an escape in double quotes. */
interface EscapeFlaw {
  readonly offset: number;
  readonly problem: string;
}

/** An escape of YAML that Go's YAML refuses, or reads in another way. */
export function escapeFlawIn(document: Document.Parsed, text: string): EscapeFlaw | undefined {
  let found: EscapeFlaw | undefined;
  visit(document, {
    Scalar: (_, { type, range }) => {
      if (type !== Scalar.QUOTE_DOUBLE || range === undefined || range === null) return undefined;
      found = flawIn(text.slice(range[0], range[1]), range[0]);
      return found === undefined ? undefined : visit.BREAK;
    },
  });
  return found;
}

function flawIn(quoted: string, start: number): EscapeFlaw | undefined {
  const half = HALF.exec(quoted);
  if (half !== null) return { offset: start + half.index, problem: HALF_CHARACTER };
  const empty = ESCAPED_BREAK.exec(quoted);
  return empty === null ? undefined : { offset: start + empty.index, problem: EMPTY_LINE };
}

/**
 * Where a text or the name of a member has half of a character.
 * @throws RangeError for what is too deep, as where an alias leads into itself
 */
export const halfInValue = (value: Value): readonly string[] | undefined => below(value, []);

function below(value: Value, path: readonly string[]): readonly string[] | undefined {
  if (path.length > DEEPEST) throw new RangeError(TOO_DEEP);
  if (typeof value === 'string') return value.isWellFormed() ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const deeper = [...path, key];
    const found = key.isWellFormed() ? below(member, deeper) : deeper;
    if (found !== undefined) return found;
  }
  return undefined;
}
