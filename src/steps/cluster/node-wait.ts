import { nodes } from '../../cluster/kinds.ts';
import { lookAtNodes } from '../../cluster/node-look.ts';
import { nodeTarget } from '../../cluster/node-target.ts';
import { type ControlPlaneRole, nodeLabel } from '../../cluster/node.ts';
import type { InstallConfig } from '../../cluster/install-config.ts';
import type { Look, Watch } from '../../engine/wait.ts';
import { seconds } from '../../model/duration.ts';
import type { StepScope } from '../step.ts';
import { apiTroubleOf } from './api-trouble.ts';
import { longestWait } from './cluster-wait.ts';
import { fromFirstView } from './first-view.ts';
import { joiningOf } from './joining.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { knownInstallConfig } from './known-install-config.ts';
import { tasksOf } from './tasks.ts';
import { untaintOf } from './untaint.ts';

type NodeWaitScope = StepScope<'kube' | 'inventory' | 'clock'>;

/** What was tried in vain is tried again with a look, which costs nothing by itself. */
const lookEvery = seconds(5);

/** Waits until as many nodes of a role are Ready as the bootstrap host must see before it goes. */
export async function waitForNodes(scope: NodeWaitScope, role: ControlPlaneRole): Promise<void> {
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
