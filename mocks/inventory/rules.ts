// The effect of a progress report at the service, as a pure function. Rules and texts come from
// assisted-service (UpdateInstallProgress), seen on running services of 2023 and 2024.
import { isComplete, isUnderWay } from './finalizing.ts';
import type { ClusterRecord, HostRecord, HostStatus } from './records.ts';

/** A received report. */
export interface ProgressReport {
  readonly stage: string;
  readonly info: string;
}

/** Facts about the cluster and the time that the rules need. */
export interface ProgressContext {
  readonly api: 'v1' | 'v2';
  readonly isSingleNode: boolean;
  /** Whether the host joins a running cluster. */
  readonly isDay2: boolean;
  readonly now: number;
}

/** The decision about a report. */
export type ProgressDecision =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'changed'; readonly host: HostRecord }
  | { readonly kind: 'refused'; readonly status: 409 | 500; readonly reason: string };

/** Maximum length of a text column in the service's database. */
export const LONGEST_TEXT = 2048;

const installing: ReadonlySet<HostStatus> = new Set([
  'installing',
  'installing-in-progress',
  'installing-pending-user-action',
]);

/** Decides the effect of a progress report on a host. */
export function decideProgress(
  host: HostRecord,
  report: ProgressReport,
  context: ProgressContext,
): ProgressDecision {
  if (report.stage === host.stage && report.info === host.stageInfo) return { kind: 'unchanged' };
  const refusal = refusalOf(host, report, context);
  if (refusal !== undefined) return refusal;
  return { kind: 'changed', host: changed(host, report, context) };
}

function refusalOf(
  host: HostRecord,
  { stage, info }: ProgressReport,
  { api, isSingleNode }: ProgressContext,
): ProgressDecision | undefined {
  if (stage !== host.stage && !installing.has(host.status)) {
    return refused(`Can't set progress <${stage}> to host in status <${host.status}>`);
  }
  if (host.stage !== '' && stage !== host.stage && stage !== 'Failed') {
    const ladder = ladderOf({ ...host, isSingleNode, api });
    if (!ladder.includes(stage)) {
      return refused(
        `Stages ${stage} isn't available for host role ${host.role} bootstrap ${host.isBootstrap}`,
      );
    }
    if (ladder.indexOf(stage) < ladder.indexOf(host.stage)) {
      return refused(
        `Can't assign lower stage "${stage}" after host has been in stage "${host.stage}"`,
      );
    }
  }
  const stored = stage === 'Failed' ? failedText(info) : info;
  if (stored.length <= LONGEST_TEXT) return undefined;
  return {
    kind: 'refused',
    status: 500,
    reason: `ERROR: value too long for type character varying(${LONGEST_TEXT}) (SQLSTATE 22001)`,
  };
}

const refused = (reason: string): ProgressDecision => ({ kind: 'refused', status: 409, reason });

const failedText = (info: string): string => `Failed - ${info}`;

function changed(
  host: HostRecord,
  { stage, info }: ProgressReport,
  { isDay2, now }: ProgressContext,
): HostRecord {
  // The stage stays, so that the page shows the stage of the failure.
  if (stage === 'Failed') return { ...host, status: 'error', statusInfo: failedText(info) };
  const isNewStage = stage !== host.stage;
  const moved: HostRecord = {
    ...host,
    stage,
    stageInfo: info,
    stageStartedAt: isNewStage ? now : host.stageStartedAt,
    stageUpdatedAt: now,
  };
  if (isDay2 && stage === 'Rebooting') {
    return { ...moved, stage: 'Done', status: 'added-to-existing-cluster', statusInfo: 'Done' };
  }
  if (stage === 'Done') return { ...moved, status: 'installed', statusInfo: 'Done' };
  if (!installing.has(host.status)) return moved;
  return { ...moved, status: 'installing-in-progress', statusInfo: stage };
}

// Effects of the hosts' state on the cluster and back, as pure functions. The service checks every
// ten seconds; the stand-in checks after each report.

/** A cluster with its hosts. */
export interface ClusterView {
  readonly cluster: ClusterRecord;
  readonly hosts: readonly HostRecord[];
}

/** A cluster with workers needs at least this many installed ones to finish. */
const LEAST_WORKERS = 2;

