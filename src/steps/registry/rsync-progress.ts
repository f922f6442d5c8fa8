import type { Progress } from '../../engine/events.ts';

/** A line of `rsync --info=progress2`: bytes, percent, speed. */
const progressLine = /\s*(\S+)\s+(\d+)%\s+(\S+)(?:\s+\([^)]+\))?/;

/** Steps in percent in which progress is told; the last one is told in any case. */
const stepPercent = 5;

/** The share that a line of rsync tells, 0 to 100; undefined for other lines. */
export function parseRsyncPercent(line: string): number | undefined {
  const percent = progressLine.exec(line.trim())?.[2];
  return percent === undefined ? undefined : Number(percent);
}

/** Makes a reader of lines that tells progress in steps, each value once and only rising. */
export function rsyncProgress(tell: (progress: Progress) => void): (line: string) => void {
  let last = 0;
  return (line) => {
    const percent = parseRsyncPercent(line);
    if (percent === undefined || last === 100) return;
    if (percent < last + stepPercent && percent !== 100) return;
    last = percent;
    tell({ info: `${percent}%`, percent });
  };
}
