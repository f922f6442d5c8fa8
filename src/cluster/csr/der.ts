/** An element of DER (X.690): a tag, a length, and what lies in it. Ten thousand requests have a million of them. */
export class Element {
  /** With its class and the bit of what holds elements: 0x30 is a SEQUENCE. */
  readonly tag: number;
  readonly #bytes: Buffer;
  readonly #from: number;
  readonly #start: number;
  readonly #end: number;

  constructor(bytes: Buffer, from: number, { start, end }: Bounds) {
    this.tag = bytes[from] ?? 0;
    this.#bytes = bytes;
    this.#from = from;
    this.#start = start;
    this.#end = end;
  }

  get content(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** With tag and length. */
  get whole(): Buffer {
    return this.#bytes.subarray(this.#from, this.#end);
  }

  /**
   * What it holds, to its end.
   * @throws Error where that is no DER
   */
  get members(): readonly Element[] {
    return elementsBetween(this.#bytes, this.#start, this.#end);
  }
}

/** Where the content of an element is. */
interface Bounds {
  readonly start: number;
  readonly end: number;
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
export const elementsIn = (bytes: Buffer): readonly Element[] =>
  elementsBetween(bytes, 0, bytes.length);

function elementsBetween(bytes: Buffer, from: number, end: number): readonly Element[] {
  const found: Element[] = [];
  for (let next = from; next < end;) {
    const bounds = boundsOf(bytes, next, end);
    found.push(new Element(bytes, next, bounds));
    next = bounds.end;
  }
  return found;
}

function boundsOf(bytes: Buffer, from: number, last: number): Bounds {
  if (from + 2 > last) throw new NotDer('it is cut off');
  if (((bytes[from] ?? 0) & longTag) === longTag) throw new NotDer('a tag of several bytes');
  const first = bytes[from + 1] ?? long;
  const count = first < long ? 0 : first - long;
  const start = from + 2 + count;
  if (first === long || count > mostLengthBytes || start > last) throw new NotDer('no length');
  const length = count === 0 ? first : longLength(bytes, from + 2, count);
  if (start + length > last) throw new NotDer('it is cut off');
  return { start, end: start + length };
}

function longLength(bytes: Buffer, at: number, count: number): number {
  const length = bytes.readUIntBE(at, count);
  const isShortest = length >= long && length >= 2 ** (8 * (count - 1));
  if (!isShortest) throw new NotDer('a length that could be shorter');
  return length;
}

/**
 * The elements of one that holds elements of this tag alone.
 * @throws Error for others
 */
export function membersEachOf(element: Element, tag: number): readonly Element[] {
  const { members } = element;
  if (members.some((member) => member.tag !== tag)) throw new NotDer('other members');
  return members;
}

/**
 * The elements of one that must have these tags, each one once and in this order.
 * @throws Error for others
 */
export function membersOf<const T extends readonly number[]>(
  element: Element,
  tags: T,
): { readonly [K in keyof T]: Element } {
  const { members } = element;
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
