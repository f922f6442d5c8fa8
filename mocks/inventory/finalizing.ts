// Rules of the service for the end of an installation, as pure functions. They are written from
// assisted-service (`transition.go`, `statemachine.go`, `finalizing_stage.go`,
// `inventory_v2_handlers.go`), and separate from the product's own table on purpose.
import type { ClusterRecord, HostRecord, OperatorRecord } from './records.ts';

/** The stages of finalizing at the service (swagger, `finalizing-stage`). */
export const finalizingStages = [
  'Waiting for finalizing',
  'Waiting for cluster operators',
  'Adding router ca',
  'Applying olm manifests',
  'Waiting for olm operators csv initialization',
  'Waiting for olm operators csv',
  'Waiting for OLM operator setup jobs',
  'Done',
] as const;

/** The decision about a request for the end of an installation. */
export type EndDecision =
  | { readonly kind: 'changed'; readonly cluster: ClusterRecord }
  | { readonly kind: 'refused'; readonly status: 400 | 404 | 500; readonly reason: string };

const refused = (status: 400 | 404 | 500, reason: string): EndDecision => ({
  kind: 'refused',
  status,
  reason,
});

const changed = (cluster: ClusterRecord, change: Partial<ClusterRecord>): EndDecision => ({
  kind: 'changed',
  cluster: { ...cluster, ...change },
});

/**
 * Whether an installation is under way; one that waits for a person's action continues by itself.
 */
export const isUnderWay = ({ status }: ClusterRecord): boolean =>
  ['installing', 'installing-pending-user-action', 'finalizing'].includes(status);

/** Accepts a stage of finalizing, also a lower one than before, but only during an installation. */
export function decideStage(cluster: ClusterRecord, stage: string, now: number): EndDecision {
  if (!isUnderWay(cluster)) {
    return refused(400, `finalizing stage ${stage} cannot be set in status ${cluster.status}`);
  }
  if (cluster.finalizing?.stage === stage) return changed(cluster, {});
  return changed(cluster, { finalizing: { stage, isTimedOut: false, startedAt: now } });
}

/** Accepts a report about an operator, in any status of the cluster. */
export function decideOperator(
  cluster: ClusterRecord,
  report: Pick<OperatorRecord, 'name' | 'status' | 'statusInfo'> & { readonly version?: string },
): EndDecision {
  const { name, status, statusInfo, version } = report;
  if (!cluster.operators.some((one) => one.name === name)) return refused(404, 'record not found');
  const operators = cluster.operators.map((one) =>
    one.name === name ? { ...one, status, statusInfo, version: version ?? one.version } : one,
  );
  return changed(cluster, { operators });
}

const takesIngressCa: ReadonlySet<string> = new Set(['finalizing', 'installed', 'adding-hosts']);

/** Accepts the certificates of the ingress; from then on there is a complete kubeconfig. */
export function decideIngressCa(cluster: ClusterRecord, pem: string): EndDecision {
  if (!takesIngressCa.has(cluster.status)) {
    return refused(400, `cluster is in ${cluster.status} state, ingress ca cannot be uploaded`);
  }
  if (!/-----BEGIN CERTIFICATE-----\n[\s\S]+-----END CERTIFICATE-----/.test(pem)) {
    return refused(500, 'No certificates were found in the ingress ca');
  }
  return changed(cluster, { hasIngressCa: true });
}

/**
 * The end reported by the controller: the service believes a failure, and decides about success
 * itself.
 */
export function decideCompletion(
  cluster: ClusterRecord,
  { isSuccess, error }: { readonly isSuccess: boolean; readonly error: string },
): EndDecision {
  if (isSuccess) return changed(cluster, {});
  if (cluster.status !== 'finalizing') {
    return refused(500, `failed to update cluster ${cluster.id}: record not found`);
  }
  return changed(cluster, { status: 'error', statusInfo: error });
}

const doneHosts: ReadonlySet<string> = new Set(['installed', 'error', 'disabled']);

/**
 * Whether the cluster is installed: its hosts are done, it has its kubeconfig, and its operators
 * are complete.
 */
export function isComplete(cluster: ClusterRecord, hosts: readonly HostRecord[]): boolean {
  return (
    cluster.hasIngressCa &&
    hosts.every(({ status }) => doneHosts.has(status)) &&
    cluster.operators.every(
      ({ type, status }) => status === 'available' || (type === 'olm' && status === 'failed'),
    )
  );
}

const minutes = (count: number): number => count * 60_000;

