import {
  type InstallConfig,
  installConfigRef,
  readInstallConfig,
} from '../../cluster/install-config.ts';
import { nodes } from '../../cluster/kinds.ts';
import { type ControlPlaneRole, nodeLabel } from '../../cluster/node.ts';
import type { PollResult, Watch } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { step, type StepScope } from '../step.ts';
import { fromFirstView, longestWait, together } from './kube-watch.ts';
import { bootkubeArgvs, followedBootkube } from './wait-for-bootkube.ts';
import { type Joining, type JoiningNode, joiningOf } from './joining.ts';
import { type ReadyNodes, UnreportedArbiters, UnreportedMasters } from './report-joined.ts';
import { tasksOf } from './tasks.ts';
import { untaintOf } from './untaint.ts';
import { gapIn } from '../../ports/kube-failures.ts';

/** Waits until enough masters have joined the control plane that this host runs for them. */
export const waitForMasters = step({
  id: 'cluster/wait-for-masters',
  title: 'Wait for the masters to join',
  stage: 'Waiting for control plane',
  stageInfo: () => 'Waiting for masters to join bootstrap control plane',
  // The release image may still be pulled when the disk is written: that has an hour, the write half of one.
  stageAhead: 'Waiting for bootstrap node preparation',
  uses: ['kube', 'inventory', 'clock', 'host'],
  needs: { controlPlane: ControlPlane },
  gives: UnreportedMasters,
  limit: longestWait + minutes(30),
  preview: () => bootkubeArgvs,
  waitsFor:
    'two masters besides this host, Ready and reported as Joined, or tried to be for 10 seconds; one if there are two',
  run: (scope) => waitForNodes(scope, 'master'),
});

/** Waits until the arbiter has joined, in a cluster that has one. */
export const waitForArbiter = step({
  id: 'cluster/wait-for-arbiter',
  title: 'Wait for the arbiter to join',
  uses: ['kube', 'inventory', 'clock', 'host'],
  needs: { controlPlane: ControlPlane },
  gives: UnreportedArbiters,
  limit: longestWait + minutes(30),
  preview: () => bootkubeArgvs,
  waitsFor:
    'one arbiter, Ready and reported as Joined, or tried to be for 10 seconds; skipped in a cluster without one',
  run: (scope) => waitForNodes(scope, 'arbiter'),
});

type NodeWaitScope = StepScope<'kube' | 'inventory' | 'clock' | 'host'>;

/** Failed background work is started again by a poll; the poll itself sends no request. */
const pollInterval = seconds(5);

/** Waits until `nodeTarget` nodes of a role count as joined; returns those that are still to be reported. */
async function waitForNodes(scope: NodeWaitScope, role: ControlPlaneRole): Promise<ReadyNodes> {
  const since = scope.clock.elapsed();
  const installConfig = await knownInstallConfig(scope, longestWait);
  const target = nodeTarget(role, installConfig);
  if (target === 0) {
    scope.note('info', `not waiting for a ${role}: the install-config has none besides this host`);
    return { nodes: [] };
  }
  const bootkube = followedBootkube(scope);
  const { withFailure } = bootkube;
  const wait = nodeWait(scope, { role, target, installConfig, withFailure });
  try {
    await scope.until(`${target} ${role}${target === 1 ? ' is' : 's are'} ready`, wait.poll, {
      within: longestWait - (scope.clock.elapsed() - since),
      every: pollInterval,
      watch: together(wait.watch, bootkube.watch),
    });
  } finally {
    await wait.close();
  }
  return { nodes: wait.unreported() };
}

interface NodeWait {
  /** After the wait is closed: nothing is under way then. */
  readonly unreported: Joining['unreported'];
  readonly poll: () => Promise<PollResult<true>>;
  readonly watch: Watch;
  readonly close: () => Promise<void>;
}

function nodeWait(
  scope: NodeWaitScope,
  {
    role,
    target,
    installConfig,
    withFailure,
  }: {
    readonly role: ControlPlaneRole;
    readonly target: number;
    readonly installConfig: InstallConfig;
    /** Adds that bootkube failed, to the word that its API server does not answer. */
    readonly withFailure: (status: string) => string;
  },
): NodeWait {
  const selection = { kind: nodes, labelSelector: nodeLabel(role) };
  const { view, watch } = fromFirstView(scope.kube, selection);
  let notify = (): void => undefined;
  const tasks = tasksOf(scope, () => notify());
  const joining = joiningOf(scope, tasks);
  const untaint = untaintOf(scope, tasks, installConfig);
  const beat = heartbeatOf(scope);
  let reported: string | undefined;

  const poll = async (): Promise<PollResult<true>> => {
    const seen = await view();
    const { objects } = seen;
    joining.prepare();
    untaint.start(objects);
    const { isDone, status } = nodeProgress(role, target, objects.map(joining.statusOf));
    if (isDone) return { done: true };
    const gap = gapIn(seen);
    // A status that only says that work has just started would change in a moment.
    if (reported === undefined || !tasks.isNewRunning()) {
      reported = gap === undefined ? status : withFailure(`${status}; ${gap}`);
    }
    if (gap === undefined) beat();
    return { status: reported };
  };
  return {
    poll,
    watch: (changed, signal) => {
      notify = changed;
      return watch(changed, signal);
    },
    close: tasks.close,
    unreported: joining.unreported,
  };
}

/** Waits for the install-config in the cluster, and reads it. */
async function knownInstallConfig(
  scope: StepScope<'kube' | 'clock' | 'host'>,
  within: Millis,
): Promise<InstallConfig> {
  const { kind, namespace = '', name } = installConfigRef;
  const selection = { kind, namespace, fieldSelector: `metadata.name=${name}` };
  const { watch, view } = fromFirstView(scope.kube, selection);
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
 * How many nodes of a role must have joined before the bootstrap host goes on; 0 is no wait. One of
 * the masters is the bootstrap host itself (assisted-installer, `waitForNodes`).
 */
export function nodeTarget(role: ControlPlaneRole, config: InstallConfig): number {
  if (role === 'arbiter') return config.arbiterReplicas < 1 ? 0 : 1;
  return Math.max(0, Math.min(config.controlPlaneReplicas - 1, enoughMasters));
}

/** How far the nodes of a role are. */
interface NodeProgress {
  readonly isDone: boolean;
  /** For people: `1 of 2 masters ready; m2: NotReady, container network is not ready`. */
  readonly status: string;
}

/** Decides whether the wait ends: `target` nodes count. Else its status names what is missing. */
export function nodeProgress(
  role: ControlPlaneRole,
  target: number,
  nodes: readonly JoiningNode[],
): NodeProgress {
  const counted = nodes.filter(({ missing }) => missing === undefined).length;
  const others = nodes.flatMap(({ name, missing }) =>
    missing === undefined ? [] : [`${name}: ${missing}`],
  );
  const absent =
    nodes.length >= target
      ? []
      : [`no ${nodes.length === 0 ? '' : 'further '}${role} has joined yet`];
  return {
    isDone: counted >= target,
    status: [
      `${counted} of ${target} ${role}${target === 1 ? '' : 's'} ready`,
      ...others,
      ...absent,
    ].join('; '),
  };
}
