import type { ClusterRecord } from '../inventory/records.ts';

/** File name of the newest upload of the controller's logs, in the folder of a run. */
export const CONTROLLER_LOGS = 'controller-logs.tar.gz';

/** Notes about a cluster whose hosts are nodes, and whose installation failed. */
export const MISSED_NOTES: readonly string[] = [
  'once its operators are available, the cluster needs no reset: its nodes stay; the service continues to show the error',
  'the API server of the lab has ended with the run: the command is for a real cluster',
];

/** The statuses of an operator at the service, in the words of its ClusterOperator. */
const operatorWords: Readonly<Record<string, string>> = { failed: 'degraded', '': 'not reported' };

/** An operator with its status; the service has the ClusterVersion as the operator `cvo`. */
export const operatorText = ({
  name,
  status,
}: Pick<LabReport['operators'][number], 'name' | 'status'>): string =>
  `${name === 'cvo' ? 'ClusterVersion' : name} is ${operatorWords[status] ?? status}`;

/** Name of the release's system in reports. */
export const RELEASE_OS = 'stock';

/** An image in a short form: its name and the beginning of its digest. */
export const shortImage = (image: string): string =>
  image.replace(/^.*\/([^/@]+)@sha256:([0-9a-f]{8}).*$/, '$1@sha256:$2…');

/**
 * Outcome of a host. `done`: it is a node; `failed`: its agent gave up; `stopped`: the service
 * withdrew the installation; `rebooted`: it had left by then, and is no node; `live`: it booted the
 * live medium again; `unfinished`: the lab's time was over.
 */
export type HostOutcome = 'done' | 'failed' | 'stopped' | 'rebooted' | 'live' | 'unfinished';

interface FailureSummary {
  readonly code: string;
  readonly message: string;
  /** The causes or the context, if they add to the message. */
  readonly why?: string | undefined;
  /** The next action. */
  readonly hint?: string | undefined;
  /** Path of the agent's logs on this machine. */
  readonly logs?: string | undefined;
}

/** The report of one host. */
export interface HostReport {
  readonly name: string;
  readonly role: string;
  readonly outcome: HostOutcome;
  /** The last stage accepted by the service. */
  readonly stage: string;
  /** Number of boots from the host's disk. */
  readonly boots: number;
  /** The host's system, if operating systems are built: `stock`, or the image by digest. */
  readonly system?: string | undefined;
  readonly agentStarts: number;
  /** Time of its end; of a host that failed, of its failure; of one that rebooted, of that. */
  readonly seconds: number;
  /** Number of writes of the image to a disk. */
  readonly writes: number;
  /** Commands unknown to all stand-ins. */
  readonly unknownCommands: readonly string[];
  readonly failure?: FailureSummary | undefined;
  /** Why the service failed the host, if its agent did not fail: the limit of a stage. */
  readonly overdue?: string | undefined;
  /** The wait that such a host did not end: its condition, and what was missing. */
  readonly wait?: string | undefined;
  /** Path of the log of its last agent, as long as the files of the run are kept. */
  readonly log?: string | undefined;
  readonly secondAgent?: FailureSummary | undefined;
}

/** The built images, if operating systems are built. */
export interface LayeringReport {
  readonly images: readonly {
    readonly pool: string;
    /** Pull spec on the nodes. */
    readonly image: string;
    /** Compressed size of its layers that are not in the release, if the layers are real. */
    readonly newBytes?: number | undefined;
    /** Bytes of the image that hosts pulled, if its layers are real. */
    readonly pulledBytes?: number | undefined;
  }[];
}

/** The document of `--report`. */
export interface LabReport {
  readonly scenario: string;
  /** installed: every host is a node; unfinished: the time was over. */
  readonly outcome: 'installed' | 'failed' | 'unfinished';
  readonly isAsExpected: boolean;
  /** Differences between the run and its expectations. */
  readonly differences: readonly string[];
  readonly seconds: number;
  readonly clusterStatus: string;
  /** Operators that are not available. */
  readonly operators: readonly {
    readonly name: string;
    readonly status: string;
    readonly info: string;
  }[];
  /** Number of requests hit by a fault, to any server. */
  readonly faults: number;
  readonly layering?: LayeringReport | undefined;
  /** Seconds of the day after its installation. */
  readonly dayAfter?: number | undefined;
  readonly hosts: readonly HostReport[];
}

/** The outcome of a whole run, from the outcomes of its hosts. */
export function outcomeOf(hosts: readonly Pick<HostReport, 'outcome'>[]): LabReport['outcome'] {
  if (hosts.every(({ outcome }) => outcome === 'done')) return 'installed';
  return hosts.some(({ outcome }) => outcome === 'unfinished') ? 'unfinished' : 'failed';
}

/** Whether the whole installation succeeded: each host, and the cluster at the service. */
export const isInstalled = ({
  outcome,
  clusterStatus,
}: Pick<LabReport, 'outcome' | 'clusterStatus'>): boolean =>
  outcome === 'installed' && !['error', 'cancelled'].includes(clusterStatus);

/** Whether the installation failed although every host is a node. */
export const isMissed = (ended: Pick<LabReport, 'outcome' | 'clusterStatus'>): boolean =>
  ended.outcome === 'installed' && !isInstalled(ended);

/** The operators that are at fault; others only wait for them. */
export const degradedOf = ({ operators }: Pick<LabReport, 'operators'>): LabReport['operators'] =>
  operators.filter(({ status }) => status === 'failed');

/**
 * The outcome in words; if the installation failed although every host is a node, the text has
 * both, and the degraded operators.
 */
export function outcomeWords(
  ended: Pick<LabReport, 'outcome' | 'clusterStatus' | 'operators'>,
): string {
  if (!isMissed(ended)) return ended.outcome;
  const failed = ended.clusterStatus === 'cancelled' ? 'was cancelled' : 'failed';
  const because = degradedOf(ended).map(operatorText).join(', ');
  const cause = because === '' ? '' : `: ${because}`;
  return `all hosts are nodes, but the installation ${failed}${cause}`;
}

/** Data of an ended run for its report. */
export interface FinishedRun
  extends
    Pick<LabReport, 'hosts' | 'differences' | 'layering' | 'dayAfter'>,
    Partial<Pick<LabReport, 'faults'>> {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly inventory: {
    readonly store: { readonly cluster: () => Pick<ClusterRecord, 'status' | 'operators'> };
  };
}

/** The report of a run that has just ended. */
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
    faults,
    layering,
    dayAfter,
    hosts,
  };
}