const lostText = 'Host is part of a cluster that failed to install';

const isEnabled = ({ status }: HostRecord): boolean => status !== 'disabled';

/** Updates cluster and hosts by their present state. Disabled hosts do not count. */
export function settle(view: ClusterView): ClusterView {
  if (!isUnderWay(view.cluster)) return view;
  const enabled = view.hosts.filter(isEnabled);
  if (hasFailed(enabled)) return failed(view);
  const to = (status: ClusterRecord['status'], statusInfo: string): ClusterView =>
    view.cluster.status === status
      ? view
      : { ...view, cluster: { ...view.cluster, status, statusInfo } };
  if (enabled.some(({ status }) => status === 'installing-pending-user-action')) {
    return to('installing-pending-user-action', 'Cluster has hosts pending user action');
  }
  if (view.cluster.status === 'finalizing') {
    return isComplete(view.cluster, view.hosts) ? to('installed', 'Cluster is installed') : view;
  }
  return isEnoughInstalled(enabled)
    ? to('finalizing', 'Finalizing cluster installation')
    : to('installing', 'Installation in progress');
}

function hasFailed(hosts: readonly HostRecord[]): boolean {
  const broken = hosts.filter(({ status }) => status === 'error');
  if (broken.some(({ role }) => role !== 'worker')) return true;
  const workers = hosts.filter(({ role }) => role === 'worker');
  return broken.length > 0 && workers.length - broken.length < LEAST_WORKERS;
}

function failed({ cluster, hosts }: ClusterView): ClusterView {
  return {
    cluster: { ...cluster, status: 'error', statusInfo: 'cluster has hosts in error' },
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

// A second copy on purpose: a stand-in that used the product's own table could never find a mistake
// in it.

/** Stages of version 2 of the service (assisted-service swagger, `host-stage`). */
export const stagesV2 = [
  'Starting installation',
  'Waiting for control plane',
  'Waiting for bootkube',
  'Waiting for controller',
  'Installing',
  'Writing image to disk',
  'Copying registry data to disk',
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
  'Failed',
] as const;

/** Stages of version 1, as of August 2020. */
export const stagesV1 = [
  'Starting installation',
  'Waiting for control plane',
  'Start Waiting for control plane',
  'Installing',
  'Writing image to disk',
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
  'Failed',
] as const;

/** The facts of a host that decide about its list of stages. */
interface LadderOwner {
  readonly role: string;
  readonly isBootstrap: boolean;
  readonly isSingleNode: boolean;
  readonly api: 'v1' | 'v2';
}

const begin = ['Starting installation', 'Installing'];
const write = ['Writing image to disk', 'Copying registry data to disk'];
const end = ['Configuring', 'Joined', 'Done'];

const laddersV2 = {
  bootstrap: [
    ...begin,
    ...write,
    'Waiting for control plane',
    'Waiting for bootkube',
    'Waiting for controller',
    'Rebooting',
    ...end,
  ],
  master: [...begin, ...write, 'Rebooting', ...end],
  worker: [
    ...begin,
    'Writing image to disk',
    'Waiting for control plane',
    'Rebooting',
    'Waiting for ignition',
    ...end,
  ],
  singleNode: [...begin, 'Waiting for bootkube', ...write, 'Rebooting', 'Joined', 'Done'],
};

const laddersV1 = {
  bootstrap: [
    ...begin,
    'Writing image to disk',
    'Waiting for control plane',
    'Rebooting',
    'Configuring',
    'Done',
  ],
  master: [...begin, 'Writing image to disk', 'Rebooting', ...end],
  worker: [
    ...begin,
    'Writing image to disk',
    'Rebooting',
    'Waiting for ignition',
    'Configuring',
    'Done',
  ],
};

/** The stages of a host in the order in which the service accepts them. */
export function ladderOf({ role, isBootstrap, isSingleNode, api }: LadderOwner): readonly string[] {
  const ladders = api === 'v1' ? laddersV1 : laddersV2;
  if (isSingleNode && api === 'v2') return laddersV2.singleNode;
  if (isBootstrap) return ladders.bootstrap;
  return role === 'worker' ? ladders.worker : ladders.master;
}
