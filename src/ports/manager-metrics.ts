import type { Millis } from '../model/duration.ts';

/** The fields of a host for the metrics. */
export interface CountedHost {
  readonly status?: { readonly progress?: { readonly stage: string } };
}

/** Metrics of the managers of Cluster API. */
export interface ManagerMetrics {
  /** Sets the source of the hosts to count. */
  readonly countHosts: (read: () => readonly CountedHost[]) => void;
  /** Counts a stored report of a host, with the time since its arrival. */
  readonly reportTaken: (took: Millis) => void;
  /** Counts a run of a release's installer by its result. */
  readonly installerEnded: (result: 'made' | 'failed') => void;
  /** Sets the source of the sizes of a controller's queue, by state. */
  readonly queueOpened: (controller: string, size: () => Readonly<Record<string, number>>) => void;
}
