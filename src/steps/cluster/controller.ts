import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import {
  controllerLabel,
  controllerNamespace,
  eventWords,
  isControllerReady,
  runningController,
} from '../../cluster/controller.ts';
import { events, pods } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look } from '../../engine/wait.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { hasService } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { followed, gapIn, longestWait } from './kube-watch.ts';

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

const uploadEvery = minutes(5);

/** Uploads the log of the controller again and again while the host is installed. */
export const followControllerLogs = step({
  id: 'cluster/follow-controller-logs',
  title: 'Upload the log of the controller every five minutes',
  uses: ['kube', 'inventory', 'host', 'clock'],
  needs: { controlPlane: ControlPlane },
  when: hasService,
  // Several waits of the main line may come to their ends while this one goes on.
  limit: 4 * longestWait + hours(1),
  run: async (scope) => {
    for (;;) {
      await scope.clock.sleep(uploadEvery, scope.signal);
      await uploadControllerLogs(scope);
    }
  },
});

/** How far back the log of the controller is read. */
const sinceSeconds = 3600;

/** Where a controller that runs on this host writes its log. */
const localLog = '/tmp/controller_logs.log';

/** What the upload needs of a step. */
type LogScope = StepScope<'kube' | 'inventory' | 'host' | 'clock'>;

/**
 * Uploads the log of the controller, if the controller runs. What goes wrong is told and harms
 * nobody.
 */
async function uploadControllerLogs(scope: LogScope): Promise<void> {
  const { kube, inventory, clock, signal, note } = scope;
  try {
    const selection = {
      kind: pods,
      namespace: controllerNamespace,
      labelSelector: controllerLabel,
    };
    const pod = runningController(await kube.list(selection, signal));
    if (pod === undefined) return;
    const archive = await archiveOf(await logOf(scope, pod), clock.now());
    // A log of an hour is small: to compress it takes milliseconds.
    await inventory.uploadControllerLogs(gzipSync(archive), signal);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    note('warn', 'the log of the controller could not be uploaded', { code, reason: message });
  }
}

/** A tar archive with the log as its one file, as the service takes it. */
async function archiveOf(log: string, time: number): Promise<Uint8Array> {
  const archive = pack();
  archive.entry(
    { name: 'assisted-installer-controller.logs', mode: 0o644, mtime: new Date(time) },
    log,
  );
  archive.finalize();
  return buffer(archive);
}

/** The log of the pod, else the local one, else why there is none. */
async function logOf({ kube, host, signal }: LogScope, pod: KubeObject): Promise<string> {
  const place = { namespace: controllerNamespace, name: pod.metadata.name };
  const fromPod = await tried(() => kube.podLog(place, sinceSeconds, signal), signal);
  if (fromPod.text !== '') return fromPod.text;
  const local = await tried(async () => (await host.readText(localLog, signal)) ?? '', signal);
  if (local.text !== '') return local.text;
  return (
    `the log of pod ${place.name} could not be had: ${fromPod.trouble}\n` +
    `${localLog} could not be had: ${local.trouble}\n`
  );
}

interface Tried {
  readonly text: string;
  /** Why there is no text. */
  readonly trouble: string;
}

async function tried(read: () => Promise<string>, signal: AbortSignal): Promise<Tried> {
  try {
    return { text: await read(), trouble: 'it is empty, or there is none' };
  } catch (error) {
    signal.throwIfAborted();
    return { text: '', trouble: asAgentError(error).message };
  }
}
