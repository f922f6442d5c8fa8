import type { Millis } from '../model/duration.ts';
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
  /** Where it comes from, for people: no credentials in it. */
  readonly origin: string;
}

/** State of a log upload as the service keeps it. */
export type LogsState = 'requested' | 'collecting' | 'completed';

/** What the service has made of the reports of this run. */
export interface ReportStatus {
  /** Reports that it has not answered, the oldest first; none where a later one was answered. */
  readonly unanswered: readonly { readonly stage: Stage; readonly info: string }[];
  /** Status in which the service installs this host no more, by its last answer: `cancelled`, `error`. */
  readonly refusedIn?: string;
}

/** How the reports of this run's own stages fare; they leave by themselves. */
export interface Reports {
  /**
   * Waits until every report so far has been answered, at most so long; it never rejects. From then on a refusal ends
   * the run at its next step or in a wait.
   */
  readonly settled: (within: Millis, signal: AbortSignal) => Promise<ReportStatus>;
  /**
   * Asks the service for the status of this host, where others show that the installation may be over: it takes each
   * new text of a stage whatever the status is.
   */
  readonly confirm: (signal: AbortSignal) => Promise<void>;
  /**
   * The same for the last report of a run, at most a minute; once the signal aborts, for `Failed` alone,
   * two seconds at most. When that was in vain once, nothing is waited for again.
   */
  readonly flush: (signal: AbortSignal) => Promise<ReportStatus>;
}

/**
 * The inventory service, version 2 or 1 of its interface. Every call retries what is passing by the
 * rules of the adapter, and rejects with AgentError `inventory.*`.
 */
export interface Inventory {
  /**
   * Reports a stage of a host. `inventory.refused` (409) is not retried; its context has `hostStatus`
   * where the service takes no new stage in that status.
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
  /** Hosts of a role; the bootstrap host is listed as a master. Only one that a user named has a name. */
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
}
