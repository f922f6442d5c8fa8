import { renderDuration } from '../../model/duration.ts';
import { heartbeatEvery } from '../heartbeat.ts';
import type { Progress } from '../../engine/events.ts';
import { parseWriterLine, type ReadSoFar } from './writer-line.ts';

/** The reporter passes a percentage on each so many points, and 100 in any case. */
const pointsApart = 5;

/** After this time without a percentage that is passed on, what is known is reported all the same. */
const longestSilence = heartbeatEvery.write;

/** Without a length there is no percentage; the amount is told each so many bytes. */
const bytesApart = 512 * 1024 ** 2;

/** Speed is that of the last so many lines, of which there is at most one in a second. */
const samplesKept = 10;

/** Follows one run of the writer. */
export interface WriterProgress {
  /** Progress to tell, when a line brings some. */
  readonly take: (line: string) => Progress | undefined;
  /** Progress to tell after a while without lines, so that the service does not give up. */
  readonly refresh: () => Progress | undefined;
  /** When the writer last read on. */
  readonly movedAt: () => number;
  /** The image is read to its end; the rest is waiting for the disk. */
  readonly isFlushing: () => boolean;
}

interface Sample {
  readonly at: number;
  readonly bytes: number;
}

/** What was last passed on to the service. */
interface Told {
  readonly at: number;
  readonly percent: number;
  readonly bytes: number;
}

/** Begins to follow a run; each run of the writer counts anew. */
export function writerProgress(now: () => number): WriterProgress {
  const start = now();
  let seen: ReadSoFar = { bytes: 0 };
  let movedAt = start;
  let told: Told = { at: start, percent: 0, bytes: 0 };
  let samples: readonly Sample[] = [{ at: start, bytes: 0 }];

  const isLate = (): boolean => now() - told.at >= longestSilence;
  return {
    movedAt: () => movedAt,
    isFlushing: () => seen.percent === 100,
    take: (line) => {
      const read = parseWriterLine(line);
      if (read === undefined || (read.bytes === seen.bytes && read.percent === seen.percent)) {
        return undefined;
      }
      seen = read;
      movedAt = now();
      samples = [...samples, { at: movedAt, bytes: read.bytes }].slice(-samplesKept);
      if (isPassedOn(read, told)) {
        told = { at: movedAt, percent: read.percent ?? 0, bytes: read.bytes };
      } else if (isLate()) {
        told = { ...told, at: movedAt };
        return { info: `${renderRead(read)}, ${amountOf(read)}` };
      }
      return { ...progressOf(read, told), ...speedOf(read, samples) };
    },
    refresh: () => {
      if (!isLate()) return undefined;
      told = { ...told, at: now() };
      const waited = renderDuration(now() - movedAt);
      const phase = seen.percent === 100 ? 'flushing' : 'standing';
      return { info: `${renderRead(seen)}, ${phase} for ${waited}` };
    },
  };
}

function isPassedOn({ percent, bytes }: ReadSoFar, told: Told): boolean {
  if (percent === undefined) return bytes >= told.bytes + bytesApart;
  return percent >= told.percent + pointsApart || (percent === 100 && told.percent < 100);
}

const amountOf = ({ bytes }: ReadSoFar): string => `${Math.round(bytes / 1024 ** 2)} MiB`;

const renderRead = (read: ReadSoFar): string =>
  read.percent === undefined ? amountOf(read) : `${read.percent}%`;

/** An amount is passed on as often as its text changes; a percentage is held back by the reporter. */
const progressOf = (read: ReadSoFar, told: Told): Progress =>
  read.percent === undefined
    ? { info: told.bytes === 0 ? '' : renderRead({ bytes: told.bytes }) }
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
