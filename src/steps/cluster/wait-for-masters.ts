import {
  type InstallConfig,
  installConfigRef,
  readInstallConfig,
} from '../../cluster/install-config.ts';
import { nodes } from '../../cluster/kinds.ts';
import { type ControlPlaneRole, nodeLabel } from '../../cluster/node.ts';
import type { Look, Watch } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { step, type StepScope } from '../step.ts';
import { apiTroubleOf, fromFirstView, longestWait } from './kube-watch.ts';
import { type JoiningNode, joiningOf } from './joining.ts';
import { tasksOf } from './tasks.ts';
import { untaintOf } from './untaint.ts';

/** Waits until enough masters have joined the control plane that this host runs for them. */
export const waitForMasters = step({
  id: 'cluster/wait-for-masters',
  title: 'Wait until the masters have joined',
  stage: 'Waiting for control plane',
  stageInfo: () => 'Waiting for masters to join bootstrap control plane',
  uses: ['kube', 'inventory', 'clock'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(30),
  waitsFor: 'two masters beside this host, Ready and reported as Joined; one where there are two',
  run: (scope) => waitForNodes(scope, 'master'),
});

/** Waits until the arbiter has joined, in a cluster that has one. */
export const waitForArbiter = step({
  id: 'cluster/wait-for-arbiter',
  title: 'Wait until the arbiter has joined',
  uses: ['kube', 'inventory', 'clock'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(30),
  waitsFor: 'one arbiter, Ready and reported as Joined; not at all where there is none',
  run: (scope) => waitForNodes(scope, 'arbiter'),
});

type NodeWaitScope = StepScope<'kube' | 'inventory' | 'clock'>;

/** What was tried in vain is tried again with a look, which costs nothing by itself. */
const lookEvery = seconds(5);

/** Waits until as many nodes of a role are Ready as the bootstrap host must see before it goes. */
async function waitForNodes(scope: NodeWaitScope, role: ControlPlaneRole): Promise<void> {
  const since = scope.clock.elapsed();
  const installConfig = await knownInstallConfig(scope, longestWait);
  const target = nodeTarget(role, installConfig);
  if (target === 0) {
    scope.note('info', `no ${role} is waited for: the install-config asks for none but this host`);
    return;
  }
  const wait = nodeWait(scope, { role, target, installConfig });
  try {
    await scope.until(`${target} ${role}${target === 1 ? ' is' : 's are'} ready`, wait.look, {
      within: longestWait - (scope.clock.elapsed() - since),
      every: lookEvery,
      watch: wait.watch,
    });
  } finally {
    await wait.close();
  }
}

interface NodeWait {
  readonly look: () => Promise<Look<true>>;
  readonly watch: Watch;
  readonly close: () => Promise<void>;
}

function nodeWait(
  scope: NodeWaitScope,
  {
    role,
    target,
    installConfig,
  }: { role: ControlPlaneRole; target: number; installConfig: InstallConfig },
): NodeWait {
  const selection = { kind: nodes, labelSelector: nodeLabel(role) };
  const { view, watch } = fromFirstView(scope.kube, selection);
  let ring = (): void => undefined;
  const tasks = tasksOf(scope, () => ring());
  const joining = joiningOf(scope, tasks);
  const untaint = untaintOf(scope, tasks, installConfig);
  const troubleOf = apiTroubleOf(scope.clock);
  const beat = heartbeatOf(scope);
  let told: string | undefined;

  const look = async (): Promise<Look<true>> => {
    const { objects, trouble } = await view();
    joining.prepare();
    untaint.look(objects);
    const { isDone, status } = lookAtNodes(role, target, objects.map(joining.standingOf));
    if (isDone) return { done: true };
    const gap = troubleOf(trouble);
    // What is under way changes in a moment; it is no news by itself.
    if (told === undefined || !tasks.isNewUnderWay()) {
      told = gap === undefined ? status : `${status}; ${gap}`;
    }
    beat(told);
    return { status: told };
  };
  return {
    look,
    watch: (changed, signal) => {
      ring = changed;
      return watch(changed, signal);
    },
    close: tasks.close,
  };
}

/** Waits until the cluster has its install-config, and reads it. */
async function knownInstallConfig(
  scope: StepScope<'kube' | 'clock'>,
  within: Millis,
): Promise<InstallConfig> {
  const { kind, namespace = '', name } = installConfigRef;
  const selection = { kind, namespace, fieldSelector: `metadata.name=${name}` };
  const { watch, view } = fromFirstView(scope.kube, selection);
  const troubleOf = apiTroubleOf(scope.clock);
  const beat = heartbeatOf(scope);
  const look = async (): Promise<Look<InstallConfig>> => {
    const { objects, trouble } = await view();
    const reading = readInstallConfig(objects[0]);
    if ('installConfig' in reading) return { done: reading.installConfig };
    const status = troubleOf(trouble) ?? reading.problem;
    beat(status);
    return { status };
  };
  const limits = { within, watch, every: minutes(1) };
  return scope.until('the cluster has its install-config', look, limits);
}

/** Masters that must be there before the bootstrap host may go: two keep etcd able to write. */
const enoughMasters = 2;

/**
 * How many nodes of a role must be Ready before the bootstrap host goes on; 0: none is waited for.
 * One of the masters is the bootstrap host itself (assisted-installer, `waitForNodes`).
 */
export function nodeTarget(role: ControlPlaneRole, config: InstallConfig): number {
  if (role === 'arbiter') return config.arbiterReplicas < 1 ? 0 : 1;
  return Math.max(0, Math.min(config.controlPlaneReplicas - 1, enoughMasters));
}

/** What a look at the nodes of a role showed. */
interface NodeLook {
  readonly isDone: boolean;
  /** For people: `1 of 2 masters ready; m2: NotReady, container network is not ready`. */
  readonly status: string;
}

/** Counts nodes, and says what is missing in words that change only with what they say. */
export function lookAtNodes(
  role: ControlPlaneRole,
  target: number,
  nodes: readonly JoiningNode[],
): NodeLook {
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
