import { hostOf, hostOfNode } from '../../cluster/host-index.ts';
import {
  type InstallConfig,
  installConfigRef,
  readInstallConfig,
} from '../../cluster/install-config.ts';
import { nodes } from '../../kube/kinds.ts';
import {
  type ControlPlaneRole,
  nodeLabel,
  internalAddresses,
  machineIdOf,
  readinessOf,
} from '../../cluster/node.ts';
import type { PollResult, Watch } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { gapIn } from '../../ports/kube-failures.ts';
import { type KubeObject, selectionOf } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { step, type StepScope } from '../step.ts';
import { hostReportsOf, knownHostsOf, type ReportEnd } from './inventory-hosts.ts';
import { fromFirstView, longestWait, together } from './kube-watch.ts';
import { tasksOf, type Tasks } from './tasks.ts';
import { untaintOf } from './untaint.ts';
import { bootkubeArgvs, followedBootkube } from './wait-for-bootkube.ts';

/** Waits until enough masters have joined the control plane that this host runs for them. */
export const waitForMasters = step({
  id: 'cluster/wait-for-masters',
  title: 'Wait for the masters to join',
  stage: 'Waiting for control plane',
  stageInfo: () => 'Waiting for masters to join bootstrap control plane',
  // The release image may still be pulled when the disk is written: that has an hour, the write
  // half of one.
  uses: ['kube', 'inventory', 'clock', 'host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(30),
  preview: () => bootkubeArgvs,
  explain: () =>
    'waits for two masters besides this host, Ready and reported as Joined, or tried to be for 10 seconds; one if there are two',
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
    'waits for one arbiter, Ready and reported as Joined, or tried to be for 10 seconds; skipped in a cluster without one',
  run: (scope) => waitForNodes(scope, 'arbiter'),
});

type NodeWaitScope = StepScope<'kube' | 'inventory' | 'clock' | 'host'>;

/** Failed background work is started again by a poll; the poll itself sends no request. */
const pollInterval = seconds(5);

/** Waits until `nodeTarget` nodes of a role count as joined. */
async function waitForNodes(scope: NodeWaitScope, role: ControlPlaneRole): Promise<void> {
  const since = scope.clock.elapsed();
  const installConfig = await knownInstallConfig(scope, longestWait);
  const target = nodeTarget(role, installConfig);
  if (target === 0) {
    scope.note('info', `not waiting for a ${role}: the install-config has none besides this host`);
    return;
  }
  const bootkube = followedBootkube(scope);
  const ofRole = fromFirstView(scope.kube, { kind: nodes, labelSelector: nodeLabel(role) });
  let notify = (): void => undefined;
  const tasks = tasksOf(scope, () => notify());
  const joining = joiningOf(scope, tasks);
  const untaint = untaintOf(scope, tasks, installConfig);
  const beat = heartbeatOf(scope);
  let reported: string | undefined;
  const poll = async (): Promise<PollResult<true>> => {
    const seen = await ofRole.view();
    joining.prepare();
    untaint(seen.objects);
    const { isDone, status } = nodeProgress(role, target, seen.objects.map(joining.statusOf));
    if (isDone) return { done: true };
    const gap = gapIn(seen);
    // A status that only says that work has just started would change in a moment.
    if (reported === undefined || !tasks.isNewRunning()) {
      reported = gap === undefined ? status : bootkube.withFailure(`${status}; ${gap}`);
    }
    if (gap === undefined) beat();
    return { status: reported };
  };
  const watch: Watch = (changed, signal) => {
    notify = changed;
    return ofRole.watch(changed, signal);
  };
  try {
    await scope.until(`${target} ${role}${target === 1 ? ' is' : 's are'} ready`, poll, {
      within: longestWait - (scope.clock.elapsed() - since),
      every: pollInterval,
      watch: together(watch, bootkube.watch),
    });
  } finally {
    await tasks.close();
  }
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
  const limits = { within, watch: together(watch, bootkube.watch), every: minutes(1) };
  return scope.until('the install-config is in the cluster', poll, limits);
}

/** Masters that must have joined before the bootstrap host may leave: with two, etcd can write. */
const enoughMasters = 2;

/**
 * How many nodes of a role must have joined before the bootstrap host continues; 0 is no wait. One
 * of the masters is the bootstrap host itself (assisted-installer, `waitForNodes`).
 */
export function nodeTarget(role: ControlPlaneRole, config: InstallConfig): number {
  if (role === 'arbiter') return config.arbiterReplicas < 1 ? 0 : 1;
  return Math.max(0, Math.min(config.controlPlaneReplicas - 1, enoughMasters));
}

/**
 * Decides whether the wait ends: nodes of `target` hosts count. A host whose name changed has two
 * nodes, and one member of etcd. Else its status names what is missing, for people: `1 of 2 masters
 * ready; m2: NotReady, container network is not ready`.
 */
export function nodeProgress(
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

/** A node of the role that is waited for. */
export interface JoiningNode {
  readonly name: string;
  /** What its host is known by; its name where nothing else is. */
  readonly host?: string;
  /** Why it does not count yet; undefined for a node that counts. */
  readonly missing?: string;
}

/** Decides which nodes count as joined, and reports them to the inventory service. */
interface Joining {
  /** Requests the hosts before the first node is Ready, which saves time then. */
  readonly prepare: () => void;
  /** Whether a node counts; starts in the background what is missing for it to count. */
  readonly statusOf: (node: KubeObject) => JoiningNode;
}

/**
 * How long a report is tried before its node counts all the same; with the pause of a poll, 10 s.
 */
const reportTimeout = seconds(5);

/** Without an inventory service a Ready node counts by itself. */
const readyCounts: Joining = {
  prepare: () => undefined,
  statusOf: (node) => {
    const readiness = readinessOf(node);
    const known = { name: node.metadata.name, host: machineIdOf(node) };
    return readiness.isReady ? known : { ...known, missing: `NotReady, ${readiness.reason}` };
  },
};

/**
 * Decides for one wait which nodes count. A node counts when it is Ready and the service knows that
 * its host has joined, or did not answer in time. A refused report (409)
 * counts too: another has reported it, or the service will never accept it. A host that the service
 * does not list never counts: it is none of this cluster. A node that counted once always counts,
 * because kubelets drop out for a moment when the API server moves.
 */
function joiningOf(scope: StepScope<'inventory' | 'clock'>, tasks: Tasks): Joining {
  if (scope.config.service.url.isEmpty) return readyCounts;
  const known = knownHostsOf(scope, tasks);
  const reports = hostReportsOf(scope, tasks);
  const counted = new Set<string>();
  /** When each was seen Ready first. */
  const readySince = new Map<string, Millis>();

  const isReported = (host: InventoryHost): boolean =>
    host.status === 'installed' || typeof reports.endOf(host) === 'string';

  const listedHost = (
    node: Parameters<typeof hostOfNode>[0],
  ): InventoryHost | 'unlisted' | 'unknown' => {
    const index = known.index();
    return index === undefined ? 'unlisted' : (hostOfNode(node, index) ?? 'unknown');
  };

  const missingOf = (object: KubeObject): string | undefined => {
    const readiness = readinessOf(object);
    if (!readiness.isReady) return `NotReady, ${readiness.reason}`;
    const { name } = object.metadata;
    const since = readySince.get(name) ?? scope.clock.elapsed();
    readySince.set(name, since);
    const host = listedHost({ name, addresses: internalAddresses(object) });
    if (typeof host === 'string') known.ask();
    else if (isReported(host)) return undefined;
    else reports.send(host, 'Joined');
    if (host === 'unknown') return 'Ready, unknown to the inventory service';
    if (scope.clock.elapsed() - since >= reportTimeout) return undefined;
    return host === 'unlisted' ? hostsUnlisted(known.lastError()) : unreported(reports.endOf(host));
  };

  return {
    prepare: () => {
      if (known.hosts() === undefined) known.ask();
    },
    statusOf: (node) => {
      const { name } = node.metadata;
      const index = known.index();
      const host = (index && hostOf(node, index)?.id) ?? machineIdOf(node);
      const missing = counted.has(name) ? undefined : missingOf(node);
      if (missing === undefined) counted.add(name);
      return missing === undefined ? { name, host } : { name, host, missing };
    },
  };
}

const hostsUnlisted = (lastError: string | undefined): string =>
  lastError === undefined
    ? 'Ready, the inventory service has not listed its hosts yet'
    : `Ready, the hosts of the inventory service cannot be listed (${lastError})`;

const unreported = (end: ReportEnd | undefined): string =>
  typeof end === 'object' ? `Ready, not reported yet (${end.failed})` : 'Ready, being reported';
