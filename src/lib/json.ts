import { deepest, elementReader } from './json-elements.ts';

/** As much takes little memory however deeply it is nested: a hundred times its length. */
const smallLength = 1024 ** 2;

/** The value of a JSON text, or undefined when it is none or nested too deeply; whoever asks checks its form anyway. */
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

/** Whether a value holds all that was wanted; the API server adds what it has defaults for. */
export function isContained(wanted: unknown, found: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((value, index) => isContained(value, found[index]))
    );
  }
  if (typeof wanted !== 'object' || wanted === null) return wanted === found;
  if (typeof found !== 'object' || found === null) return false;
  const members = found as Readonly<Record<string, unknown>>;
  return Object.entries(wanted).every(([name, value]) => isContained(value, members[name]));
}
