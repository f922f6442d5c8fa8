import { codeCell, table } from '../docs/markdown.ts';

type Unit = 's' | 'MiB' | '%' | 'requests per minute' | 'boots' | 'lists';

/** What Bootwright needs, against a baseline that was measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly measured: number;
  /** The baseline and its measurement; none for an absolute bound. */
  readonly baseline?: { readonly name: string; readonly measured: number } | undefined;
  /** The most that `measured` (or, with a baseline, the ratio) may be. */
  readonly bound: number;
  /** The command that shows it by itself. */
  readonly command: string;
}

/**
 * A figure as a row: its name and unit, what was measured, the most that may be, and the baseline.
 */
export type FigureRow = readonly [
  name: string,
  unit: Unit,
  measured: number,
  bound: number,
  baseline?: Figure['baseline'],
];

/** What one group of measurements found. */
export interface Findings {
  readonly rows: readonly FigureRow[];
  /** A section of `docs/performance.md` behind the table, in Markdown. */
  readonly section: string;
}

/** What a group found. */
export const found = (rows: readonly FigureRow[], section = ''): Findings => ({ rows, section });

/** The value that is compared with the bound: the ratio to the baseline, or the figure itself. */
export const valueOf = ({ measured, baseline }: Figure): number =>
  baseline === undefined ? measured : measured / baseline.measured;

/** Whether a figure keeps its bound. */
export const isWithin = (figure: Figure): boolean => valueOf(figure) <= figure.bound;

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
    const held = (value: number | string): string =>
      baseline === undefined ? `${value} ${unit}` : `× ${value}`;
    const limits = [held(round(valueOf(figure))), held(bound), isWithin(figure) ? 'yes' : '**no**'];
    return [name, `${round(measured)} ${unit}`, against, ...limits, codeCell(command)];
  });
  return table(
    ['Figure', 'Measured', 'Baseline of the same run', 'Value', 'Bound', 'Kept', 'Command'],
    rows,
  );
}

const round = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toFixed(3);
