/** The loader and libraries of a program or a library of Linux (elf(5), 64 bits). */
export interface Needs {
  /** The path of the loader; none for a library. */
  readonly loader: string | undefined;
  /** Names such as `libc.so.6`. */
  readonly libraries: readonly string[];
}

const programHeader = { load: 1, dynamic: 2, interpreter: 3 } as const;
const dynamicTag = { needed: 1, strings: 5 } as const;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Reads what an ELF file of any architecture needs. @throws RangeError for another file */
export function needsOf(file: Buffer): Needs {
  if (file.toString('latin1', 0, 5) !== '\x7fELF\x02')
    throw new RangeError('not an ELF file of 64 bits');
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  const isLittle = file[5] === 1;
  const word = (at: number): number => Number(view.getBigUint64(at, isLittle));
  const textAt = (at: number): string => file.toString('latin1', at, file.indexOf(0, at));
  const [first, size] = [word(32), view.getUint16(54, isLittle)];
  const segments = Array.from({ length: view.getUint16(56, isLittle) }, (_, index): Segment => {
    const at = first + index * size;
    const type = view.getUint32(at, isLittle);
    return { type, offset: word(at + 8), address: word(at + 16), size: word(at + 32) };
  });
  const tags = segments
    .filter(({ type }) => type === programHeader.dynamic)
    .flatMap((one) => Array.from({ length: one.size / 16 }, (_, index) => one.offset + index * 16))
    .map((at) => ({ tag: word(at), value: word(at + 8) }));
  const strings = tags.find(({ tag }) => tag === dynamicTag.strings)?.value ?? 0;
  const loaded = segments.find(
    ({ type, address, size }) =>
      type === programHeader.load && strings >= address && strings < address + size,
  );
  const table = strings - (loaded?.address ?? 0) + (loaded?.offset ?? 0);
  const interpreter = segments.find(({ type }) => type === programHeader.interpreter);
  return {
    loader: interpreter && textAt(interpreter.offset),
    libraries: tags
      .filter(({ tag }) => tag === dynamicTag.needed)
      .map(({ value }) => textAt(table + value)),
  };
}
