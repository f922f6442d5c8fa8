import type { Millis } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import type { RoleName } from '../model/role.ts';
import type { Stage } from '../model/stage.ts';

/** A host as the inventory service names it. */
export interface HostRef {
  readonly infraEnvId: string;
  readonly hostId: string;
}

/** What the agent reads of a cluster. */
export interface InventoryCluster {
  readonly id: string;
  /** `AddHostsCluster` for day-2 hosts. */
  readonly kind: string;
  readonly platformType?: string;
  readonly installConfigOverrides?: string;
}

/** What the agent reads of a host. */
export interface InventoryHost {
  readonly id: string;
  readonly infraEnvId: string;
  readonly name: string;
  readonly role: string;
  readonly status: string;
  readonly stage?: string;
  readonly addresses: readonly string[];
}

/** Whether the service installs a host now; one that waits for a person to act is among them. */
export const isBeingInstalled = ({ status }: Pick<InventoryHost, 'status'>): boolean =>
  status.startsWith('installing');

/** A body that is being downloaded, with what the server says of it. */
export interface Download {
  readonly body: AsyncIterable<Uint8Array>;
  /** From Content-Length, where the server sent one and the body is not encoded. */
  readonly bytes?: number;
  /** Of the whole file, where a part of it was asked for and the server says it. */
  readonly wholeBytes?: number;
  readonly contentType?: string;
  /**
   * What tells this version of the file from others (RFC 9110, 8.8), without the mark of a weak
   * one.
   */
  readonly etag?: string;
  readonly lastModified?: string;
  /** Where it comes from, for people: no credentials in it. */
  readonly origin: string;
}

/** State of a log upload as the service keeps it. */
export type LogsState = 'requested' | 'collecting' | 'completed';

/** What the service has made of the reports of this run. */
export interface ReportStatus {
  /** Reports that it has not answered, the oldest first; none where a later one was answered. */
  readonly unanswered: readonly { readonly stage: Stage; readonly info: string }[];
  /**
   * Status in which the service installs this host no more, by its last answer: `cancelled`,
   * `error`.
   */
  readonly refusedIn?: string;
}

/** How the reports of this run's own stages fare; they leave by themselves. */
export interface Reports {
  /**
   * Waits until every report so far has been answered, at most so long; it never rejects. From then
   * on a refusal ends the run at its next step or in a wait.
   */
  readonly settled: (within: Millis, signal: AbortSignal) => Promise<ReportStatus>;
  /**
   * Asks the service for the status of this host, where others show that the installation may be
   * over: it takes each new text of a stage whatever the status is.
   */
  readonly confirm: (signal: AbortSignal) => Promise<void>;
  /**
   * The same for the last report of a run, at most a minute; once the signal aborts, for `Failed`
   * alone, two seconds at most. When that was in vain once, nothing is waited for again.
   */
  readonly flush: (signal: AbortSignal) => Promise<ReportStatus>;
}

/** What the controller reads of a host beside what an agent reads. */
export interface InstallingHost extends InventoryHost {
  /** Labels that a user wants on the node. */
  readonly labels: Readonly<Record<string, string>>;
  /** The pool that the node is to be in; empty where that follows from its role. */
  readonly pool: string;
}

/** The cluster as the service has it, with its hosts. */
export interface InstallingCluster extends InventoryCluster {
  readonly name: string;
  readonly baseDomain: string;
  /** `installing`, `finalizing`, `installed`, `adding-hosts`, `error`, `cancelled`, … */
  readonly status: string;
  /** The stage of finalizing that the service knows, and whether it has given that stage up. */
  readonly finalizing?: {
    readonly stage: string;
    readonly isTimedOut: boolean;
    /** When it began by the clock of the service, in milliseconds since the epoch. */
    readonly startedAt?: number;
  };
  /** Those that a user took out are not among them. */
  readonly hosts: readonly InstallingHost[];
}

/** What a page shows of a host beside what an agent reads. */
export interface HostOverview extends InventoryHost {
  readonly isBootstrap: boolean;
  readonly statusInfo: string;
  /** The text beside the stage. */
  readonly stageInfo: string;
  /** When the stage began by the clock of the service, in milliseconds since the epoch. */
  readonly stageSince: number | undefined;
  /** Model, memory and install disk, as far as the inventory has them. */
  readonly hardware: string;
  /** Whether the service has logs of it. */
  readonly hasLogs: boolean;
}

/** The cluster as a page shows it. */
export interface ClusterOverview {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly statusInfo: string;
  /** Of OpenShift. */
  readonly version: string;
  readonly isSingleNode: boolean;
  /** The stage of finalizing; empty before that. */
  readonly finalizing: string;
  /** By the clock of the service, in milliseconds since the epoch. */
  readonly startedAt: number | undefined;
  readonly completedAt: number | undefined;
  readonly operators: readonly MonitoredOperator[];
  /** Those that a user took out are not among them. */
  readonly hosts: readonly HostOverview[];
}

/**
 * The stages in which an installation ends, in their order (assisted-service, `finalizing-stage`).
 */
