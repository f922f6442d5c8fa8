/** The words of a text, split at blanks that are in no quotes. Quotes and escapes are kept. */
export const quotedWords = (text: string): readonly string[] =>
  text.match(/(?:\\[\s\S]|"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?|[^\s"'\\]|\\$)+/g) ?? [];

/** A word without its quotes, and with what its escapes stand for. */
export const withoutQuotes = (word: string): string => expanded(word, new Map());

/** One thing of a word: quotes, an escape, a variable, or plain letters. */
const PIECE =
  /'(?<single>[^']*)'|"(?<double>(?:\\[\s\S]|[^"\\])*)"|\\(?<escaped>[\s\S])|\$\{(?<name>\w+)(?:(?<operator>:?[-+])(?<other>[^}]*))?\}|\$(?<short>[A-Za-z_]\w*)|(?<plain>[\s\S])/g;

/**
 * A word as the builder takes it: without quotes, and with the values of variables. One whose value is not known
 * stays as it is written.
 */
export const expanded = (word: string, variables: ReadonlyMap<string, string>): string =>
  word.replaceAll(PIECE, (piece, ...rest) => {
    const groups = rest.at(-1) as Readonly<Record<string, string | undefined>>;
    const { single, double, escaped, name, short } = groups;
    if (double !== undefined) return expandedInQuotes(double, variables);
    const value = variables.get(name ?? short ?? '');
    return single ?? escaped ?? otherOf(groups, { value, variables }) ?? value ?? piece;
  });

/** What `${NAME:-OTHER}` and `${NAME:+OTHER}` say where the value is not what counts. */
function otherOf(
  { operator, other = '' }: Readonly<Record<string, string | undefined>>,
  {
    value,
    variables,
  }: { readonly value: string | undefined; readonly variables: ReadonlyMap<string, string> },
): string | undefined {
  if (operator === undefined) return undefined;
  const isSet = value !== undefined && (value !== '' || !operator.startsWith(':'));
  if (operator.endsWith('-')) return isSet ? undefined : expanded(other, variables);
  return isSet ? expanded(other, variables) : '';
}

/** In double quotes only a few characters can be escaped, and single quotes mean nothing. */
const expandedInQuotes = (text: string, variables: ReadonlyMap<string, string>): string =>
  text
    .split(/(\\["$\\]|')/)
    .map((part, index) => (index % 2 === 0 ? expanded(part, variables) : part.slice(-1)))
    .join('');

/** Flags that stand before the arguments: `--from=build`. */
const FLAGS = /^(?:--[a-z][^\s"']*(?:"[^"]*"|'[^']*')?\S*(?:\s+|$))+/;

/** An instruction's text behind its flags. */
export const behindFlags = (text: string): string => text.trim().replace(FLAGS, '');

/** The texts of the form with brackets, which is JSON; undefined where it is none and words are meant. */
export function bracketed(text: string): readonly string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const words: unknown = JSON.parse(text);
    const isList = Array.isArray(words) && words.every((word) => typeof word === 'string');
    return isList ? words : undefined;
  } catch {
    return undefined;
  }
}

/** The arguments of an instruction that takes paths, as they are written. */
export function pathArguments(text: string): readonly string[] {
  const behind = behindFlags(text);
  return bracketed(behind) ?? behind.split(/\s+/).filter((word) => word !== '');
}
