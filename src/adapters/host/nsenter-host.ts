import { readlink } from 'node:fs/promises';
import { type Millis, seconds } from '../../model/duration.ts';
import { HOST_ROOT } from '../../model/host-root.ts';
import type { Host } from '../../ports/host.ts';
import { hostFiles } from './host-files.ts';
import { takeLock } from './host-lock.ts';
import { type CommandEvent, type HostAccess, ownProgram, runHostCommand } from './run-command.ts';

/** How the host is reached. */
export interface NsenterHostOptions {
  /** Where the files of the host are; `/proc/1/root` unless given. */
  readonly root?: string;
  readonly onCommand?: ((event: CommandEvent) => void) | undefined;
  /** Our own environment, of which only PATH is passed on. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Variables of every command: the proxies, which no step can forget then. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Pause between two polls of watched files; 1 s unless given. */
  readonly pollInterval?: Millis;
}

/**
 * The namespaces of the host's first process that every command enters; network and host name are
 * ours. The words are those of the agent being replaced.
 */
const namespaces = ['--target', '1', '--cgroup', '--mount', '--ipc', '--pid', '--'] as const;

/** Words before every command, which lead it to the host. */
export const hostPrefix = (environment: HostAccess['environment']): readonly string[] => [
  ownProgram('nsenter', environment),
  ...namespaces,
];

/**
 * The host around a privileged container with --pid=host: commands by nsenter, files by
 * `/proc/1/root`.
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
 * Starts the program again in the network of the host, and with its name, where its container has
 * a network of its own, as without `--net=host`: commands on the host run in ours, and the control
 * plane of a bootstrap host is at an address of the host. Does nothing where the settings say where
 * the files of the host are, or where the network of process 1 cannot be read: `requireHost` says
 * why then.
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
