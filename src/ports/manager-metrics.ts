import type { Millis } from '../model/duration.ts';

/** As much of a host as is counted. */
export interface CountedHost {
  readonly status?: { readonly progress?: { readonly stage: string } };
}

/** What the managers of Cluster API count. */
export interface ManagerMetrics {
  /** Says which hosts are counted. */
  readonly countHosts: (read: () => readonly CountedHost[]) => void;
  /** A report of a host was taken, so long after it had come. */
  readonly reportTaken: (took: Millis) => void;
  /** What a run of the installer of a release has come to. */
  readonly installerEnded: (result: 'made' | 'failed') => void;
  /** Says how many keys the queue of a controller has, by what becomes of them. */
  readonly queueOpened: (controller: string, size: () => Readonly<Record<string, number>>) => void;
}
