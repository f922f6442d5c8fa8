import { type ClusterView, settle } from './cluster-rules.ts';
import type { ClusterRecord, HostRecord } from './records.ts';
import { decideProgress, type ProgressDecision, type ProgressReport } from './stage-rules.ts';

/** The service's memory: one cluster and its hosts. */
export interface InventoryStore {
  readonly cluster: () => ClusterRecord;
  readonly hosts: () => readonly HostRecord[];
  readonly host: (id: string) => HostRecord | undefined;
  /** Applies a progress report by the rules of the service; undefined for an unknown host. */
  readonly report: (
    hostId: string,
    report: ProgressReport,
    api: 'v1' | 'v2',
  ) => ProgressDecision | undefined;
  /** Notes how far the logs of a host are; false for an unknown host. */
  readonly setHostLogs: (
    hostId: string,
    logs: Partial<Pick<HostRecord, 'logsState' | 'logBytes'>>,
  ) => boolean;
  readonly setClusterLogs: (state: string) => void;
  /** Cancels the installation as a user does. */
  readonly cancel: () => void;
}

/** Makes the memory of a service; `now` gives milliseconds. */
export function inventoryStore(begin: ClusterView, now: () => number = Date.now): InventoryStore {
  let view = begin;
  const find = (id: string): HostRecord | undefined => view.hosts.find((one) => one.id === id);
  const replace = (host: HostRecord): void => {
    view = { ...view, hosts: view.hosts.map((one) => (one.id === host.id ? host : one)) };
  };
  return {
    cluster: () => view.cluster,
    hosts: () => view.hosts,
    host: find,
    report: (hostId, report, api) => {
      const host = find(hostId);
      if (host === undefined) return undefined;
      const decision = decideProgress(host, report, {
        api,
        isSingleNode: view.cluster.controlPlaneCount === 1,
        isDay2: view.cluster.kind === 'AddHostsCluster',
        now: now(),
      });
      if (decision.kind === 'changed') {
        replace(decision.host);
        view = settle(view);
      }
      return decision;
    },
    setHostLogs: (hostId, logs) => {
      const host = find(hostId);
      if (host !== undefined) replace({ ...host, ...logs });
      return host !== undefined;
    },
    setClusterLogs: (logsState) => {
      view = { ...view, cluster: { ...view.cluster, logsState } };
    },
    cancel: () => {
      view = {
        cluster: { ...view.cluster, status: 'cancelled' },
        hosts: view.hosts.map((host) => ({
          ...host,
          status: 'cancelled',
          statusInfo: 'Installation cancelled by user',
        })),
      };
    },
  };
}
