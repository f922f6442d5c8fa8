import type { Progress } from '../../engine/events.ts';

/** The reporter passes a percentage on each so many points, and 100 in any case. */
const pointsApart = 5;

/** Without a length there is no percentage; the amount is reported each so many bytes. */
const bytesApart = 512 * 1024 ** 2;

/** Speed is that of the last so many lines, of which there is at most one in a second. */
const samplesKept = 10;

/** Follows one run of the writer. */
export interface WriterProgress {
  /** Progress to report, when a line brings some. */
  readonly take: (line: string) => Progress | undefined;
  /** How far it is, for a time without lines: `40%, stalled`. */
  readonly phase: () => string;
  /** When the writer last read on. */
  readonly movedAt: () => number;
  /** The image is read to its end; the rest is waiting for the disk. */
  readonly isFlushing: () => boolean;
}

interface Sample {
  readonly at: number;
  readonly bytes: number;
}

interface Reported {
  readonly percent: number;
  readonly bytes: number;
}

/** Begins to follow a run; each run of the writer counts from zero. */
export function writerProgress(now: () => number): WriterProgress {
  const start = now();
  let seen: ReadSoFar = { bytes: 0 };
  let formatted: FormattedSoFar | undefined;
  let reportedFormat = -pointsApart;
  let movedAt = start;
  let reported: Reported = { percent: 0, bytes: 0 };
  let samples: readonly Sample[] = [{ at: start, bytes: 0 }];

  const takeFormat = (line: string): Progress | undefined => {
    const next = parseFormatLine(line);
    if (next === undefined || next.cylinder === formatted?.cylinder) return undefined;
    formatted = next;
    movedAt = now();
    samples = [{ at: movedAt, bytes: 0 }];
    const isEnd = next.percent === 100 && reportedFormat < 100;
    if (next.percent < reportedFormat + pointsApart && !isEnd) return undefined;
    reportedFormat = next.percent;
    return { info: renderFormatted(next) };
  };

  return {
    movedAt: () => movedAt,
    isFlushing: () => seen.percent === 100,
    take: (line) => {
      const read = parseWriterLine(line);
      if (read === undefined) return takeFormat(line);
      if (read.bytes === seen.bytes && read.percent === seen.percent) return undefined;
      seen = read;
      movedAt = now();
      samples = [...samples, { at: movedAt, bytes: read.bytes }].slice(-samplesKept);
      if (isPassedOn(read, reported)) {
        reported = { percent: read.percent ?? 0, bytes: read.bytes };
      }
      return { ...progressOf(read, reported), ...speedOf(read, samples) };
    },
    phase: () => {
      const sofar =
        formatted !== undefined && seen.bytes === 0 ? renderFormatted(formatted) : renderRead(seen);
      return `${sofar}, ${seen.percent === 100 ? 'flushing' : 'stalled'}`;
    },
  };
}

function isPassedOn({ percent, bytes }: ReadSoFar, reported: Reported): boolean {
  if (percent === undefined) return bytes >= reported.bytes + bytesApart;
  return percent >= reported.percent + pointsApart || (percent === 100 && reported.percent < 100);
}

const renderRead = (read: ReadSoFar): string =>
  read.percent === undefined ? `${Math.round(read.bytes / 1024 ** 2)} MiB` : `${read.percent}%`;

const renderFormatted = ({ percent }: FormattedSoFar): string => `formatting the disk: ${percent}%`;

/**
 * An amount is passed on as often as its text changes; a percentage is held back by the reporter.
 */
const progressOf = (read: ReadSoFar, reported: Reported): Progress =>
  read.percent === undefined
    ? { info: reported.bytes === 0 ? '' : renderRead({ bytes: reported.bytes }) }
    : { info: renderRead(read), percent: read.percent };

function speedOf(
  { bytes, totalBytes }: ReadSoFar,
  samples: readonly Sample[],
): Pick<Progress, 'bytesPerSecond' | 'remaining'> {
  const first = samples[0];
  const last = samples.at(-1);
  const elapsed = (last?.at ?? 0) - (first?.at ?? 0);
  if (first === undefined || last === undefined || elapsed <= 0) return {};
  const bytesPerSecond = Math.round(((last.bytes - first.bytes) * 1000) / elapsed);
  if (totalBytes === undefined || bytesPerSecond <= 0) return { bytesPerSecond };
  const remaining = Math.round((Math.max(0, totalBytes - bytes) * 1000) / bytesPerSecond);
  return { bytesPerSecond, remaining };
}

/** Where the writer takes the image from. */
export type WriterSource =
  | { readonly kind: 'own' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string };

/**
 * The command that writes the operating system. `--insecure` tolerates that there is no signature,
 * as RHCOS images have none; a bad signature is refused all the same.
 */
export const writerArgv = ({
  ignition,
  source,
  args,
  disk,
}: {
  /** Path of the Ignition config on the host. */
  readonly ignition: string;
  readonly source: WriterSource;
  /** Further arguments, passed unchanged. */
  readonly args: readonly string[];
  /** Kernel path of the disk. */
  readonly disk: string;
}): readonly string[] => [
  'coreos-installer',
  'install',
  '--insecure',
  '-i',
  ignition,
  ...sourceArgs(source),
  ...args,
  disk,
];

function sourceArgs(source: WriterSource): readonly string[] {
  switch (source.kind) {
    case 'own':
      return [];
    case 'file':
      return ['--image-file', source.path];
    case 'url':
      return ['--image-url', source.url];
  }
}

/** One progress line of the writer. It counts bytes of the stored image, not of the disk. */
interface ReadSoFar {
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

/** Reads `Read disk 45.5 MiB/113.7 MiB (40%)` of coreos-installer 0.5 to 0.26. */
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

/** How far the low-level format of a DASD is, which coreos-installer leaves to dasdfmt. */
interface FormattedSoFar {
  readonly cylinder: number;
  readonly percent: number;
}

/**
 * Reads `cyl     600 of   30051 |##---|  1% [37m 12s]` of dasdfmt `-p`; between two percent it ends
 * at the bar.
 */
function parseFormatLine(text: string): FormattedSoFar | undefined {
  const [, done, all] = /^cyl +(\d+) of +(\d+) \|/.exec(text) ?? [];
  if (done === undefined || Number(all) === 0) return undefined;
  return { cylinder: Number(done), percent: Math.floor((Number(done) * 100) / Number(all)) };
}

function bytesOf(amount = '0', unit = 'B'): number {
  const exponent = exponents.indexOf(unit.replace(/i?B$/, ''));
  return Math.round(Number(amount) * 1024 ** exponent);
}

/** So many lines are kept; the writer says far fewer. */
const linesKept = 200;

/**
 * Lines that come only after the writer has laid hand on the disk; before 0.10 it says `Clearing`.
 */
const afterTouch =
  /^(Resetting|Clearing|Preserving) partition table|^Writing Ignition config|^Install complete/;

/** Begins to listen to one run of the writer, to what it says beside progress. */
export function writerOutput() {
  let lines: readonly string[] = [];
  let hasTouched = false;
  return {
    lines: () => lines,
    /** The disk is not as it was. Before it is, a busy disk for example, it must be left alone. */
    hasTouchedDisk: () => hasTouched,
    take: (line: string): void => {
      const isProgress = parseWriterLine(line) !== undefined;
      hasTouched ||= isProgress || afterTouch.test(line);
      // A disk that is half formatted has nothing to be made unbootable.
      if (!isProgress && parseFormatLine(line) === undefined)
        lines = [...lines, line.trimEnd()].slice(-linesKept);
    },
  };
}
