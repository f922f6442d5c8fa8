import type { MonitoredOperator, ClusterOverview, HostOverview } from '../ports/inventory.ts';
import { ladderOf, railOfStages } from './rail.ts';
import type { HostFailure, PageUpdate, Tone } from './state.ts';

/** Statuses of a cluster in which its installation is over (assisted-service, `cluster.status`). */
const ends: ReadonlySet<string> = new Set(['installed', 'error', 'cancelled']);

/** Statuses of a host in which it is a node (`host.status`). */
const installed: ReadonlySet<string> = new Set(['installed', 'added-to-existing-cluster']);

/**
 * What an answer of the inventory service tells a page; what is not new in it changes nothing
 * there.
 * @param at when it came, in milliseconds since the epoch
 */
export function updatesOf(answer: ClusterOverview, at: number): readonly PageUpdate[] {
  const cluster = withoutFuture(answer, at);
  const { name, version, status, statusInfo, startedAt, finalizing, hosts, operators } = cluster;
  const info = finalizing === '' ? statusInfo : `${statusInfo}: ${finalizing}`;
  return [
    { kind: 'begin', at, startedAt, title: `Cluster ${name}, OpenShift ${version}` },
    { kind: 'cluster', at, status, info, logs: logsOf(cluster, 'controller') },
    ...hosts.flatMap((host) => hostUpdates(host, cluster, at)),
    ...operators.map((operator) => operatorUpdate(operator, at)),
    ...endOf(cluster, at),
  ];
}

/**
 * A time of the service that is still to come counts as now: its clock, or what it was given, is
 * wrong.
 */
function withoutFuture(cluster: ClusterOverview, at: number): ClusterOverview {
  const past = (time: number | undefined): number | undefined => time && Math.min(time, at);
  return {
    ...cluster,
    startedAt: past(cluster.startedAt),
    completedAt: past(cluster.completedAt),
    hosts: cluster.hosts.map((host) => ({ ...host, stageSince: past(host.stageSince) })),
  };
}

function endOf(
  { status, statusInfo, completedAt }: ClusterOverview,
  at: number,
): readonly PageUpdate[] {
  if (!ends.has(status)) return [];
  const isGood = status === 'installed';
  const details = isGood || statusInfo === '' ? [] : [statusInfo];
  return [{ kind: 'end', at: completedAt ?? at, isGood, text: status, details }];
}

const tones: Readonly<Record<MonitoredOperator['status'], Tone>> = {
  available: 'good',
  progressing: 'busy',
  failed: 'bad',
  '': 'waiting',
};

function operatorUpdate({ name, status, statusInfo }: MonitoredOperator, at: number): PageUpdate {
  const word = status === '' ? 'not reported' : status;
  const state = statusInfo === '' ? word : `${word}: ${statusInfo}`;
  return { kind: 'object', at, object: { kind: 'Operator', name, state, tone: tones[status] } };
}

function hostUpdates(
  host: HostOverview,
  cluster: ClusterOverview,
  at: number,
): readonly PageUpdate[] {
  const { id, name, stage = '', statusInfo, hardware } = host;
  const status = isVictim(host) ? 'stopped' : host.status;
  const role = host.isBootstrap ? 'bootstrap' : host.role;
  const needsPerson = status === 'error' || status.includes('pending-user-action');
  const info = needsPerson ? statusInfo : host.stageInfo;
  const rail = railOfStages(ladderOf(role, cluster.isSingleNode));
  const since = host.stageSince ?? at;
  return [
    { kind: 'host', at, id, name: name === '' ? id : name, role, rail, hardware },
    { kind: 'stage', at, host: id, stage, info, status, since },
    ...hostEnd(host, cluster, at),
  ];
}

/**
 * Whether the service ended a host because of others (assisted-service,
 * `statusInfoAbortingDueClusterErrors`).
 */
export const isVictim = ({ status, statusInfo }: Pick<HostOverview, 'status' | 'statusInfo'>) =>
  status === 'error' && statusInfo === 'Host is part of a cluster that failed to install';

function hostEnd(host: HostOverview, cluster: ClusterOverview, at: number): readonly PageUpdate[] {
  const { id, status, statusInfo, stageSince, hasLogs } = host;
  if (installed.has(status))
    return [{ kind: 'host-end', at: stageSince ?? at, host: id, isGood: true, text: status }];
  const end = { kind: 'host-end', at, host: id, isGood: false } as const;
  if (status === 'cancelled' || isVictim(host))
    return [{ ...end, isStopped: true, text: 'stopped' }];
  if (status !== 'error') return [];
  const logs = hasLogs ? logsOf(cluster, `host&host_id=${id}`) : '';
  return [{ ...end, text: 'failed', failure: { ...failureIn(statusInfo), logs } }];
}

const logsOf = ({ id }: Pick<ClusterOverview, 'id'>, type: string): string =>
  `at the service, /api/assisted-install/v2/clusters/${id}/logs?logs_type=${type}`;

/**
 * A failure as our agent reports it, `CODE: MESSAGE — HINT`, behind the word that the service sets
 * before it; else only its text.
 */
export function failureIn(statusInfo: string): Pick<HostFailure, 'code' | 'message' | 'hint'> {
  const text = statusInfo.startsWith('Failed - ')
    ? statusInfo.slice('Failed - '.length)
    : statusInfo;
  const [code, hint] = [text.indexOf(': '), text.lastIndexOf(' — ')];
  if (code === -1 || hint < code || text.slice(0, code).includes(' ')) {
    return { code: '', message: statusInfo, hint: '' };
  }
  return {
    code: text.slice(0, code),
    message: text.slice(code + 2, hint),
    hint: text.slice(hint + 3),
  };
}
