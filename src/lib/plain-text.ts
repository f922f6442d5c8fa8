/** Characters of the longest text from outside that is shown whole. */
const longest = 16_384;

/** What steers a terminal: colours, the place of the cursor (ECMA-48, 5.4). */
// oxlint-disable-next-line no-control-regex
const steering = /\u001b\[[\d;?]{0,32}[A-Za-z]/g;

/**
 * A text from outside as it may be shown: without what steers a terminal, turns or hides letters,
 * and cut. Line feeds and tabs stay. Secrets are masked before: half of one would not be found
 * again.
 * @param most characters of the result
 */
export function plainText(text: string, most = longest): string {
  // What is cut off is not looked at.
  const plain = text
    .slice(0, 4 * most)
    .replaceAll('\r\n', '\n')
    .replaceAll(steering, '')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[^\P{Cc}\n\t]|[\u2028\u2029]/gu, ' ')
    .toWellFormed();
  return plain.length <= most ? plain : `${plain.slice(0, most - 1).toWellFormed()}…`;
}

/** The same in one line. */
export const plainLine = (text: string, most?: number): string =>
  plainText(text, most)
    .split(/[\n\t]/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join(' ');

/** Any value of texts, lists and plain objects with each text as `show` has it. */
export function withTexts(value: unknown, show: (text: string) => string): unknown {
  if (typeof value === 'string') return show(value);
  if (Array.isArray(value)) return value.map((one: unknown) => withTexts(one, show));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) => [name, withTexts(one, show)]),
  );
}
