import { controllerNamespace, eventWords, isControllerReady } from '../../cluster/controller.ts';
import { events } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/facts.ts';
import { step, type StepScope } from '../step.ts';
import { followed, gapIn, longestWait } from './cluster-wait.ts';
import { hasService } from '../conditions.ts';
import { uploadControllerLogs } from './controller-logs.ts';

/** Waits until the controller in the cluster works: it goes on where the bootstrap host ends. */
export const waitForController = step({
  id: 'cluster/wait-for-controller',
  title: 'Wait until the controller works in the cluster',
  stage: 'Waiting for controller',
  stageInfo: () => 'waiting for controller pod ready event',
  uses: ['kube', 'inventory', 'host', 'clock'],
  needs: { controlPlane: ControlPlane },
  when: hasService,
  limit: longestWait + minutes(30),
  waitsFor: 'the event AssistedControllerIsReady in the namespace assisted-installer',
  run: async (scope) => {
    const { kube, until } = scope;
    const told = followed(kube, { kind: events, namespace: controllerNamespace });
    const tell = tellOnce(scope);
    const look = (): Promise<Look<true>> => {
      const view = told.view();
      tell(view.objects);
      if (isControllerReady(view.objects)) return Promise.resolve({ done: true });
      return Promise.resolve({ status: gapIn(view) ?? statusOf(view.objects) });
    };
    await until('the controller says that it is ready', look, {
      watch: told.watch,
      every: seconds(30),
      within: longestWait,
    });
    await announceLogs(scope);
    await uploadControllerLogs(scope);
  },
});

/** Tells each event once, by its id. */
function tellOnce({ note }: StepScope<'kube'>): (objects: readonly KubeObject[]) => void {
  const told = new Set<string>();
  return (objects) => {
    for (const event of objects) {
      const { name, uid = name } = event.metadata;
      if (told.has(uid)) continue;
      told.add(uid);
      note('info', `event ${name}`, eventWords(event));
    }
  };
}

/** What is missing: the events so far show how far the controller's pod has come. */
function statusOf(objects: readonly KubeObject[]): string {
  if (objects.length === 0) return `no event in ${controllerNamespace} yet`;
  return `${objects.length} events in ${controllerNamespace}, none of them says ready`;
}

async function announceLogs({ inventory, signal, note }: StepScope<'inventory'>): Promise<void> {
  try {
    await inventory.clusterLogsState('requested', signal);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    note('warn', 'the logs of the cluster could not be announced', { code, reason: message });
  }
}
