import { controllerLogFile } from '../../cluster/controller.ts';
import { asAgentError } from '../../engine/failures.ts';
import { packArchive } from '../../lib/archive.ts';
import type { Host } from '../../ports/host.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';

interface LogSource {
  readonly kube: Pick<Kube, 'podLog'>;
  readonly host: Pick<Host, 'readText'>;
  readonly signal: AbortSignal;
}

/** Whose log is wanted, and how much of it. */
interface WantedLog {
  readonly pod: KubeObject | undefined;
  /** The whole one unless given. */
  readonly sinceSeconds?: number;
  /** The local one, where it is not in its usual place. */
  readonly file?: string | undefined;
  readonly now: number;
}

/**
 * The log of the controller as the service takes it, a tar archive with the log as its one file: that of its
 * pod, else the local one, else why there is none.
 */
export async function controllerLogArchive(
  { kube, host, signal }: LogSource,
  { pod, sinceSeconds, file = controllerLogFile, now }: WantedLog,
): Promise<Uint8Array> {
  const fromPod =
    pod === undefined
      ? { text: '', reason: 'there is none that runs' }
      : await tried(() => {
          const place = { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name };
          return kube.podLog(place, sinceSeconds, signal);
        }, signal);
  if (fromPod.text !== '') return archiveOf(fromPod.text, now);
  const readLocal = async (): Promise<string> =>
    (await host.readText(file, signal, { isOurs: true })) ?? '';
  const local = await tried(readLocal, signal);
  if (local.text !== '') return archiveOf(local.text, now);
  const name = pod === undefined ? 'the controller' : pod.metadata.name;
  return archiveOf(
    `could not read the log of pod ${name}: ${fromPod.reason}\n` +
      `could not read ${file}: ${local.reason}\n`,
    now,
  );
}

const archiveOf = (text: string, time: number): Promise<Uint8Array> =>
  packArchive([{ name: 'assisted-installer-controller.logs', mode: 0o644, text }], time);

interface Tried {
  readonly text: string;
  /** Why there is no text. */
  readonly reason: string;
}

async function tried(read: () => Promise<string>, signal: AbortSignal): Promise<Tried> {
  try {
    return { text: await read(), reason: 'it is empty or missing' };
  } catch (error) {
    signal.throwIfAborted();
    return { text: '', reason: asAgentError(error).message };
  }
}
