/** The strings of a JSON array, or where the text stops being one; `at` counts characters from 1. */
export type StringArrayRead =
  { readonly items: readonly string[] } | { readonly at: number; readonly expected: string };

const space = /[ \t\n\r]*/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y; // eslint-disable-line no-control-regex -- JSON (RFC 8259) refuses them unescaped

/** Reads a JSON array of strings and nothing else, so that a mistake can be told with its place. */
export function readStringArray(text: string): StringArrayRead {
  const items: string[] = [];
  let at = skipSpace(text, 0);
  if (text[at] !== '[') return missing(at, 'a [ that opens a JSON array');
  at = skipSpace(text, at + 1);
  if (text[at] === ']') return end(text, at + 1, items);
  for (;;) {
    const found = match(string, text, at);
    if (found === undefined) return missing(at, 'a string in double quotes');
    items.push(JSON.parse(found) as string);
    at = skipSpace(text, at + found.length);
    if (text[at] === ']') return end(text, at + 1, items);
    if (text[at] !== ',') return missing(at, 'a comma or a ]');
    at = skipSpace(text, at + 1);
  }
}

const missing = (at: number, expected: string): StringArrayRead => ({ at: at + 1, expected });

function end(text: string, after: number, items: readonly string[]): StringArrayRead {
  const rest = skipSpace(text, after);
  return rest === text.length ? { items } : missing(rest, 'nothing after the array');
}

const skipSpace = (text: string, at: number): number => at + (match(space, text, at)?.length ?? 0);

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
