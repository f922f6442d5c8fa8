/** A file for a tar archive. */
export interface TarFile {
  /** At most 100 bytes. */
  readonly name: string;
  readonly content: Uint8Array;
  readonly mode: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

const block = 512;

/** Where the fields of a header begin, and how long they are (POSIX.1-1988, ustar). */
const places = {
  name: [0, 100],
  mode: [100, 8],
  user: [108, 8],
  group: [116, 8],
  size: [124, 12],
  modified: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
} as const satisfies Readonly<Record<string, readonly [from: number, length: number]>>;

/**
 * A tar archive with one file in it.
 * @throws RangeError when the name is longer than 100 bytes
 */
export function tarOf({ name, content, mode, modifiedAt }: TarFile): Uint8Array {
  const header = new Uint8Array(block);
  const put = (place: keyof typeof places, text: string): void => {
    const [from, length] = places[place];
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > length) throw new RangeError(`${place} of a tar entry is too long`);
    header.set(bytes, from);
  };
  const putNumber = (place: keyof typeof places, value: number): void =>
    put(place, `${value.toString(8).padStart(places[place][1] - 1, '0')}\0`);
  put('name', name);
  putNumber('mode', mode);
  putNumber('user', 0);
  putNumber('group', 0);
  putNumber('size', content.length);
  putNumber('modified', Math.floor(modifiedAt / 1000));
  put('type', '0');
  put('magic', 'ustar\x0000');
  // The checksum is that of a header in which it is eight spaces.
  put('checksum', ' '.repeat(8));
  const sum = header.reduce((total, byte) => total + byte, 0);
  put('checksum', `${sum.toString(8).padStart(6, '0')}\0 `);
  const end = 2 * block;
  const padded = Math.ceil(content.length / block) * block;
  const archive = new Uint8Array(block + padded + end);
  archive.set(header);
  archive.set(content, block);
  return archive;
}
