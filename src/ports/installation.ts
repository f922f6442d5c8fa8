import type { AgentError } from '../model/failure.ts';
import type { InventoryCluster, InventoryHost } from './inventory.ts';

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
}

/** The cluster as a page shows it. */
export interface ClusterOverview {
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

/** The stages in which an installation ends, in their order (assisted-service, `finalizing-stage`). */
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

/** An entry in the list of events that a user of the service sees. */
export interface InstallationEvent {
  readonly name: string;
  readonly category: string;
  readonly severity: 'info' | 'warning' | 'error' | 'critical';
  readonly message: string;
  readonly hostId: string;
  readonly infraEnvId: string;
}

/** The cluster as it was last seen. */
export interface InstallationView {
  /** Undefined until the service has answered once. */
  readonly cluster?: InstallingCluster;
  /** Why the view may be old: the service did not answer the last time. */
  readonly lastError?: AgentError;
}

/**
 * The inventory service as the controller uses it: the whole cluster instead of one host. Every call retries what is
 * passing by the rules of the adapter, and rejects with AgentError `inventory.*`.
 */
export interface Installation {
  /**
   * Follows the cluster until the signal aborts, then resolves. Whoever follows shares one request each 20
   * seconds; `seen` is called with what is known, and after each answer.
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
  readonly addEvent: (event: InstallationEvent, signal: AbortSignal) => Promise<void>;
}
