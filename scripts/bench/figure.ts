type Unit = 's' | 'MiB' | 'requests per minute' | 'lists';

/** What Bootwright needs, perhaps against a baseline that was measured in the same run. */
export type Figure = readonly [
  name: string,
  unit: Unit,
  measured: number,
  /** The most that `measured` (or, with a baseline, the ratio) may be. */
  bound: number,
  baseline?: { readonly name: string; readonly measured: number },
];

/** The value that is compared with the bound: the ratio to the baseline, or the figure itself. */
export const valueOf = ([, , measured, , baseline]: Figure): number =>
  baseline === undefined ? measured : measured / baseline.measured;

/** Whether a figure keeps its bound. */
export const isWithin = (figure: Figure): boolean => valueOf(figure) <= figure[3];

/** The smallest value that so many percent of the measurements do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
}
