import type { MonitoredOperator, ClusterOverview, HostOverview } from '../ports/inventory.ts';
import { ladderOf, railOfStages } from './rail.ts';
import type { HostFailure, PageUpdate, Tone } from './state.ts';

/** Statuses of a cluster whose installation is over (assisted-service, `cluster.status`). */
const ends: ReadonlySet<string> = new Set(['installed', 'error', 'cancelled']);

/** Statuses of a host that is a node (`host.status`). */
const installed: ReadonlySet<string> = new Set(['installed', 'added-to-existing-cluster']);

const tones: Readonly<Record<MonitoredOperator['status'], Tone>> = {
  available: 'good',
  progressing: 'busy',
  failed: 'bad',
  '': 'waiting',
};

/**
 * The updates of a page from an answer of the inventory service; known information changes nothing.
 * @param at time of the answer, in milliseconds since the epoch
 */
export function updatesOf(cluster: ClusterOverview, at: number): readonly PageUpdate[] {
  const { name, version, status, statusInfo, finalizing, hosts, operators } = cluster;
  const info = finalizing === '' ? statusInfo : `${statusInfo}: ${finalizing}`;
  const title = `Cluster ${name}, OpenShift ${version}`;
  const startedAt = past(cluster.startedAt, at);
  return [
    { kind: 'begin', at, startedAt, title },
    { kind: 'cluster', at, status, info, logs: logsOf(cluster, 'controller') },
    ...hosts.flatMap((host) => hostUpdates(host, cluster, at)),
    ...operators.map((operator) => operatorUpdate(operator, at)),
    ...clusterEnd(cluster, at),
  ];
}

/** A time of the service; a time in the future counts as now, as it comes from a wrong clock. */
const past = (time: number | undefined, at: number): number | undefined =>
  time && Math.min(time, at);

function clusterEnd(cluster: ClusterOverview, at: number): readonly PageUpdate[] {
  const { status, statusInfo, completedAt } = cluster;
  if (!ends.has(status)) return [];
  const isGood = status === 'installed';
  const details = isGood || statusInfo === '' ? [] : [statusInfo];
  return [{ kind: 'end', at: past(completedAt, at) ?? at, isGood, text: status, details }];
}

function operatorUpdate({ name, status, statusInfo }: MonitoredOperator, at: number): PageUpdate {
  const word = status === '' ? 'not reported' : status;
  const state = statusInfo === '' ? word : `${word}: ${statusInfo}`;
  // The service has the ClusterVersion among the operators.
  const known = name === 'cvo' ? 'ClusterVersion' : name;
  return {
    kind: 'object',
    at,
    object: { kind: 'Operator', name: known, state, tone: tones[status] },
  };
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
  const since = past(host.stageSince, at) ?? at;
  const isGood = installed.has(status);
  const end = { kind: 'host-end', at: isGood ? since : at, host: id, isGood } as const;
  return [
    { kind: 'host', at, id, name: name === '' ? id : name, role, rail, hardware },
    { kind: 'stage', at, host: id, stage, info, status, since },
    ...(isGood ? [{ ...end, text: status }] : []),
    ...(['cancelled', 'stopped'].includes(status)
      ? [{ ...end, isStopped: true, text: 'stopped' }]
      : []),
    ...(status === 'error' ? [{ ...end, text: 'failed', failure: failureOf(host, cluster) }] : []),
  ];
}

const failureOf = (host: HostOverview, cluster: ClusterOverview): Partial<HostFailure> => ({
  ...failureIn(host.statusInfo),
  logs: host.hasLogs ? logsOf(cluster, `host&host_id=${host.id}`) : '',
});

/**
 * Whether the service ended a host because of other hosts (assisted-service,
 * `statusInfoAbortingDueClusterErrors`).
 */
export const isVictim = ({ status, statusInfo }: Pick<HostOverview, 'status' | 'statusInfo'>) =>
  status === 'error' && statusInfo === 'Host is part of a cluster that failed to install';

const logsOf = ({ id }: Pick<ClusterOverview, 'id'>, type: string): string =>
  `at the service, /api/assisted-install/v2/clusters/${id}/logs?logs_type=${type}`;

/**
 * A failure in the form of the agent's reports, `CODE: MESSAGE — HINT`, after the service's prefix;
 * in any other form only a text.
 */
function failureIn(statusInfo: string): Pick<HostFailure, 'code' | 'message' | 'hint'> {
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
