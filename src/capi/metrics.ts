import type { Millis } from '../model/duration.ts';
import type { Figure, Sample } from '../ports/figures.ts';
import type { Queue } from '../reconcile/queue.ts';
import type { BootstrapConfig } from './api.ts';

/** What managers of the providers count. */
export interface CapiMetrics {
  readonly figures: readonly Figure[];
  /** Says which hosts are counted. */
  readonly countHosts: (read: () => readonly BootstrapConfig[]) => void;
  /** A report of a host was taken, so long after it had come. */
  readonly reportTaken: (took: Millis) => void;
  readonly installerEnded: (result: InstallerResult) => void;
  readonly queueOpened: (controller: string, size: Queue['size']) => void;
}

/** What a run of the installer has come to. */
export type InstallerResult = 'made' | 'failed';

/** In seconds: a report is to be seen within one. */
const bounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of one manager, which has one provider or both. */
export function capiMetrics(): CapiMetrics {
  let hosts: () => readonly BootstrapConfig[] = () => [];
  const queues = new Map<string, Queue['size']>();
  const runs = { made: 0, failed: 0 };
  const lags = { within: bounds.map(() => 0), count: 0, sum: 0 };
  const figures: readonly Figure[] = [
    {
      ...{ name: 'hosts', type: 'gauge', help: 'Hosts by the stage that they have reported.' },
      samples: () => {
        const stages = hosts().map(({ status }) => status?.progress?.stage ?? 'none');
        return counted(stages).map(([stage, value]) => ({ labels: { stage }, value }));
      },
    },
    {
      ...{ name: 'host_report_seconds', type: 'histogram' },
      help: 'From the arrival of a report to the status of its host.',
      samples: () => [
        ...lags.within.map((value, index) => bucket(String(bounds[index]), value)),
        ...[bucket('+Inf', lags.count), { suffix: '_sum', value: lags.sum }],
        { suffix: '_count', value: lags.count },
      ],
    },
    {
      ...{ name: 'installer_runs_total', type: 'counter' },
      help: 'Runs of the installer of a release, by what they have come to.',
      samples: () => Object.entries(runs).map(([result, value]) => ({ labels: { result }, value })),
    },
    {
      ...{ name: 'queue_keys', type: 'gauge' },
      help: 'Keys of a controller: at work, due, or due later.',
      samples: () =>
        [...queues].flatMap(([controller, size]) =>
          Object.entries(size()).map(([state, value]) => ({
            ...{ labels: { controller, state }, value },
          })),
        ),
    },
  ];
  return {
    figures,
    countHosts: (read) => {
      hosts = read;
    },
    reportTaken: (took) => {
      const time = took / 1000;
      lags.count += 1;
      lags.sum += time;
      bounds.forEach((bound, index) => {
        if (time <= bound) lags.within[index] = (lags.within[index] ?? 0) + 1;
      });
    },
    installerEnded: (result) => {
      runs[result] += 1;
    },
    queueOpened: (controller, size) => void queues.set(controller, size),
  };
}

const bucket = (le: string, value: number): Sample => ({
  ...{ suffix: '_bucket', labels: { le }, value },
});

function counted(words: readonly string[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts];
}
