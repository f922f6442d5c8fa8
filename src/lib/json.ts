import { deepest, elementReader } from './json-elements.ts';

/** As much takes little memory however deeply it is nested: a hundred times its length. */
const smallLength = 1024 ** 2;

/**
 * The value of a JSON text, or undefined when it is none or nested too deeply; whoever asks checks
 * its form anyway.
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
 * Whether an object as the API server has it holds all that was sent: the server adds members, in
 * the elements of lists too, and stores no empty values of many fields. A secret that is sent as
 * `stringData` is stored as `data`: it never does.
 */
export function isContained(sent: unknown, found: unknown): boolean {
  if (typeof sent !== 'object' || sent === null)
    return found === sent || (found === undefined && (sent === null || sent === ''));
  if (typeof found !== 'object' || found === null) return Object.keys(sent).length === 0;
  if (Array.isArray(sent) && !(Array.isArray(found) && found.length === sent.length)) return false;
  const members = found as Readonly<Record<string, unknown>>;
  return Object.entries(sent).every(([name, value]) => isContained(value, members[name]));
}
