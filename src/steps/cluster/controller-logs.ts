import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import {
  controllerLabel,
  controllerNamespace,
  runningController,
} from '../../cluster/controller.ts';
import { pods } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';

/** How far back the log of the controller is read. */
const sinceSeconds = 3600;

/** Where a controller that runs on this host writes its log. */
const localLog = '/tmp/controller_logs.log';

/** What the upload needs of a step. */
export type LogScope = StepScope<'kube' | 'inventory' | 'host' | 'clock'>;

/**
 * Uploads the log of the controller, if the controller runs. What goes wrong is told and harms
 * nobody.
 */
export async function uploadControllerLogs(scope: LogScope): Promise<void> {
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
