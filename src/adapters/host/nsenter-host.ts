import { readlink } from 'node:fs/promises';
import { type Millis, seconds } from '../../model/duration.ts';
import { HOST_ROOT } from '../host-root.ts';
import type { Host } from '../../ports/host.ts';
import { hostFiles } from './host-files.ts';
import { takeLock } from './host-lock.ts';
import { type CommandEvent, type HostAccess, ownProgram, runHostCommand } from './run-command.ts';

/** Options for reaching the host. */
export interface NsenterHostOptions {
  /** Root of the host's files; default: `/proc/1/root`. */
  readonly root?: string;
  readonly onCommand?: ((event: CommandEvent) => void) | undefined;
  /** The environment of this process, of which only PATH is passed on. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Variables of every command: the proxies, so that no step can forget them. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Pause between two polls of watched files; default: 1 s. */
  readonly pollInterval?: Millis;
}

/**
 * The namespaces of the host's process 1 that every command enters; network and host name stay this
 * process's own. The options match those of the replaced agent.
 */
const namespaces = ['--target', '1', '--cgroup', '--mount', '--ipc', '--pid', '--'] as const;

/** Words before every command, which run it on the host. */
export const hostPrefix = (environment: HostAccess['environment']): readonly string[] => [
  ownProgram('nsenter', environment),
  ...namespaces,
];

/**
 * The host of a privileged container with --pid=host: commands by nsenter, files by `/proc/1/root`.
 */
export function nsenterHost({
  root = HOST_ROOT,
  onCommand,
  environment = process.env,
  variables = {},
  pollInterval = seconds(1),
}: NsenterHostOptions = {}): Host {
  const access: HostAccess = { prefix: hostPrefix(environment), environment, onCommand };
  return {
    ...hostFiles({ root, pollInterval }),
    exec: (argv, { env, ...options }) =>
      runHostCommand(access, { ...options, argv, env: { ...variables, ...env } }),
    lock: (name, signal) => takeLock(access, name, signal),
  };
}

/**
 * Starts the program again in the network and UTS namespaces of the host, if its container has its
 * own network, as without `--net=host`. Commands on the host run in this process's network, and a
 * bootstrap host serves the control plane at an address of the host. Does nothing if the settings
 * name the host's root, or if the network namespace of process 1 cannot be read: `requireHost`
 * reports the reason then.
 */
export async function joinHostNetwork(
  root: string,
  environment: HostAccess['environment'],
): Promise<void> {
  if (root !== HOST_ROOT) return;
  const networks = ['1', 'self'].map((pid) =>
    readlink(`/proc/${pid}/ns/net`).catch(() => undefined),
  );
  const [host, own] = await Promise.all(networks);
  if (host === undefined || host === own) return;
  if (process.execve === undefined) throw new TypeError('this Node cannot become nsenter');
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const argv = ['nsenter', '--target', '1', '--net', '--uts', '--', ...again];
  process.execve(ownProgram('nsenter', environment), argv);
}
