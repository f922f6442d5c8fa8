import type { Millis } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import type { RoleName } from '../model/role.ts';
import type { Stage } from '../model/stage.ts';

/** Ids of a host at the inventory service. */
export interface HostRef {
  readonly infraEnvId: string;
  readonly hostId: string;
}

/** The fields of a cluster that the agent reads. */
export interface InventoryCluster {
  readonly id: string;
  /** `AddHostsCluster` for day-2 hosts. */
  readonly kind: string;
  readonly platformType?: string;
  readonly installConfigOverrides?: string;
}

/** The fields of a host that the agent reads. */
export interface InventoryHost {
  readonly id: string;
  readonly infraEnvId: string;
  readonly name: string;
  readonly role: string;
  readonly status: string;
  readonly stage?: string;
  readonly addresses: readonly string[];
}

/**
 * Whether the service is installing a host now; a host that waits for a person's action counts too.
 */
export const isBeingInstalled = ({ status }: Pick<InventoryHost, 'status'>): boolean =>
  status.startsWith('installing');

/** A body under download, with information from its headers. */
export interface Download {
  readonly body: AsyncIterable<Uint8Array>;
  /** From Content-Length, if the server sent one and the body is not encoded. */
  readonly bytes?: number;
  /** Size of the whole file, if only a part was requested and the server sent the size. */
  readonly wholeBytes?: number;
  readonly contentType?: string;
  /** Identifies this version of the file (RFC 9110, 8.8), without the mark of a weak ETag. */
  readonly etag?: string;
  readonly lastModified?: string;
  /** Source of the body, for people, without credentials. */
  readonly origin: string;
}

/** State of a log upload at the service. */
export type LogsState = 'requested' | 'collecting' | 'completed';

/** The service's answers to the reports of this run. */
export interface ReportStatus {
  /** Reports without an answer, the oldest first; empty if a later report was answered. */
  readonly unanswered: readonly { readonly stage: Stage; readonly info: string }[];
  /**
   * Status in which the service no longer installs this host, from its last answer: `cancelled`,
   * `error`.
   */
  readonly refusedIn?: string;
}

/**
 * The answers to the reports of this run's own stages. The reporter sends these reports by itself.
 */
export interface Reports {
  /**
   * Waits, at most the given time, until all reports so far are answered; never rejects. From then
   * on a refusal ends the run at its next step or in a wait.
   */
  readonly settled: (within: Millis, signal: AbortSignal) => Promise<ReportStatus>;
  /**
   * Asks the service for the status of this host, if other signs show that the installation may be
   * over: the service accepts each new text of a stage in any status.
   */
  readonly confirm: (signal: AbortSignal) => Promise<void>;
  /**
   * The same for the last report of a run, for at most a minute; once the signal aborts, only for
   * `Failed`, for at most two seconds. After one wait without success, does not wait again.
   */
  readonly flush: (signal: AbortSignal) => Promise<ReportStatus>;
}

/** The fields of a host that only the controller reads. */
export interface InstallingHost extends InventoryHost {
  /** Labels that a user requests for the node. */
  readonly labels: Readonly<Record<string, string>>;
  /** The pool of the node; empty if it follows from the role. */
  readonly pool: string;
}

/** The cluster at the service, with its hosts. */
export interface InstallingCluster extends InventoryCluster {
  readonly name: string;
  readonly baseDomain: string;
  /** `installing`, `finalizing`, `installed`, `adding-hosts`, `error`, `cancelled`, … */
  readonly status: string;
  /** The reason of the status, if the service gives one. */
  readonly statusInfo?: string;
  /** The present stage of finalizing, and whether the service has given it up. */
  readonly finalizing?: {
    readonly stage: string;
    readonly isTimedOut: boolean;
    /** Start of the stage by the service's clock, in milliseconds since the epoch. */
    readonly startedAt?: number;
  };
  /** Without hosts that a user disabled. */
  readonly hosts: readonly InstallingHost[];
}

/** The fields of a host that only a page shows. */
export interface HostOverview extends InventoryHost {
  readonly isBootstrap: boolean;
  readonly statusInfo: string;
  /** The text beside the stage. */
  readonly stageInfo: string;
  /** Start of the stage by the service's clock, in milliseconds since the epoch. */
  readonly stageSince: number | undefined;
  /** Model, memory and install disk, if the inventory has them. */
  readonly hardware: string;
  /** Whether the service has logs of the host. */
  readonly hasLogs: boolean;
}

/** The cluster for a page. */
export interface ClusterOverview {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly statusInfo: string;
  /** OpenShift version. */
  readonly version: string;
  readonly isSingleNode: boolean;
  /** The stage of finalizing; empty before it. */
  readonly finalizing: string;
  /** Start by the service's clock, in milliseconds since the epoch. */
  readonly startedAt: number | undefined;
  readonly completedAt: number | undefined;
  readonly operators: readonly MonitoredOperator[];
  /** Without hosts that a user disabled. */
  readonly hosts: readonly HostOverview[];
}

