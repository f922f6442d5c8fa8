/** Maximum length of a text from outside that is shown whole. */
const longest = 16_384;

/** Control sequences of a terminal: colours, cursor movement (ECMA-48, 5.4). */
// oxlint-disable-next-line no-control-regex
const steering = /\u001b\[[\d;?]{0,32}[A-Za-z]/g;

/**
 * A text from outside that is safe to show: without control sequences of a terminal and characters
 * that reverse or hide text, and cut. Keeps line feeds and tabs. Mask secrets first: half a secret
 * would not be found again.
 * @param most maximum length of the result
 */
export function plainText(text: string, most = longest): string {
  // Text after the cut is not examined.
  const plain = text
    .slice(0, 4 * most)
    .replaceAll('\r\n', '\n')
    .replaceAll(steering, '')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[^\P{Cc}\n\t]|[\u2028\u2029]/gu, ' ')
    .toWellFormed();
  return plain.length <= most ? plain : `${plain.slice(0, most - 1).toWellFormed()}…`;
}

/** The same safe text in one line. */
export const plainLine = (text: string, most?: number): string =>
  plainText(text, most)
    .split(/[\n\t]/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join(' ');

/** A value of texts, lists and plain objects, with `show` applied to each text. */
export function withTexts(value: unknown, show: (text: string) => string): unknown {
  if (typeof value === 'string') return show(value);
  if (Array.isArray(value)) return value.map((one: unknown) => withTexts(one, show));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) => [name, withTexts(one, show)]),
  );
}
