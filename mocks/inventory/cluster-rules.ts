// What the state of the hosts does to the cluster and back, as pure functions. The service looks
// every ten seconds; here it looks after each report.
import type { ClusterRecord, HostRecord } from './records.ts';

/** A cluster with its hosts. */
export interface ClusterView {
  readonly cluster: ClusterRecord;
  readonly hosts: readonly HostRecord[];
}

/** With fewer installed workers a cluster that has workers cannot finish. */
const LEAST_WORKERS = 2;

const lostText = 'Host is part of a cluster that failed to install';

const isEnabled = ({ status }: HostRecord): boolean => status !== 'disabled';

/** Brings cluster and hosts to what follows from the present state. Disabled hosts do not count. */
export function settle(view: ClusterView): ClusterView {
  if (view.cluster.status !== 'installing' && view.cluster.status !== 'finalizing') return view;
  const enabled = view.hosts.filter(isEnabled);
  if (hasFailed(enabled)) return failed(view);
  return isEnoughInstalled(enabled)
    ? { ...view, cluster: { ...view.cluster, status: 'finalizing' } }
    : view;
}

function hasFailed(hosts: readonly HostRecord[]): boolean {
  const broken = hosts.filter(({ status }) => status === 'error');
  if (broken.some(({ role }) => role !== 'worker')) return true;
  const workers = hosts.filter(({ role }) => role === 'worker');
  return broken.length > 0 && workers.length - broken.length < LEAST_WORKERS;
}

function failed({ cluster, hosts }: ClusterView): ClusterView {
  return {
    cluster: { ...cluster, status: 'error' },
    hosts: hosts.map((host) =>
      host.status === 'error' || !isEnabled(host)
        ? host
        : { ...host, status: 'error', statusInfo: lostText },
    ),
  };
}

function isEnoughInstalled(hosts: readonly HostRecord[]): boolean {
  const installed = hosts.filter(({ status }) => status === 'installed');
  const workers = hosts.filter(({ role }) => role === 'worker');
  const installedWorkers = installed.filter(({ role }) => role === 'worker');
  return (
    hosts.length - workers.length === installed.length - installedWorkers.length &&
    installedWorkers.length >= Math.min(LEAST_WORKERS, workers.length)
  );
}
