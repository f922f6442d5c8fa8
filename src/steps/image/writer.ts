import type { Progress } from '../../engine/events.ts';
import { shownUrlsIn } from '../../lib/shown-url.ts';

/**
 * The command that writes the operating system. `--insecure` tolerates a missing signature, as
 * RHCOS images have none; a bad signature is refused in any case.
 * @param source the option that names the image, and its value; empty for the offline image of the
 * live medium
 * @param args of a person, passed unchanged
 */
export const writerArgv = (
  ignition: string,
  source: readonly string[],
  args: readonly string[],
  disk: string,
): readonly string[] => [
  ...['coreos-installer', 'install', '--insecure', '-i', ignition],
  ...source,
  ...args,
  disk,
];

/** Without a length no percentage is known; progress is reported at this interval in MiB. */
const mebibytesApart = 512;

/** The format of a disk is reported at this interval in percentage points. */
const pointsApart = 5;

/** The speed is the average over this number of lines; the writer prints at most one per second. */
const samplesKept = 10;

/** Number of lines that are kept; the writer prints far fewer. */
const linesKept = 200;

/** Lines that the writer prints only after it has changed the disk. */
const afterTouch =
  /^(Resetting|Preserving) partition table|^Writing Ignition config|^Install complete/;

export type FollowedWriter = ReturnType<typeof followWriter>;

/** Follows the output of one run of the writer; each run counts from zero. */
export function followWriter(now: () => number) {
  let movedAt = now();
  let samples = [{ at: movedAt, bytes: 0 }];
  let read: ReadProgress = { bytes: 0 };
  let format: ReturnType<typeof parseFormatLine>;
  let hasTouchedDisk = false;
  let lines: readonly string[] = [];

  const takeRead = (next: ReadProgress): Progress | undefined => {
    if (next.bytes === read.bytes && next.percent === read.percent) return undefined;
    read = next;
    movedAt = now();
    samples = [...samples, { at: movedAt, bytes: next.bytes }].slice(-samplesKept);
    const { percent } = next;
    if (percent !== undefined) return { info: `${percent}%`, percent, ...speed() };
    const amount = roundedDown(next.bytes / 1024 ** 2, mebibytesApart);
    return { info: amount === 0 ? '' : `${amount} MiB`, ...speed() };
  };
  const speed = (): Pick<Progress, 'bytesPerSecond' | 'remaining'> => {
    const first = samples[0]?.at ?? 0;
    const elapsed = movedAt - first;
    if (elapsed <= 0) return {};
    const grown = read.bytes - (samples[0]?.bytes ?? 0);
    const bytesPerSecond = Math.round((grown * 1000) / elapsed);
    if (read.totalBytes === undefined || bytesPerSecond <= 0) return { bytesPerSecond };
    const left = Math.max(0, read.totalBytes - read.bytes);
    return { bytesPerSecond, remaining: Math.round((left * 1000) / bytesPerSecond) };
  };
  const takeFormat = (next: NonNullable<typeof format>): Progress | undefined => {
    if (next.cylinder === format?.cylinder) return undefined;
    format = next;
    movedAt = now();
    samples = [{ at: movedAt, bytes: 0 }];
    return { info: `formatting the disk: ${roundedDown(next.percent, pointsApart)}%` };
  };

  return {
    /** Reads a line, and returns the progress to report if it changed. */
    take: (line: string): Progress | undefined => {
      const nextRead = parseWriterLine(line);
      hasTouchedDisk ||= nextRead !== undefined || afterTouch.test(line);
      if (nextRead !== undefined) return takeRead(nextRead);
      // An incompletely formatted disk has nothing to make unbootable.
      const nextFormat = parseFormatLine(line);
      if (nextFormat !== undefined) return takeFormat(nextFormat);
      lines = [...lines, shownUrlsIn(line).trimEnd()].slice(-linesKept);
      return undefined;
    },
    /** The last lines without progress. */
    lines: () => lines,
    /** Until then a disk, which may be busy, must not be changed. */
    hasTouchedDisk: () => hasTouchedDisk,
    /** The time of the last read by the writer. */
    movedAt: () => movedAt,
    /** The image is read to its end; the writer now waits for the disk. */
    isFlushing: () => read.percent === 100,
    /** The progress, for a time without lines: `40%, stalled`. */
    phase: () => {
      if (read.bytes === 0 && format !== undefined)
        return `formatting the disk: ${format.percent}%, stalled`;
      if (read.percent === undefined) return `${Math.round(read.bytes / 1024 ** 2)} MiB, stalled`;
      return `${read.percent}%, ${read.percent === 100 ? 'flushing' : 'stalled'}`;
    },
  };
}

const roundedDown = (value: number, step: number): number => Math.floor(value / step) * step;

/** One progress line of the writer. It counts bytes of the stored image, not of the disk. */
interface ReadProgress {
  readonly bytes: number;
  /** Undefined if the server sent no length. */
  readonly totalBytes?: number;
  /** Rounded down, as the writer prints it. */
  readonly percent?: number;
}

/** Reads `Read disk 45.5 MiB/113.7 MiB (40%)` of coreos-installer 0.5 to 0.26. */
export function parseWriterLine(text: string): ReadProgress | undefined {
  const match =
    /^(?:> )?Read \S+ ([\d.]+) ([KMGT]?i?B)(?:\/([\d.]+) ([KMGT]?i?B) \((\d{1,3})(?:\.\d+)?%\))?$/.exec(
      text.trim(),
    );
  if (match === null) return undefined;
  const [, amount, unit, total, totalUnit, percent] = match;
  const bytes = bytesOf(amount, unit);
  if (total === undefined) return { bytes };
  return {
    bytes,
    totalBytes: bytesOf(total, totalUnit),
    percent: Math.min(100, Number(percent)),
  };
}

/** Powers of 1024: coreos-installer prints binary units. */
function bytesOf(amount = '0', unit = 'B'): number {
  const exponent = ['', 'K', 'M', 'G', 'T'].indexOf(unit.replace(/i?B$/, ''));
  return Math.round(Number(amount) * 1024 ** exponent);
}

/**
 * Parses the progress of the low-level format of a DASD, for which coreos-installer runs dasdfmt:
 * `cyl 600 of 30051 |##---| 1% [37m 12s]` of dasdfmt `-p`; between two percentages the line
 * ends at the bar.
 */
function parseFormatLine(text: string) {
  const [, done, all] = /^cyl +(\d+) of +(\d+) \|/.exec(text) ?? [];
  if (done === undefined || Number(all) === 0) return undefined;
  return { cylinder: Number(done), percent: Math.floor((Number(done) * 100) / Number(all)) };
}