/**
 * The stages at the end of an installation, in their order (assisted-service, `finalizing-stage`).
 */
export const finalizingStages = [
  'Waiting for cluster operators',
  'Adding router ca',
  'Waiting for olm operators csv initialization',
  'Applying olm manifests',
  'Waiting for olm operators csv',
  'Done',
] as const;

/** One of these stages. */
export type FinalizingStage = (typeof finalizingStages)[number];

/** Status of an operator at the service. */
export type OperatorStatus = 'available' | 'progressing' | 'failed';

/** An operator for which the service waits. */
export interface MonitoredOperator {
  readonly name: string;
  /** `builtin` for a part of every cluster; `olm` if the Operator Lifecycle Manager installs it. */
  readonly type: string;
  readonly namespace: string;
  readonly subscription: string;
  readonly version: string;
  /** Empty before the first report. */
  readonly status: OperatorStatus | '';
  readonly statusInfo: string;
}

/** A report about an operator. */
export interface OperatorReport {
  readonly name: string;
  readonly version: string;
  readonly status: OperatorStatus;
  readonly statusInfo: string;
}

/** The end of an installation. */
export interface InstallationResult {
  readonly isSuccess: boolean;
  /** The reason of the failure; empty on success. */
  readonly error: string;
  /** Details of a failure for people. */
  readonly data?: unknown;
}

/** The last seen state of the cluster. */
export interface InstallationView {
  /** Undefined until the first answer of the service. */
  readonly cluster?: InstallingCluster;
  /** The reason why the view may be old: the service did not answer the last request. */
  readonly lastError?: AgentError;
}

/**
 * The inventory service, version 2 or 1 of its API. Every call retries transient errors by the
 * rules of the adapter, and rejects with AgentError `inventory.*`. An agent uses the calls for its
 * hosts; the controller also uses the calls for the end of the installation. A service of version 1
 * answers 404 where it lacks a call.
 */
export interface Inventory {
  /**
   * Reports a stage of a host. `inventory.refused` (409) is not retried; its context has
   * `hostStatus` if the service accepts no new stage in that status.
   */
  readonly report: (
    host: HostRef,
    progress: { readonly stage: Stage; readonly info: string },
    signal: AbortSignal,
  ) => Promise<void>;
  /** The pointer config of this host. Version 1 of the service has only one per role. */
  readonly hostIgnition: (role: RoleName, signal: AbortSignal) => Promise<Download>;
  /** A file of the cluster, `bootstrap.ign` for example. */
  readonly clusterFile: (name: string, signal: AbortSignal) => Promise<Download>;
  /** Not retried, like the hosts of a role: the caller asks again. */
  readonly cluster: (signal: AbortSignal) => Promise<InventoryCluster>;
  /**
   * Hosts of a role; the bootstrap host is listed as a master. Only a host that a user named has a
   * name.
   */
  readonly hosts: (role: RoleName, signal: AbortSignal) => Promise<readonly InventoryHost[]>;
  /**
   * Hosts of a role with their inventories, so that each has its name and addresses: a large
   * answer.
   */
  readonly namedHosts: (role: RoleName, signal: AbortSignal) => Promise<readonly InventoryHost[]>;
  /** All hosts of the cluster that are not disabled, with their addresses. */
  readonly enabledHosts: (signal: AbortSignal) => Promise<readonly InventoryHost[]>;
  readonly logsState: (host: HostRef, state: LogsState, signal: AbortSignal) => Promise<void>;
  /** Version 1 of the service has no such state; the call does nothing there. */
  readonly clusterLogsState: (state: LogsState, signal: AbortSignal) => Promise<void>;
  /** Uploads a gzipped tar with the logs of the controller. Version 1 does not accept them. */
  readonly uploadControllerLogs: (archive: Uint8Array, signal: AbortSignal) => Promise<void>;
  /** The service's kubeconfig of this cluster. */
  readonly kubeconfig: (signal: AbortSignal) => Promise<Download>;

  /**
   * Follows the cluster until the signal aborts, then resolves. All followers share one request
   * each 20 seconds. Calls `seen` with the known state, and after each answer.
   */
  readonly follow: (seen: (view: InstallationView) => void, signal: AbortSignal) => Promise<void>;
  /** Triggers the next request at once, but at most every five seconds. */
  readonly refresh: () => void;
  readonly reportFinalizing: (stage: FinalizingStage, signal: AbortSignal) => Promise<void>;
  /** Asks again if the last answer is older than 20 seconds. */
  readonly operators: (signal: AbortSignal) => Promise<readonly MonitoredOperator[]>;
  readonly reportOperator: (report: OperatorReport, signal: AbortSignal) => Promise<void>;
  /** Sends the service the certificates (PEM) by which the cluster's routes are trusted. */
  readonly uploadIngressCa: (pem: string, signal: AbortSignal) => Promise<void>;
  readonly complete: (result: InstallationResult, signal: AbortSignal) => Promise<void>;
  /** The cluster for a page; not retried, as the page asks again. */
  readonly overview: (signal: AbortSignal) => Promise<ClusterOverview>;
}
