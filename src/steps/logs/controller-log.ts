import { controllerLogFile } from '../../cluster/controller.ts';
import { packArchive } from '../../lib/archive.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { collect, type Collector } from './collect.ts';

interface LogSource {
  readonly kube: Pick<Kube, 'podLog'>;
  readonly host: Pick<Host, 'readText'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Whose log is wanted, and how much of it. */
interface WantedLog {
  readonly pod: KubeObject | undefined;
  /** The whole one unless given. */
  readonly sinceSeconds?: number;
  /** The local one, where it is not in its usual place. */
  readonly file?: string | undefined;
}

/**
 * The log of the controller as the service takes it, a tar archive with the log as its one file: that of its
 * pod, else the local one, else why there is none.
 */
export async function controllerLogArchive(
  scope: LogSource,
  { pod, sinceSeconds, file = controllerLogFile }: WantedLog,
): Promise<Uint8Array> {
  const { name = 'the controller', namespace = '' } = pod?.metadata ?? {};
  const rows: readonly Collector<LogSource>[] = [
    {
      ...{ name: `the log of pod ${name}`, mostBytes: Number.POSITIVE_INFINITY },
      read: async ({ kube, signal }) =>
        pod === undefined ? undefined : kube.podLog({ namespace, name }, sinceSeconds, signal),
    },
    {
      ...{ name: file, mostBytes: Number.POSITIVE_INFINITY },
      read: ({ host, signal }) => host.readText(file, signal, { isOurs: true }),
    },
  ];
  let missing = '';
  for (const row of rows) {
    const found = await collect(row, scope, (text) => text);
    scope.signal.throwIfAborted();
    if ('text' in found && found.text !== '') return archiveOf(found.text, scope.clock.now());
    const reason = 'missing' in found ? found.missing : 'it is empty';
    missing += `could not read ${row.name}: ${reason}\n`;
  }
  return archiveOf(missing, scope.clock.now());
}

const archiveOf = (text: string, time: number): Promise<Uint8Array> =>
  packArchive([{ name: 'assisted-installer-controller.logs', mode: 0o644, text }], time);
