import {
  controllerLabel,
  controllerNamespace,
  controllerObstacle,
  eventFields,
  hasControllerRun,
  isControllerReady,
  runningController,
} from '../../cluster/controller.ts';
import { events, pods } from '../../kube/kinds.ts';
import { isActive } from '../../engine/condition.ts';
import type { PollResult } from '../../engine/wait.ts';
import { noteFailed } from '../../engine/failures.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { deploysController, hasService } from '../conditions.ts';
import { controllerLogArchive } from '../logs/collectors.ts';
import { step, type StepScope } from '../step.ts';
import { followed, longestWait, combineWatches } from './kube-watch.ts';
import { gapIn } from '../../ports/kube-failures.ts';

/**
 * Waits until the controller in the cluster is ready; it continues after the bootstrap host has
 * left.
 */
export const waitForController = step({
  id: 'cluster/wait-for-controller',
  title: 'Wait for the controller to become ready',
  stage: 'Waiting for controller',
  stageInfo: () => 'waiting for controller pod ready event',
  uses: ['kube', 'inventory', 'host', 'clock'],
  needs: { controlPlane: ControlPlane },
  when: deploysController,
  limit: longestWait + minutes(30),
  explain: () =>
    'waits for the event AssistedControllerIsReady in the namespace assisted-installer',
  run: async (scope) => {
    const { kube, until } = scope;
    const followedEvents = followed(kube, { kind: events, namespace: controllerNamespace });
    const followedPods = followed(kube, controllerPods);
    const noteNew = noteOnce(scope);
    const poll = (): PollResult<true> => {
      const view = followedEvents.view();
      noteNew(view.objects);
      const controllers = followedPods.view().objects;
      if (isControllerReady(view.objects) || hasControllerRun(controllers, scope.clock.now())) {
        return { done: true };
      }
      const obstacle = controllerObstacle(controllers);
      return { status: gapIn(view) ?? obstacle ?? missingEvents(view.objects) };
    };
    await until('the controller is ready', poll, {
      watch: combineWatches(followedEvents.watch, followedPods.watch),
      every: seconds(30),
      within: longestWait,
    });
    if (!isActive(hasService, scope.config)) return;
    try {
      await scope.inventory.clusterLogsState('requested', scope.signal);
    } catch (error) {
      noteFailed(scope, 'could not announce the cluster logs to the inventory service', error);
    }
    await uploadControllerLogs(scope);
  },
});

const controllerPods = {
  kind: pods,
  namespace: controllerNamespace,
  labelSelector: controllerLabel,
};

/** Logs each event once, by its id. */
function noteOnce({ note }: StepScope<'kube'>): (objects: readonly KubeObject[]) => void {
  const noted = new Set<string>();
  return (objects) => {
    for (const event of objects) {
      const { name, uid = name } = event.metadata;
      if (noted.has(uid)) continue;
      noted.add(uid);
      note('info', `event ${name}`, eventFields(event));
    }
  };
}

/**
 * The missing conditions, for people. A growing number of events is not progress: a crashing pod
 * creates more of them.
 */
function missingEvents(objects: readonly KubeObject[]): string {
  if (objects.length === 0) return `no event in ${controllerNamespace} yet`;
  return `events in ${controllerNamespace}, but no AssistedControllerIsReady yet`;
}

const uploadEvery = minutes(5);

/** Uploads the log of the controller regularly while the host is installed. */
export const followControllerLogs = step({
  id: 'cluster/follow-controller-logs',
  title: 'Upload the controller log every five minutes',
  uses: ['kube', 'inventory', 'host', 'clock'],
  needs: { controlPlane: ControlPlane },
  when: hasService,
  // Several waits of the main sequence may time out in turn.
  limit: 4 * longestWait + hours(1),
  run: async (scope) => {
    for (;;) {
      await scope.clock.sleep(uploadEvery, scope.signal);
      await uploadControllerLogs(scope);
    }
  },
});

const sinceSeconds = 3600;

/**
 * Uploads the log of the controller if the controller runs. A failure is logged and otherwise
 * ignored.
 */
async function uploadControllerLogs(
  scope: StepScope<'kube' | 'inventory' | 'host' | 'clock'>,
): Promise<void> {
  const { kube, inventory, signal } = scope;
  try {
    const pod = runningController(await kube.list(controllerPods, signal));
    if (pod === undefined) return;
    const archive = await controllerLogArchive(scope, { pod, sinceSeconds });
    await inventory.uploadControllerLogs(archive, signal);
  } catch (error) {
    noteFailed(scope, 'could not upload the controller log', error);
  }
}
