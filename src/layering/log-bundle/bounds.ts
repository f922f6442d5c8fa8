/** How much may be gathered, in characters. */
export interface Bounds {
  /** Of one piece; the end of a log is what tells why it ended. */
  readonly piece: number;
  /** Of all pieces together. */
  readonly bundle: number;
}

/** What a service is sent with the logs of a host. */
export const usualBounds: Bounds = { piece: 2 ** 20, bundle: 16 * 2 ** 20 };

/** Stands before the end of a text. */
const leftOut = '(what was before this is left out)\n';

/** The end of a text, in whole lines. */
export function endOf(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(text.length - most);
  return `${leftOut}${cut.slice(cut.indexOf('\n') + 1)}`;
}
