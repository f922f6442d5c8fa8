import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createWriteStream, openSync, readSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { finished } from 'node:stream/promises';
import { loadConfig } from '../../src/config/load.ts';
import { describeRole, type Plan } from '../../src/engine/describe.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { jsonIn } from '../../src/lib/json.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import type { ClusterRecord } from '../inventory/records.ts';
import type { HostSpec } from './scenario.ts';

/** Options for starting an agent. */
interface AgentStart {
  /** Words before the program, which enter the network of its host. */
  readonly enter?: readonly string[];
  /** Path of the bundle to run. */
  readonly bundle: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** stdout and stderr are appended here. */
  readonly logFile: string;
}

/** The end of an agent: its exit code, or the signal that ended it. */
export interface AgentEnd {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

/** A running agent. */
export interface AgentProcess {
  readonly ended: Promise<AgentEnd>;
  /**
   * Stops the agent like the service's `podman stop -t 5`: SIGTERM, and SIGKILL after five seconds.
   */
  readonly stop: () => void;
  readonly kill: () => void;
}

const STOP_TIMEOUT_SECONDS = 5;

/**
 * Calls `then` after a number of seconds on an idle machine; on a machine with a load of twice its
 * processors, after twice as many.
 */
export function afterGivenTime(seconds: number, then: () => void): Disposable {
  let left = seconds;
  const timer = setInterval(() => {
    left -= 1 / Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
    if (left > 0) return;
    clearInterval(timer);
    then();
  }, 1000).unref();
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
    },
  };
}

/** Starts the real agent as a separate process. */
export function startAgent({ enter = [], bundle, args, env, logFile }: AgentStart): AgentProcess {
  const [program = '', ...words] = [...enter, process.execPath, bundle, ...args];
  const child = spawn(program, words, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(logFile, { flags: 'a' });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  let timeout: Disposable | undefined;
  const ended = (async (): Promise<AgentEnd> => {
    const [exitCode, signal] = (await once(child, 'close')) as [number | null, string | null];
    timeout?.[Symbol.dispose]();
    log.end();
    await finished(log);
    return { exitCode: exitCode ?? undefined, signal: signal ?? undefined };
  })();
  return {
    ended,
    stop: () => {
      child.kill('SIGTERM');
      timeout ??= afterGivenTime(STOP_TIMEOUT_SECONDS, () => child.kill('SIGKILL'));
    },
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}

/** Facts in the service's install command. */
interface CommandFacts {
  readonly host: HostSpec;
  readonly hostId: string;
  readonly infraEnvId: string;
  readonly cluster: ClusterRecord;
  readonly serviceUrl: string;
  readonly bootDevice: string;
  /** Whether the final system is written before the first boot. */
  readonly skipsMcoReboot?: boolean;
}

/**
 * The words after the image in the service's `podman run`, in the service's order
 * (assisted-service, 2026).
 */
export function installArguments(facts: CommandFacts): readonly string[] {
  const { host, hostId, infraEnvId, cluster, serviceUrl, bootDevice } = facts;
  const isDay1 = cluster.kind === 'Cluster';
  return [
    ...['--role', host.role, '--infra-env-id', infraEnvId, '--cluster-id', cluster.id],
    ...['--host-id', hostId, '--boot-device', bootDevice, '--url', serviceUrl],
    ...['--controller-image', 'registry.example.test/controller:1'],
    ...['--agent-image', 'registry.example.test/agent:1'],
    ...(cluster.controlPlaneCount === 0
      ? []
      : ['--control-plane-count', String(cluster.controlPlaneCount)]),
    ...(isDay1 ? ['--mco-image', 'registry.example.test/mco:1'] : []),
    ...(isDay1 ? ['--must-gather-image', 'registry.example.test/must-gather:1'] : []),
    ...(isDay1 ? ['--openshift-version', cluster.openshiftVersion] : []),
    // Without this flag, the controller does not wait for the ClusterVersion, and the service waits
    // for it for ever.
    ...(isDay1 ? ['--check-cluster-version'] : []),
    ...(facts.skipsMcoReboot === true ? ['--enable-skip-mco-reboot'] : []),
    ...(host.installerArgs.length === 0
      ? []
      : ['--installer-args', JSON.stringify(host.installerArgs)]),
  ];
}

/** The variable of an agent's setting: BOOTWRIGHT_IMAGE_SHA256 for `image.sha256`. */
export const settingVariable = (name: string): string =>
  `BOOTWRIGHT_${name
    .replaceAll('.', '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()}`;

/**
 * The plan that `bootwright plan` would print for an agent's arguments and environment.
 * @throws AgentError `cli.*`, `config.*`
 */
export async function planOfAgent(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Plan> {
  const { config } = await loadConfig(args, env);
  return describeRole(chooseRole(config), config);
}

const POLL_INTERVAL_MILLIS = 40;
const CHUNK_BYTES = 65_536;

/**
 * Calls `onEvent` for each complete line of a growing file, from its beginning, until `end`, which
 * reads the remaining lines. It reads synchronously: mostly there is no new line, and finding that
 * out takes only a few microseconds so.
 */
export function followEvents(path: string, onEvent: (event: RunEvent) => void) {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let rest = Buffer.alloc(0);
  let file: number | undefined;
  const take = (bytes: Buffer): void => {
    const known = Buffer.concat([rest, bytes]);
    const end = known.lastIndexOf(0x0a) + 1;
    // A multi-byte character may be incomplete; only complete lines are decoded.
    rest = known.subarray(end);
    for (const line of known.toString('utf8', 0, end).split('\n')) {
      // A killed agent may leave a torn line, which is ignored.
      const event = jsonIn(line);
      if (event !== undefined) onEvent(event as RunEvent);
    }
  };
  const read = (): void => {
    file ??= openIfThere(path);
    if (file === undefined) return;
    for (let size = readSync(file, chunk); size > 0; size = readSync(file, chunk)) {
      take(chunk.subarray(0, size));
    }
  };
  const timer = setInterval(read, POLL_INTERVAL_MILLIS);
  return {
    end: () => {
      clearInterval(timer);
      read();
      if (file !== undefined) closeSync(file);
    },
  };
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The reason why an agent ended. */
export interface AgentFailure {
  readonly code: string;
  readonly message: string;
  readonly why?: string;
  /** The next action. */
  readonly hint?: string;
  /** Path of its logs. */
  readonly logs?: string;
}

/** Length of the log excerpt for a failure that the log does not name. */
const TAIL_CHARACTERS = 2000;

/** Finds the last lines of an agent with its failure; without them, takes the end of the log. */
export function failureIn(log: string, end: AgentEnd): AgentFailure {
  const [, code, message] = /^failed: ([\w.-]+): (.*)$/m.exec(log) ?? [];
  const [why, hint, logs] = [/^why: (.*)$/m, /^next: (.*)$/m, /^logs: (.*)$/m].map(
    (line) => line.exec(log)?.[1],
  );
  return code === undefined || message === undefined
    ? {
        code: `exit ${end.exitCode ?? end.signal ?? ''}`,
        message: log.trim().slice(-TAIL_CHARACTERS),
      }
    : {
        code,
        message,
        ...(why === undefined ? {} : { why }),
        ...(hint === undefined ? {} : { hint }),
        ...(logs === undefined ? {} : { logs }),
      };
}
