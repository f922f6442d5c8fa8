/** An element of DER (X.690): a tag, a length, and what lies in it. */
export interface Element {
  /** With its class and the bit of what holds elements: 0x30 is a SEQUENCE. */
  readonly tag: number;
  readonly content: Buffer;
  /** With tag and length. */
  readonly whole: Buffer;
}

/** What is in the bytes is no DER, or more or less than is looked for. */
class NotDer extends Error {}

/** From here on a length says how many bytes of length follow; a tag with all lower bits set is a longer one. */
const long = 0x80;
const longTag = 0x1f;
/** Nothing that is read here has a length of more bytes. */
const mostLengthBytes = 3;

/**
 * The elements that fill the bytes to their end. A length can be written in one way only.
 * @throws Error for anything else
 */
export function elementsIn(bytes: Buffer): readonly Element[] {
  const found: Element[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const { start, length } = headerOf(rest);
    const end = start + length;
    if (end > rest.length) throw new NotDer('it is cut off');
    const [tag = 0] = rest;
    found.push({ tag, content: rest.subarray(start, end), whole: rest.subarray(0, end) });
    rest = rest.subarray(end);
  }
  return found;
}

function headerOf(bytes: Buffer): { readonly start: number; readonly length: number } {
  const [tag = 0, first = long] = bytes;
  if ((tag & longTag) === longTag) throw new NotDer('a tag of several bytes');
  if (first < long) return { start: 2, length: first };
  const count = first - long;
  if (count === 0 || count > mostLengthBytes || bytes.length < 2 + count)
    throw new NotDer('no length');
  const length = bytes.readUIntBE(2, count);
  const isShortest = length >= long && length >= 2 ** (8 * (count - 1));
  if (!isShortest) throw new NotDer('a length that could be shorter');
  return { start: 2 + count, length };
}

/**
 * The elements of one that must have these tags, each one once and in this order.
 * @throws Error for others
 */
export function membersOf<const T extends readonly number[]>(
  element: Element,
  tags: T,
): { readonly [K in keyof T]: Element } {
  const members = elementsIn(element.content);
  if (members.length !== tags.length || members.some(({ tag }, index) => tag !== tags[index])) {
    throw new NotDer('other members');
  }
  return members as unknown as { readonly [K in keyof T]: Element };
}

/**
 * An object identifier in its usual spelling: `2.5.4.3`.
 * @throws Error for what is none
 */
export function objectIdentifier({ tag, content }: Element): string {
  if (tag !== 0x06 || content.length === 0) throw new NotDer('no object identifier');
  const parts: number[] = [];
  let part = 0;
  let isInside = false;
  for (const byte of content) {
    // No part begins with a zero, and none that matters is longer than what a number holds.
    if ((!isInside && byte === long) || part > 2 ** 40) throw new NotDer('no object identifier');
    part = part * 128 + (byte & 0x7f);
    isInside = byte >= long;
    if (isInside) continue;
    parts.push(part);
    part = 0;
  }
  if (isInside) throw new NotDer('it is cut off');
  const [first = 0, ...others] = parts;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...others].join('.');
}
