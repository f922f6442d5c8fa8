/** The value of a JSON text, or undefined when it is none; whoever asks checks its form anyway. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