/** Time limits of the stages, in milliseconds. */
const stageLimits: Readonly<Record<string, number>> = {
  'Waiting for cluster operators': minutes(600),
  'Adding router ca': minutes(70),
  'Applying olm manifests': minutes(10),
  'Waiting for olm operators csv initialization': minutes(70),
  'Waiting for olm operators csv': minutes(70),
  Done: minutes(70),
};

/** Stages whose timeout is not a failure: the controller continues without them. */
const nonFailing: ReadonlySet<string> = new Set([
  'Applying olm manifests',
  'Waiting for olm operators csv initialization',
  'Waiting for olm operators csv',
]);

/** The cluster after the timeout of its stage of finalizing; undefined before the timeout. */
export function overdue(
  cluster: ClusterRecord,
  now: number,
  own: Readonly<Record<string, number>> = {},
): ClusterRecord | undefined {
  const { finalizing, status } = cluster;
  if (finalizing === undefined || (status !== 'installing' && status !== 'finalizing')) {
    return undefined;
  }
  const { stage, startedAt } = finalizing;
  const limit = own[stage] ?? limitOf(stage, cluster.operators);
  if (limit === undefined || finalizing.isTimedOut || now - startedAt <= limit) return undefined;
  if (nonFailing.has(stage)) return { ...cluster, finalizing: { ...finalizing, isTimedOut: true } };
  const statusInfo = `finalizing stage '${stage}' took longer than expected ${lengthOf(limit)}`;
  return { ...cluster, status: 'error', statusInfo };
}

/** The service only uses whole minutes; a limit in the lab may be shorter. */
const lengthOf = (limit: number): string =>
  limit < minutes(1) ? `${limit / 1000} seconds` : `${Math.round(limit / minutes(1))} minutes`;

/** The stages of operators last as long as the limit of their slowest operator. */
function limitOf(stage: string, operators: readonly OperatorRecord[]): number | undefined {
  const limit = stageLimits[stage];
  if (limit === undefined || !stage.startsWith('Waiting for olm operators')) return limit;
  return Math.max(limit, ...operators.map(({ timeoutSeconds }) => timeoutSeconds * 1000));
}

// The timers of the service (assisted-service, `HOST_STAGE_*_TIMEOUT` and `host/transition.go`), a
// second copy on purpose: a stand-in that used the product's own table could never find a mistake
// in it.

/** Time for which a host may stay at a stage without a changed text, in milliseconds. */
const hostStageLimits: Readonly<Record<string, number>> = {
  'Starting installation': minutes(30),
  Installing: minutes(60),
  'Writing image to disk': minutes(30),
  'Copying registry data to disk': minutes(90),
  'Waiting for control plane': minutes(60),
  'Waiting for bootkube': minutes(60),
  'Waiting for controller': minutes(60),
  Rebooting: minutes(40),
  'Waiting for ignition': minutes(24 * 60),
  Configuring: minutes(60),
  Joined: minutes(60),
};

/** Waits that do not time out while a user has to act on another host. */
const exempt: ReadonlySet<string> = new Set([
  'Waiting for control plane',
  'Waiting for bootkube',
  'Waiting for controller',
  'Rebooting',
]);

/**
 * A host after the timeout of its stage; undefined before the timeout.
 * @param state.limits shorter ones of the lab, in milliseconds
 */
export function timedOut(
  host: HostRecord,
  {
    now,
    waitsForUser,
    limits = {},
  }: {
    readonly now: number;
    readonly waitsForUser: boolean;
    readonly limits?: Readonly<Record<string, number>>;
  },
): HostRecord | undefined {
  const { stage, status, stageUpdatedAt } = host;
  const limit = limits[stage] ?? hostStageLimits[stage];
  if (status !== 'installing-in-progress' || limit === undefined) return undefined;
  if (now - stageUpdatedAt <= limit || (waitsForUser && exempt.has(stage))) return undefined;
  if (stage === 'Rebooting') {
    return {
      ...host,
      status: 'installing-pending-user-action',
      statusInfo: 'Expected the host to boot from disk, but it booted the installation image',
    };
  }
  return {
    ...host,
    status: 'error',
    statusInfo: `Host failed to install because its installation stage ${stage} took longer than expected ${durationOf(limit)}`,
  };
}

/** Go's form of a duration, for whole hours and for the seconds of the lab. */
const durationOf = (limit: number): string =>
  limit < minutes(60) ? `${limit / 1000}s` : `${limit / minutes(60)}h`;
