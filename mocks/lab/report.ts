import type { ClusterRecord } from '../inventory/records.ts';
import type { DayReport } from '../cluster/day-2/day-after.ts';

/** The newest upload of the controller's logs, in the folder of a run. */
export const CONTROLLER_LOGS = 'controller-logs.tar.gz';

/** Said before a command that needs the API server of the cluster. */
export const API_SERVER_ENDED =
  'the API server of the lab has ended; the command on a real cluster is';

/** What a host is said to run that runs the system of the release. */
export const RELEASE_OS = 'stock';

/** An image as it fits into a line: its name and the beginning of its digest. */
export const shortImage = (image: string): string =>
  image.replace(/^.*\/([^/@]+)@sha256:([0-9a-f]{8}).*$/, '$1@sha256:$2…');

/**
 * What became of a host: `done` it is a node; `failed` its agent gave up; `stopped` the service
 * took the installation from it; `live` it started from the live medium again; `unfinished` the
 * lab's time was over.
 */
export type HostOutcome = 'done' | 'failed' | 'stopped' | 'live' | 'unfinished';

interface FailureSummary {
  readonly code: string;
  readonly message: string;
  /** The causes or the context, where they say more than the message. */
  readonly why?: string | undefined;
  /** What to do next. */
  readonly hint?: string | undefined;
  /** Where its agent left its logs, on this machine. */
  readonly logs?: string | undefined;
}

/** What happened on one host. */
export interface HostReport {
  readonly name: string;
  readonly role: string;
  readonly outcome: HostOutcome;
  /** The last stage that the service accepted. */
  readonly stage: string;
  /** How often the host was started from its disk. */
  readonly boots: number;
  /** What it runs, where operating systems are built: `stock`, or the image by digest. */
  readonly system?: string | undefined;
  readonly agentStarts: number;
  readonly seconds: number;
  /** Waits that were not over at the end: `was waiting until 2 masters are ready: 1 of 2, …`. */
  readonly waits: readonly string[];
  /** How often the image was written to a disk. */
  readonly writes: number;
  /** Commands that no stand-in knows. */
  readonly unknownCommands: readonly string[];
  readonly failure?: FailureSummary | undefined;
  readonly secondAgent?: FailureSummary | undefined;
}

/** What was built, where operating systems are built. */
export interface LayeringReport {
  readonly images: readonly {
    readonly pool: string;
    /** As nodes know it. */
    readonly image: string;
    /** Of its layers that the release has not, compressed, where they are real. */
    readonly newBytes?: number | undefined;
    /** What hosts pulled of it, where its layers are real. */
    readonly pulledBytes?: number | undefined;
  }[];
}

/** What `--report` writes. */
export interface LabReport {
  readonly scenario: string;
  /** installed: every host is a node; unfinished: the time was over. */
  readonly outcome: 'installed' | 'failed' | 'unfinished';
  readonly isAsExpected: boolean;
  /** How the run differs from what was expected. */
  readonly differences: readonly string[];
  readonly seconds: number;
  readonly clusterStatus: string;
  /** Operators that are not available. */
  readonly operators: readonly {
    readonly name: string;
    readonly status: string;
    readonly info: string;
  }[];
  /** Requests that the inventory service of the lab has seen. */
  readonly requests?: number | undefined;
  /** Requests to any server that a fault has hit. */
  readonly faults: number;
  readonly layering?: LayeringReport | undefined;
  readonly dayAfter?: DayReport | undefined;
  readonly hosts: readonly HostReport[];
}

/** The outcome of a whole run, from those of its hosts. */
export function outcomeOf(hosts: readonly Pick<HostReport, 'outcome'>[]): LabReport['outcome'] {
  if (hosts.every(({ outcome }) => outcome === 'done')) return 'installed';
  return hosts.some(({ outcome }) => outcome === 'unfinished') ? 'unfinished' : 'failed';
}

/** Whether everything is installed: each host, and the cluster by what the service has of it. */
export const isInstalled = ({
  outcome,
  clusterStatus,
}: Pick<LabReport, 'outcome' | 'clusterStatus'>): boolean =>
  outcome === 'installed' && !['error', 'cancelled'].includes(clusterStatus);

/** Whether every host is a node, and the installation has failed all the same. */
export const isMissed = (ended: Pick<LabReport, 'outcome' | 'clusterStatus'>): boolean =>
  ended.outcome === 'installed' && !isInstalled(ended);

/**
 * The outcome in words; where every host is a node and the installation has failed, both are said.
 */
export const outcomeWords = (ended: Pick<LabReport, 'outcome' | 'clusterStatus'>): string =>
  isMissed(ended)
    ? `every host is a node, the installation ended in ${ended.clusterStatus}`
    : ended.outcome;

/** What a run leaves for its report. */
export interface FinishedRun {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly hosts: readonly HostReport[];
  readonly differences: readonly string[];
  readonly inventory: {
    readonly store: {
      readonly cluster: () => Pick<ClusterRecord, 'status' | 'operators'>;
    };
    /** Of a service of the lab's own. */
    readonly requests?: readonly unknown[];
  };
  /** Requests that a fault has hit. */
  readonly faults?: number;
  readonly layering?: LayeringReport | undefined;
  readonly dayAfter?: DayReport | undefined;
}

/** The report of a run that has ended now. */
export function reportOf(run: FinishedRun): LabReport {
  const { name, startedAt, hosts, differences, inventory, faults = 0 } = run;
  const { layering, dayAfter } = run;
  const { status, operators } = inventory.store.cluster();
  return {
    scenario: name,
    outcome: outcomeOf(hosts),
    isAsExpected: differences.length === 0,
    differences,
    seconds: (Date.now() - startedAt) / 1000,
    clusterStatus: status,
    operators: operators
      .filter((one) => one.status !== 'available')
      .map(({ name: operator, status: state, statusInfo }) => ({
        name: operator,
        status: state,
        info: statusInfo,
      })),
    requests: inventory.requests?.length,
    faults,
    layering,
    dayAfter,
    hosts,
  };
}
