import { type Millis, seconds } from '../../model/duration.ts';
import { HOST_ROOT } from '../../model/host-root.ts';
import type { Host } from '../../ports/host.ts';
import { hostFiles } from './host-files.ts';
import { takeLock } from './host-lock.ts';
import {
  type CommandEvent,
  type HostAccess,
  ownProgram,
  runHostCommand,
  trimmed,
} from './run-command.ts';

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
 * The namespaces of the host's first process that every command enters. Network and host name are
 * shared by the container already. The words are those of the agent being replaced.
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
    exec: async (argv, { env, ...options }) =>
      trimmed(await runHostCommand(access, { ...options, argv, env: { ...variables, ...env } })),
    lock: (name, signal) => takeLock(access, name, signal),
  };
}
