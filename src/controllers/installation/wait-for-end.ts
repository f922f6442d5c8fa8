import { controllerEvent, controllerName } from '../../cluster/controller.ts';
import { events, nodes } from '../../kube/kinds.ts';
import { readyMasters } from '../../cluster/node.ts';
import {
  clusterVersionRef,
  clusterVersionSnapshot,
  type OperatorSnapshot,
} from '../../cluster/operators.ts';
import type { PollResult } from '../../engine/wait.ts';
import { noteFailed } from '../../engine/failures.ts';
import { type Millis, minutes, seconds, unlimited } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { InstallationView, InstallingCluster } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { gapIn } from '../../ports/kube-failures.ts';
import { followed, followedOne, together } from '../../steps/cluster/kube-watch.ts';
import { controllerFailure } from './failures.ts';
import { NewCluster } from './new-cluster.ts';
import { type ControllerScope, controllerStep, followedInstallation } from './step.ts';

/**
 * Waits until nothing is left to do for the installation: the service says so or, where it is
 * agent-based, the cluster itself. The other work of the controller ends with it.
 */
export const waitForEnd = controllerStep({
  id: 'controller/wait-for-end',
  title: 'Wait for the end of the installation',
  uses: ['inventory', 'kube', 'clock'],
  needs: { cluster: NewCluster },
  limit: unlimited,
  run: (scope, { cluster: { isAgentBased } }) =>
    isAgentBased ? waitForCluster(scope) : waitForService(scope),
});

const endStatuses: ReadonlySet<string> = new Set([
  'installed',
  'cancelled',
  'adding-hosts',
  'error',
]);

/**
 * Statuses from before an installation: once this controller runs, a reset alone leads there
 * (assisted-service, `ResetCluster`).
 */
const resetStatuses: ReadonlySet<string> = new Set([
  'insufficient',
  'pending-for-input',
  'ready',
  'preparing-for-installation',
]);

/** Whether the service takes nothing more of an installation. */
export const isEnded = ({ cluster }: Pick<InstallationView, 'cluster'>): boolean =>
  cluster !== undefined && (endStatuses.has(cluster.status) || resetStatuses.has(cluster.status));

/**
 * As long as three polls, a minute apart: a service that is being restarted may reject us for a
 * moment.
 */
const rejectedFor: Millis = minutes(2);

/** Whether the service knows the cluster or the token no more. */
export const isRejection = ({ code, context }: AgentError): boolean =>
  code === 'inventory.not-found' || context['status'] === 401;

/** Since when the service rejects us, by its newest answer: what is no answer changes nothing. */
function rejectedSince(
  { lastError }: InstallationView,
  before: number | undefined,
  now: number,
): number | undefined {
  if (lastError === undefined) return undefined;
  return isRejection(lastError) ? (before ?? now) : before;
}

async function waitForService(
  scope: ControllerScope<'inventory' | 'kube' | 'clock'>,
): Promise<void> {
  const { inventory, clock, until, note } = scope;
  const service = followedInstallation(inventory);
  let since: number | undefined;
  const end = await until(
    'the service ends the installation',
    () => {
      const view = service.view();
      since = rejectedSince(view, since, clock.elapsed());
      return Promise.resolve(endReason(view, since === undefined ? 0 : clock.elapsed() - since));
    },
    { watch: service.watch, every: seconds(30), within: unlimited },
  );
  if (end === tokenRejected) await failRejected(scope);
  note('info', end);
}

const tokenRejected = 'the service does not take our token any more';

/**
 * Says so in the cluster, and fails: the job starts the controller again, after growing pauses and
 * with the token that its Secret has then. Nobody else would complete the installation.
 */
async function failRejected(scope: ControllerScope<'kube' | 'clock'>): Promise<never> {
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

/** Whether the installation is over by what the service says, with the reason. */
export function endReason(view: InstallationView, rejected: Millis): PollResult<string> {
  const { cluster, lastError } = view;
  if (lastError !== undefined && isRejection(lastError) && rejected >= rejectedFor) {
    return lastError.code === 'inventory.not-found'
      ? { done: 'the service does not know the cluster any more' }
      : { done: tokenRejected };
  }
  if (cluster !== undefined && isEnded(view)) {
    const { status } = cluster;
    const reset = resetStatuses.has(status) ? 'the installation was reset at the service: ' : '';
    return { done: `${reset}the cluster is ${status}` };
  }
  if (lastError !== undefined) return { status: `the service does not answer (${lastError.code})` };
  return { status: statusText(cluster) };
}

function statusText(cluster: InstallingCluster | undefined): string {
  if (cluster === undefined) return 'the service has not answered yet';
  const { status, finalizing } = cluster;
  return finalizing === undefined
    ? `the cluster is ${status}`
    : `the cluster is ${status}: ${finalizing.stage}`;
}

/** What decides the end of an agent-based installation. */
export interface AgentBasedState {
  /** The cluster version was available once. */
  readonly wasAvailable: boolean;
  /** Undefined before it was seen. */
  readonly version: OperatorSnapshot | undefined;
  /** Why what was seen may be old. */
  readonly gap: string | undefined;
  readonly nodes: readonly KubeObject[];
  /** 0 where nodes are not waited for. */
  readonly expected: number;
}

/**
 * The service leaves with the bootstrap host, so the cluster itself says when it is installed. On a
 * single node the nodes are of no interest; elsewhere the bootstrap host is the last that joins,
 * and needs us until then.
 */
async function waitForCluster({ kube, config, until }: ControllerScope<'kube'>): Promise<void> {
  const count = config.cluster.controlPlaneCount;
  const expected = count > 1 ? count : 0;
  const version = followedOne(kube, clusterVersionRef);
  const members = followed(kube, { kind: nodes });
  let wasAvailable = false;
  const poll = (): Promise<PollResult<undefined>> => {
    const [found] = version.view().objects;
    const seen = found === undefined ? undefined : clusterVersionSnapshot(found);
    wasAvailable ||= seen?.status === 'available';
    const gap = gapIn(wasAvailable ? members.view() : version.view());
    const state = { wasAvailable, version: seen, gap, expected, nodes: members.view().objects };
    const status = missingOf(state);
    return Promise.resolve(status === undefined ? { done: undefined } : { status });
  };
  await until('the cluster is installed', poll, {
    watch: expected > 0 ? together(version.watch, members.watch) : version.watch,
    every: seconds(30),
    within: unlimited,
  });
}

/** What the installation still needs. */
function missingOf({
  wasAvailable,
  version,
  gap,
  nodes: all,
  expected,
}: AgentBasedState): string | undefined {
  if (!wasAvailable) {
    if (version === undefined || gap !== undefined) return gap ?? 'there is no cluster version yet';
    return version.text === ''
      ? 'the cluster version is not available yet'
      : `the cluster version is not available yet: ${version.text}`;
  }
  if (expected === 0) return undefined;
  // Until it is Ready its serving certificate may still have to be approved.
  const joined = readyMasters(all);
  return joined >= expected
    ? undefined
    : (gap ?? `${joined} of ${expected} control-plane nodes are Ready`);
}
