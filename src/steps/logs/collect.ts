import { controllerLogFile } from '../../cluster/controller.ts';
import { asAgentError, engineFailure } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { endOf } from '../../layering/registry/log-secrets.ts';
import { packArchive } from '../../lib/archive.ts';
import { type Millis, renderDuration, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';

/** The end of a text. */
interface TextEnd {
  readonly text: string;
  /** Bytes of the whole text. */
  readonly size: number;
}

/** One row of a table of logs: what is collected, where it comes from, and what it may take. */
export interface Collector<Scope> {
  readonly name: string;
  /** Bytes of its end that are kept. */
  readonly mostBytes: number;
  /** Where its own reader has no limit. */
  readonly limit?: Millis;
  /** Undefined where there is nothing of the kind. */
  readonly read: (scope: Scope, mostBytes: number) => Promise<TextEnd | string | undefined>;
}

/** What every collector has at hand. */
export interface CollectScope {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What became of one row: its text, or why it is missing. */
export type Collected =
  | { readonly text: string; readonly bytes: number; readonly size: number }
  | { readonly missing: string; readonly isAbsent: boolean };

/** Takes secrets out of a text. */
export type Hide = (text: string) => string;

/** Reads one row, takes the secrets out, and keeps its end. Never rejects: whatever goes wrong is why it is missing. */
export async function collect<Scope extends CollectScope>(
  { mostBytes, limit, read }: Collector<Scope>,
  scope: Scope,
  hide: Hide,
): Promise<Collected> {
  try {
    // Twice as much is masked as is kept, so that no secret of several lines is cut in two.
    const found = await (limit === undefined
      ? read(scope, 2 * mostBytes)
      : limited(scope.clock, workLimit(limit, scope.signal), (signal) =>
          read({ ...scope, signal }, 2 * mostBytes),
        ));
    if (found === undefined) return { missing: 'it is not there', isAbsent: true };
    const { text: whole, size } =
      typeof found === 'string' ? { text: found, size: Buffer.byteLength(found) } : found;
    const text = endOf(hide(endOf(whole, 2 * mostBytes)), mostBytes);
    return { text, bytes: Buffer.byteLength(text), size };
  } catch (thrown) {
    return { missing: hide(asAgentError(thrown).message), isAbsent: false };
  }
}

/** A limit of collecting; then it fails with `step.timed-out`. */
export const workLimit = (limit: Millis, signal: AbortSignal): Parameters<typeof limited>[1] => ({
  ...{ limit, signal },
  late: () => engineFailure('step.timed-out', `not done workLimit ${renderDuration(limit)}`),
});

/** How long a command may take that only says something. */
const longestCommand = seconds(20);

/** What a command prints, and what it printed when it failed: `podman ps` of a broken store is worth as much. */
export async function outputOf(
  { host, signal }: { readonly host: Pick<Host, 'exec'>; readonly signal: AbortSignal },
  argv: readonly string[],
  limit = longestCommand,
): Promise<string> {
  try {
    const { stdout, stderr } = await host.exec(argv, { signal, limit });
    return `${[stdout, stderr].filter((text) => text !== '').join('\n')}\n`;
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
    const { stdout, stderr } = error.context;
    return `${[error.message, stdout ?? '', stderr ?? ''].join('\n')}\n`;
  }
}

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
