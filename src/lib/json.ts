/** The value of a JSON text, or undefined when it is none; whoever asks checks its form anyway. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

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
