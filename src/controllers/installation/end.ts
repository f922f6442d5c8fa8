import { controllerEvent, controllerName } from '../../cluster/controller.ts';
import { readRequest } from '../../cluster/csr/read-request.ts';
import { readinessOf, readyMasters } from '../../cluster/node.ts';
import { clusterVersionRef, clusterVersionSnapshot } from '../../cluster/operators.ts';
import { noteFailed } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { certificateSigningRequests, events, nodes as nodeKind } from '../../kube/kinds.ts';
import { type Millis, minutes, seconds, unlimited } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { InstallationView } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn } from '../../ports/kube-failures.ts';
import {
  followed,
  followedOne,
  gapAmong,
  longestWait,
  combineWatches,
} from '../../steps/cluster/kube-watch.ts';
import { type LeftRecord, recordRef } from '../../steps/cluster/left-record.ts';
import { controllerFailure } from './failures.ts';
import type { NewCluster } from './new-cluster.ts';
import { followedInstallation, type StepScope } from './scope.ts';
import { recordIn } from './without-service.ts';

// The end of an installation, with which its controllers end: each kind of installation has one of
// the waits below.

const endStatuses: ReadonlySet<string> = new Set([
  'installed',
  'cancelled',
  'adding-hosts',
  'error',
]);

/**
 * Statuses before an installation: once this controller runs, only a reset leads there
 * (assisted-service, `ResetCluster`).
 */
const resetStatuses: ReadonlySet<string> = new Set([
  'insufficient',
  'pending-for-input',
  'ready',
  'preparing-for-installation',
]);

/** Whether the service accepts nothing more for an installation. */
export const isEnded = ({ cluster }: Pick<InstallationView, 'cluster'>): boolean =>
  cluster !== undefined && (endStatuses.has(cluster.status) || resetStatuses.has(cluster.status));

/**
 * The time of three polls, a minute apart: a service that is restarting may reject us for a moment.
 */
const rejectedFor: Millis = minutes(2);

/** Whether the service no longer knows the cluster or the token. */
export const isRejection = ({ code, context }: AgentError): boolean =>
  code === 'inventory.not-found' || context['status'] === 401;

/**
 * Waits until the service reports the end of the installation.
 * @throws AgentError `controller.token-rejected`
 */
export async function waitForService(scope: StepScope): Promise<void> {
  const { inventory, clock, until, note } = scope;
  const service = followedInstallation(inventory);
  let rejectedSince: Millis | undefined;
  const end = await until(
    'the service ends the installation',
    (): PollResult<string> => {
      const { cluster, lastError } = service.view();
      if (lastError === undefined) rejectedSince = undefined;
      else if (isRejection(lastError)) {
        rejectedSince ??= clock.elapsed();
        if (clock.elapsed() - rejectedSince >= rejectedFor) {
          const isUnknown = lastError.code === 'inventory.not-found';
          return { done: isUnknown ? clusterUnknown : tokenRejected };
        }
      }
      if (cluster !== undefined && isEnded({ cluster })) {
        const { status, statusInfo } = cluster;
        const reset = resetStatuses.has(status)
          ? 'the installation was reset at the service: '
          : '';
        const isBad = ['error', 'cancelled'].includes(status) && statusInfo !== undefined;
        return { done: `${reset}the cluster is ${status}${isBad ? `: ${statusInfo}` : ''}` };
      }
      if (lastError !== undefined)
        return { status: `the service does not answer (${lastError.code})` };
      if (cluster === undefined) return { status: 'the service has not answered yet' };
      const stage = cluster.finalizing === undefined ? '' : `: ${cluster.finalizing.stage}`;
      return { status: `the cluster is ${cluster.status}${stage}` };
    },
    { watch: service.watch, every: seconds(30), within: unlimited },
  );
  if (end === tokenRejected) await failRejected(scope);
  note('info', end);
}

const clusterUnknown = 'the service does not know the cluster any more';
const tokenRejected = 'the service does not take our token any more';

/**
 * Reports the rejection in the cluster, and fails: the job restarts the controller, after growing
 * pauses and with the current token of its Secret. No other program would complete the
 * installation.
 */
async function failRejected(scope: StepScope): Promise<never> {
  const { kube, clock, config, signal } = scope;
  const { namespace } = config;
  const failure = controllerFailure('controller.token-rejected', tokenRejected);
  const at = clock.now();
  const event = controllerEvent({
    namespace,
    name: `${controllerName}.${at.toString(36)}`,
    at,
    count: 1,
    reason: 'InventoryTokenRejected',
    type: 'Warning',
    message: `${failure.message}: ${failure.hint}`,
  });
  await kube.create({ kind: events, namespace }, event, signal).catch((error: unknown) => {
    noteFailed(scope, 'could not say so by an event', error);
  });
  throw failure;
}

/**
 * Waits until an agent-based installation is complete. The service leaves with the bootstrap host,
 * so the cluster itself shows the end: its ClusterVersion was Available once, and all control-plane
 * nodes are Ready. The bootstrap host joins last, and needs this controller until then. On a single
 * node the nodes do not matter.
 */
