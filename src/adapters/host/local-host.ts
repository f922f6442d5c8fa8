import { seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { hostFiles } from './host-files.ts';
import { takeLock } from './host-lock.ts';
import { type CommandEvent, type HostAccess, runHostCommand } from './run-command.ts';

/** Options for commands on this machine. */
export interface LocalHostOptions {
  readonly onCommand?: (event: CommandEvent) => void;
  /** The environment of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Variables by which programs for images find their user, their storage and their network. */
const passedOn = [
  ...['HOME', 'USER', 'TMPDIR', 'DBUS_SESSION_BUS_ADDRESS'],
  ...['XDG_RUNTIME_DIR', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME'],
  ...['CONTAINERS_CONF', 'CONTAINERS_STORAGE_CONF', 'CONTAINERS_REGISTRIES_CONF'],
  ...['BUILDAH_ISOLATION', 'REGISTRY_AUTH_FILE', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
] as const;

/**
 * The machine and the user of this process: for example a laptop on which a user builds an image.
 * Commands get PATH and the variables above from this process's environment; tokens are not among
 * them.
 */
export function localHost({ onCommand, environment = process.env }: LocalHostOptions = {}): Host {
  const access: HostAccess = { prefix: [], environment, onCommand };
  const own = Object.fromEntries(
    passedOn.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return {
    ...hostFiles({ root: '/', pollInterval: seconds(1) }),
    exec: (argv, options) =>
      runHostCommand(access, { ...options, argv, env: { ...own, ...options.env } }),
    lock: (name, signal) => takeLock(access, name, signal),
  };
}
