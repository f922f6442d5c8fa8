/** One progress line of the writer. It counts the image as it is stored, not bytes on the disk. */
export interface ReadSoFar {
  readonly bytes: number;
  /** Unknown when the server sent no length. */
  readonly totalBytes?: number;
  /** Rounded down, as the writer prints it. */
  readonly percent?: number;
}

const line =
  /^(?:> )?Read \S+ ([\d.]+) ([KMGT]?i?B)(?:\/([\d.]+) ([KMGT]?i?B) \((\d{1,3})(?:\.\d+)?%\))?$/;

/** Powers of 1024, whatever the letters: coreos-installer prints binary units. */
const exponents = ['', 'K', 'M', 'G', 'T'];

/** Reads `Read disk 45.5 MiB/113.7 MiB (40%)` of coreos-installer 0.16 to 0.26. */
export function parseWriterLine(text: string): ReadSoFar | undefined {
  const match = line.exec(text.trim());
  if (match === null) return undefined;
  const [, amount, unit, total, totalUnit, percent] = match;
  return {
    bytes: bytesOf(amount, unit),
    ...(total === undefined ? {} : { totalBytes: bytesOf(total, totalUnit) }),
    ...(percent === undefined ? {} : { percent: Math.min(100, Number(percent)) }),
  };
}

function bytesOf(amount = '0', unit = 'B'): number {
  const exponent = exponents.indexOf(unit.replace(/i?B$/, ''));
  return Math.round(Number(amount) * 1024 ** exponent);
}