export async function waitForCluster({ kube, config, until }: StepScope): Promise<void> {
  const count = config.cluster.controlPlaneCount;
  const expected = count > 1 ? count : 0;
  const version = followedOne(kube, clusterVersionRef);
  const members = followed(kube, { kind: nodeKind });
  let wasAvailable = false;
  const poll = (): PollResult<undefined> => {
    const [found] = version.view().objects;
    const seen = found === undefined ? undefined : clusterVersionSnapshot(found);
    wasAvailable ||= seen?.status === 'available';
    if (!wasAvailable) {
      const gap = gapIn(version.view());
      if (seen === undefined || gap !== undefined)
        return { status: gap ?? 'there is no cluster version yet' };
      const text = seen.text === '' ? '' : `: ${seen.text}`;
      return { status: `the cluster version is not available yet${text}` };
    }
    // Until a node is Ready its serving certificate may still need an approval.
    const ready = readyMasters(members.view().objects);
    if (ready >= expected) return { done: undefined };
    const gap = gapIn(members.view());
    return { status: gap ?? `${ready} of ${expected} control-plane nodes are Ready` };
  };
  await until('the cluster is installed', poll, {
    watch: expected > 0 ? combineWatches(version.watch, members.watch) : version.watch,
    every: seconds(30),
    within: unlimited,
  });
}

/** The number of masters where it is not set, as in most clusters. */
const usualMasters = 3;

/**
 * Without a service: waits until the bootstrap host has joined the cluster as a node; after that
 * the controller is not needed any more. It continues after a day even without that host.
 */
export async function waitForBootstrapHost(
  scope: StepScope,
  { controlPlaneReplicas }: NewCluster,
): Promise<void> {
  const { kube, clock, config, until, note } = scope;
  note('info', 'there is no inventory service: what the bootstrap host has left is done, no more');
  const records = followedOne(kube, recordRef);
  const requests = followed(kube, { kind: certificateSigningRequests });
  const nodes = followed(kube, { kind: nodeKind });
  const masters = controlPlaneReplicas || config.cluster.controlPlaneCount || usualMasters;
  let readySince: Millis | undefined;
  const poll = (): PollResult<string> => {
    const gap = gapAmong(records, requests, nodes);
    if (gap !== undefined) return { status: gap };
    const record = recordIn(records.view().objects);
    const seen = { record, nodes: nodes.view().objects, requests: requests.view().objects };
    const now = clock.elapsed();
    readySince = ownReadiness(seen)?.isReady === true ? (readySince ?? now) : undefined;
    return endOfHost({ ...seen, masters, readyFor: now - (readySince ?? now) });
  };
  try {
    const end = await until('the bootstrap host has joined the cluster', poll, {
      watch: combineWatches(records.watch, requests.watch, nodes.watch),
      every: seconds(30),
      within: longestWait,
    });
    note('info', end);
  } catch (error) {
    noteFailed(scope, 'the bootstrap host has not joined; continuing without it', error);
  }
}

/** All known facts about the bootstrap host at one moment. */
export interface HostState {
  readonly record: LeftRecord | undefined;
  readonly nodes: readonly KubeObject[];
  readonly requests: readonly KubeObject[];
  /** Number of control-plane nodes of the complete cluster. */
  readonly masters: number;
  /** How long its node has been Ready without interruption. */
  readonly readyFor: Millis;
}

/**
 * A node that is Ready for this long without a pending request has its certificates: approved
 * requests are deleted after an hour, and another approver may have approved them before this
 * controller started.
 */
export const quietTime: Millis = minutes(10);

const ownReadiness = ({ record, nodes }: Pick<HostState, 'record' | 'nodes'>) => {
  const own = nodes.find(({ metadata: { name } }) => name === record?.node);
  return own && readinessOf(own);
};

/**
 * Whether the wait is over, or the missing condition. Without a record the host may still write
 * one, unless all control-plane nodes exist: the host is the last of them.
 */
export function endOfHost(state: HostState): PollResult<string> {
  const { record, nodes, requests, masters, readyFor } = state;
  if (record === undefined) {
    const ready = readyMasters(nodes);
    return ready >= masters
      ? { done: 'all control-plane nodes are Ready, and there is no record of a bootstrap host' }
      : {
          status: `no record of a bootstrap host; ${ready} of ${masters} control-plane nodes Ready`,
        };
  }
  const { node } = record;
  const readiness = ownReadiness(state);
  if (readiness === undefined) return { status: `${node} has not joined` };
  if (!readiness.isReady)
    return { status: `${node} has joined and is not Ready: ${readiness.reason}` };
  const states = requests
    .map(readRequest)
    .flatMap((request) => (request.servedUser === `system:node:${node}` ? [request.state] : []));
  const isQuiet = readyFor >= quietTime && !states.includes('pending');
  return states.includes('approved') || isQuiet
    ? { done: `node ${node} is Ready` }
    : { status: `${node} is Ready and waits for a serving certificate` };
}
