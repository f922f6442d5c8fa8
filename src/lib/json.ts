import { deepest, elementReader } from './json-elements.ts';

/** A text of this length takes little memory at any depth: a hundred times its length. */
const smallLength = 1024 ** 2;

/**
 * The value of a JSON text; undefined if it is invalid or nested too deeply. The caller checks its
 * form.
 */
export function jsonIn(text: string): unknown {
  try {
    if (text.length > smallLength) elementReader({ name: '', take: () => undefined }).write(text);
    const value = JSON.parse(text) as unknown;
    return isWithin(value, deepest) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isWithin = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((member) => isWithin(member, depth - 1)));

/**
 * Whether an object from the API server contains all that was sent. The server adds members, also
 * in elements of lists, and drops empty values of many fields. It stores a secret's `stringData` as
 * `data`, so such an object never matches.
 */
export function isContained(sent: unknown, found: unknown): boolean {
  if (typeof sent !== 'object' || sent === null)
    return found === sent || (found === undefined && (sent === null || sent === ''));
  if (typeof found !== 'object' || found === null) return Object.keys(sent).length === 0;
  if (Array.isArray(sent) && !(Array.isArray(found) && found.length === sent.length)) return false;
  const members = found as Readonly<Record<string, unknown>>;
  return Object.entries(sent).every(([name, value]) => isContained(value, members[name]));
}