export const finalizingStages = [
  'Waiting for cluster operators',
  'Adding router ca',
  'Waiting for olm operators csv initialization',
  'Applying olm manifests',
  'Waiting for olm operators csv',
  'Done',
] as const;

/** One stage of them. */
export type FinalizingStage = (typeof finalizingStages)[number];

/** How far an operator is, as the service keeps it. */
export type OperatorStatus = 'available' | 'progressing' | 'failed';

/** An operator that the service waits for. */
export interface MonitoredOperator {
  readonly name: string;
  /** `builtin` is part of every cluster; `olm` is installed by the operator lifecycle manager. */
  readonly type: string;
  readonly namespace: string;
  readonly subscription: string;
  readonly version: string;
  /** Empty while nobody has reported it. */
  readonly status: OperatorStatus | '';
  readonly statusInfo: string;
}

/** What is reported of an operator. */
export interface OperatorReport {
  readonly name: string;
  readonly version: string;
  readonly status: OperatorStatus;
  readonly statusInfo: string;
}

/** How an installation ended. */
export interface InstallationResult {
  readonly isSuccess: boolean;
  /** Why it failed; empty where it did not. */
  readonly error: string;
  /** What a person needs to see of a failure. */
  readonly data?: unknown;
}

/** The cluster as it was last seen. */
export interface InstallationView {
  /** Undefined until the service has answered once. */
  readonly cluster?: InstallingCluster;
  /** Why the view may be old: the service did not answer the last time. */
  readonly lastError?: AgentError;
}

/**
 * The inventory service, version 2 or 1 of its interface. Every call retries what is passing by the
 * rules of the adapter, and rejects with AgentError `inventory.*`. An agent uses the calls for its
 * hosts, the controller those for the end of the installation too; a service of version 1 answers
 * 404 where it has none of these.
 */
export interface Inventory {
  /**
   * Reports a stage of a host. `inventory.refused` (409) is not retried; its context has
   * `hostStatus` where the service takes no new stage in that status.
   */
  readonly report: (
    host: HostRef,
    progress: { readonly stage: Stage; readonly info: string },
    signal: AbortSignal,
  ) => Promise<void>;
  /** The pointer config of this host. Version 1 of the service has one per role only. */
  readonly hostIgnition: (role: RoleName, signal: AbortSignal) => Promise<Download>;
  /** A file of the cluster, `bootstrap.ign` for example. */
  readonly clusterFile: (name: string, signal: AbortSignal) => Promise<Download>;
  /** Asked once, as the hosts of a role are: who waits asks again. */
  readonly cluster: (signal: AbortSignal) => Promise<InventoryCluster>;
  /**
   * Hosts of a role; the bootstrap host is listed as a master. Only one that a user named has a
   * name.
   */
  readonly hosts: (role: RoleName, signal: AbortSignal) => Promise<readonly InventoryHost[]>;
  /** The same with their inventories, so that each has its name and addresses: a large answer. */
  readonly namedHosts: (role: RoleName, signal: AbortSignal) => Promise<readonly InventoryHost[]>;
  /** Every host of the cluster that is not disabled, with its addresses. */
  readonly enabledHosts: (signal: AbortSignal) => Promise<readonly InventoryHost[]>;
  readonly logsState: (host: HostRef, state: LogsState, signal: AbortSignal) => Promise<void>;
  /** Version 1 of the service keeps no such state; the call does nothing there. */
  readonly clusterLogsState: (state: LogsState, signal: AbortSignal) => Promise<void>;
  /** Uploads a gzipped tar with the logs of the controller. Version 1 does not take them. */
  readonly uploadControllerLogs: (archive: Uint8Array, signal: AbortSignal) => Promise<void>;
  /** The kubeconfig that the service keeps for this cluster. */
  readonly kubeconfig: (signal: AbortSignal) => Promise<Download>;

  /**
   * Follows the cluster until the signal aborts, then resolves. Whoever follows shares one request
   * each 20 seconds; `seen` is called with what is known, and after each answer.
   */
  readonly follow: (seen: (view: InstallationView) => void, signal: AbortSignal) => Promise<void>;
  /** Makes the next request come at once, but not more often than every five seconds. */
  readonly refresh: () => void;
  readonly reportFinalizing: (stage: FinalizingStage, signal: AbortSignal) => Promise<void>;
  /** Asked again where the last answer is older than 20 seconds. */
  readonly operators: (signal: AbortSignal) => Promise<readonly MonitoredOperator[]>;
  readonly reportOperator: (report: OperatorReport, signal: AbortSignal) => Promise<void>;
  /** Gives the service the certificates (PEM) by which the routes of the cluster are trusted. */
  readonly uploadIngressCa: (pem: string, signal: AbortSignal) => Promise<void>;
  readonly complete: (result: InstallationResult, signal: AbortSignal) => Promise<void>;
  /** The cluster for a page: asked once, as whoever watches asks again. */
  readonly overview: (signal: AbortSignal) => Promise<ClusterOverview>;
}
