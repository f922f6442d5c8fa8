import { hostIndexOf, hostOf } from '../../cluster/host-index.ts';
import {
  type InstallConfig,
  installConfigRef,
  readInstallConfig,
} from '../../cluster/install-config.ts';
import { nodes } from '../../kube/kinds.ts';
import { type ControlPlaneRole, machineIdOf, nodeLabel, readinessOf } from '../../cluster/node.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { gapIn } from '../../ports/kube-failures.ts';
import { type KubeObject, selectionOf } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { step, type StepScope } from '../step.ts';
import { otherHosts, tasksOf, type Tasks } from './inventory-hosts.ts';
import { fromFirstView, longestWait, combineWatches } from './kube-watch.ts';
import { untaintOf } from './untaint.ts';
import { bootkubeArgvs, followedBootkube } from './wait-for-bootkube.ts';

/** Waits until enough masters have joined the control plane that this host runs for them. */
export const waitForMasters = step({
  id: 'cluster/wait-for-masters',
  title: 'Wait for the masters to join',
  stage: 'Waiting for control plane',
  stageInfo: () => 'Waiting for masters to join bootstrap control plane',
  // The pull of the release image may continue after the write of the disk: the pull has a limit of
  // one hour, the write of half an hour.
  uses: ['kube', 'inventory', 'clock', 'host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(30),
  preview: () => bootkubeArgvs,
  explain: () =>
    'waits for two other masters, or one in a cluster of two; each must be Ready and reported as Joined, or its report unanswered for 10 seconds',
  run: (scope) => waitForNodes(scope, 'master'),
});

/** Waits until the arbiter has joined, in a cluster that has one. */
export const waitForArbiter = step({
  id: 'cluster/wait-for-arbiter',
  title: 'Wait for the arbiter to join',
  uses: ['kube', 'inventory', 'clock', 'host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(30),
  preview: () => bootkubeArgvs,
  explain: () =>
    'waits for one arbiter, Ready and reported as Joined, or its report unanswered for 10 seconds; skipped in a cluster without an arbiter',
  run: (scope) => waitForNodes(scope, 'arbiter'),
});

/** A poll restarts failed background work; the poll itself sends no request. */
const pollInterval = seconds(5);

/** Waits until `nodeTarget` nodes of a role count as joined. */
async function waitForNodes(
  scope: StepScope<'kube' | 'inventory' | 'clock' | 'host'>,
  role: ControlPlaneRole,
): Promise<void> {
  const since = scope.clock.elapsed();
  const installConfig = await knownInstallConfig(scope, longestWait);
  const target = nodeTarget(role, installConfig);
  if (target === 0) {
    scope.note('info', `not waiting for a ${role}: the install-config has none besides this host`);
    return;
  }
  const bootkube = followedBootkube(scope);
  const ofRole = fromFirstView(scope.kube, { kind: nodes, labelSelector: nodeLabel(role) });
  const tasks = tasksOf(scope);
  const joining = joiningOf(scope, tasks);
  const untaint = untaintOf(scope, tasks, installConfig);
  const beat = heartbeatOf(scope);
  let reported: string | undefined;
  const poll = async (): Promise<PollResult<true>> => {
    const seen = await ofRole.view();
    untaint(seen.objects);
    const found = joining(seen.objects);
    const { isDone, status } = nodeProgress(role, target, found);
    if (isDone) return { done: true };
    const gap = gapIn(seen);
    // A status about a question that was just sent would change a moment later.
    if (reported === undefined || !found.some(({ isAsked }) => isAsked === true)) {
      reported = gap === undefined ? status : bootkube.withFailure(`${status}; ${gap}`);
    }
    if (gap === undefined) beat();
    return { status: reported };
  };
  await scope.until(`${target} ${role}${target === 1 ? ' is' : 's are'} ready`, poll, {
    within: longestWait - (scope.clock.elapsed() - since),
    every: pollInterval,
    watch: combineWatches(ofRole.watch, tasks.watch, bootkube.watch),
  });
}

async function knownInstallConfig(
  scope: StepScope<'kube' | 'clock' | 'host'>,
  within: Millis,
): Promise<InstallConfig> {
  const { watch, view } = fromFirstView(scope.kube, selectionOf(installConfigRef));
  const bootkube = followedBootkube(scope);
  const poll = async (): Promise<PollResult<InstallConfig>> => {
    const seen = await view();
    const { objects, lastError } = seen;
    const reading = readInstallConfig(objects[0]);
    if ('installConfig' in reading) return { done: reading.installConfig };
    const status = (lastError && gapIn(seen)) ?? reading.problem;
    return { status: bootkube.withFailure(status) };
  };
  const limits = { within, watch: combineWatches(watch, bootkube.watch), every: minutes(1) };
  return scope.until('the install-config is in the cluster', poll, limits);
}

/** Masters that must have joined before the bootstrap host may leave: with two, etcd can write. */
const enoughMasters = 2;

/**
 * Number of nodes of a role that must have joined before the bootstrap host continues; 0 is no
 * wait. One of the masters is the bootstrap host itself (assisted-installer, `waitForNodes`).
 */
export function nodeTarget(role: ControlPlaneRole, config: InstallConfig): number {
  if (role === 'arbiter') return config.arbiterReplicas < 1 ? 0 : 1;
  return Math.max(0, Math.min(config.controlPlaneReplicas - 1, enoughMasters));
}

/**
 * Decides whether the wait ends: it counts the hosts whose nodes have joined, up to `target`. A
 * renamed host has two nodes but one member of etcd. The status names the missing conditions, for
 * people: `1 of 2 masters ready; m2: NotReady, container network is not ready`.
 */
function nodeProgress(
  role: ControlPlaneRole,
  target: number,
  nodes: readonly JoiningNode[],
): { readonly isDone: boolean; readonly status: string } {
  const counted = new Map<string, string>();
  for (const { name, host = name, missing } of nodes.toReversed()) {
    if (missing === undefined) counted.set(host, name);
  }
  const others = nodes.flatMap(({ name, host = name, missing }) => {
    const first = counted.get(host);
    const why = missing ?? (first === name ? undefined : `on the host of ${first}`);
    return why === undefined ? [] : [`${name}: ${why}`];
  });
  const absent =
    new Set(nodes.map(({ name, host = name }) => host)).size >= target
      ? []
      : [`no ${nodes.length === 0 ? '' : 'further '}${role} has joined yet`];
  return {
    isDone: counted.size >= target,
    status: [
      `${counted.size} of ${target} ${role}${target === 1 ? '' : 's'} ready`,
      ...others,
      ...absent,
    ].join('; '),
  };
}

/** A node of the role in a wait. */
interface JoiningNode {
  readonly name: string;
  /** The identity of its host; its name if no other identity is known. */
  readonly host?: string | undefined;
  /** The reason why it does not count yet; undefined for a node that counts. */
  readonly missing?: string | undefined;
  /** The first question to the service about it is pending. */
  readonly isAsked?: boolean;
}

/** Time limit for a report; then its node counts anyway. With the pause of a poll, 10 s. */
const reportTimeout = seconds(5);

/**
 * Decides for one wait which nodes count, and starts in the background the reports that they need.
 * A node counts if it is Ready and the service, if configured, knows that its host has joined, or
 * did not answer in time. A refused report (409) counts too: another agent has reported the stage,
 * or the service will never accept it. A host that the service does not list never counts: it does
 * not belong to this cluster. A node that counted once always counts, because a kubelet may lose
 * its connection for a moment when the API server moves.
 */
function joiningOf(
  scope: StepScope<'inventory' | 'clock'>,
  tasks: Tasks,
): (nodes: readonly KubeObject[]) => readonly JoiningNode[] {
  const { clock, config } = scope;
  const others = config.service.url.isEmpty ? undefined : otherHosts(scope, tasks);
  const counted = new Set<string>();
  /** The time at which each was Ready first. */
  const readySince = new Map<string, Millis>();

  const progressOf = (
    node: KubeObject,
    host: InventoryHost | undefined,
  ): Pick<JoiningNode, 'missing' | 'isAsked'> => {
    const readiness = readinessOf(node);
    if (!readiness.isReady) return { missing: `NotReady, ${readiness.reason}` };
    if (others === undefined) return {};
    const { name } = node.metadata;
    const since = readySince.get(name) ?? clock.elapsed();
    readySince.set(name, since);
    const end = host && (host.status === 'installed' ? 'accepted' : others.endOf(host));
    if (host === undefined) others.ask();
    else if (end === 'accepted' || end === 'inventory.refused') return {};
    else others.report(host, 'Joined');
    if (host === undefined && others.listed() !== undefined)
      return { missing: 'Ready, unknown to the inventory service' };
    if (clock.elapsed() - since >= reportTimeout) return {};
    const error = host === undefined ? others.lastError() : end;
    if (error === undefined) return { missing: 'Ready, being reported', isAsked: true };
    return host === undefined
      ? { missing: `Ready, the hosts of the inventory service cannot be listed (${error})` }
      : { missing: `Ready, not reported yet (${error})` };
  };

  return (nodes) => {
    const hosts = others?.listed();
    // Before the first node is Ready, which saves time later.
    if (hosts === undefined) others?.ask();
    return nodes.map((node) => {
      const { name } = node.metadata;
      const host = hosts && hostOf(node, hostIndexOf(hosts));
      const progress = counted.has(name) ? {} : progressOf(node, host);
      if (progress.missing === undefined) counted.add(name);
      return { name, host: host?.id ?? machineIdOf(node), ...progress };
    });
  };
}
