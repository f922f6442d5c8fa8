import { codeCell, table } from '../docs/markdown.ts';

type Unit = 's' | 'MiB' | '%' | 'requests per minute' | 'boots' | 'lists';

/** What Bootwright needs, against a baseline that was measured in the same run. */
export interface Measured {
  readonly name: string;
  readonly unit: Unit;
  readonly measured: number;
  /** What it is compared with, and what that needed; none for an absolute bound. */
  readonly baseline?: { readonly name: string; readonly measured: number } | undefined;
  /** The most that `measured` (or, with a baseline, the ratio) may be. */
  readonly bound: number;
}

/** One measured figure. */
export interface Figure extends Measured {
  /** The command that shows it by itself. */
  readonly command: string;
}

/** What one group of measurements found. */
export interface Findings {
  readonly figures: readonly Measured[];
  /** A section of `docs/performance.md` behind the table, in Markdown. */
  readonly section?: string;
}

/** A figure as a row: its name and unit, what was measured, the most that may be, and the baseline. */
export type FigureRow = readonly [
  name: string,
  unit: Unit,
  measured: number,
  bound: number,
  baseline?: Measured['baseline'],
];

/** What a group found, from a row for each figure. */
export const found = (rows: readonly FigureRow[], section?: string): Findings => ({
  figures: rows.map(([name, unit, measured, bound, baseline]) => ({
    ...{ name, unit, measured, bound, baseline },
  })),
  ...(section === undefined ? {} : { section }),
});

/** What is held against the bound: the ratio to the baseline, or the figure itself. */
export const valueOf = ({ measured, baseline }: Measured): number =>
  baseline === undefined ? measured : measured / baseline.measured;

/** Whether a figure keeps its bound. */
export const isWithin = (figure: Measured): boolean => valueOf(figure) <= figure.bound;

/** The smallest value that so many percent of the measurements do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
}

/** The table of `docs/performance.md`. */
export function renderTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { name, unit, measured, baseline, bound, command } = figure;
    const against =
      baseline === undefined ? '–' : `${baseline.name}: ${round(baseline.measured)} ${unit}`;
    const value =
      baseline === undefined ? `${round(measured)} ${unit}` : `× ${round(valueOf(figure))}`;
    const limit = baseline === undefined ? `${bound} ${unit}` : `× ${bound}`;
    const verdict = isWithin(figure) ? 'yes' : '**no**';
    const own = [name, `${round(measured)} ${unit}`, against, value, limit, verdict];
    return [...own, codeCell(command)];
  });
  return table(
    ['Figure', 'Measured', 'Baseline of the same run', 'Value', 'Bound', 'Kept', 'Command'],
    rows,
  );
}

const round = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toFixed(3);
