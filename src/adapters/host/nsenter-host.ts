import type { Host } from '../../ports/host.ts';
import {
  listDirect,
  readDirect,
  realPathDirect,
  removeDirect,
  writeDirect,
} from './direct-files.ts';
import { ownProgram } from './environment.ts';
import {
  listOnHost,
  readOnHost,
  realPathOnHost,
  removeOnHost,
  type RunOnHost,
  writeOnHost,
} from './host-files.ts';
import { takeLock } from './host-lock.ts';
import { directPath } from './paths.ts';
import { type CommandHappening, type HostAccess, runCommand, trimmed } from './run-command.ts';

/** How the host is reached. */
export interface NsenterHostOptions {
  /** Where /opt, /var/log, /dev, /tmp and /etc/pki of the host are seen; `/` unless given. */
  readonly root?: string;
  readonly onCommand?: (happening: CommandHappening) => void;
  /** Our own environment, of which only PATH is passed on. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * The namespaces of the host's first process that every command enters. Network and host name are
 * shared by the container already. The words are those of the agent being replaced.
 */
const namespaces = ['--target', '1', '--cgroup', '--mount', '--ipc', '--pid', '--'] as const;

/** The host behind a privileged container: commands by nsenter, shared directories by ourselves. */
export function nsenterHost({
  root = '/',
  onCommand,
  environment = process.env,
}: NsenterHostOptions = {}): Host {
  const prefix = [ownProgram('nsenter', environment), ...namespaces];
  const access: HostAccess = { prefix, environment, onCommand };
  const run: RunOnHost = (argv, options) => runCommand(access, { ...options, argv });
  const placeOf = (path: string): { readonly at: string; readonly path: string } | undefined => {
    const at = directPath(root, path);
    return at === undefined ? undefined : { at, path };
  };
  return {
    exec: async (argv, options) => trimmed(await run(argv, options)),
    readText: async (path, signal) => {
      signal.throwIfAborted();
      const place = placeOf(path);
      return place === undefined ? readOnHost(run, path, signal) : readDirect(place);
    },
    writeFile: async (path, content, options) => {
      options.signal.throwIfAborted();
      const place = placeOf(path);
      return place === undefined
        ? writeOnHost(run, { path, content }, options)
        : writeDirect(place, content, options);
    },
    remove: async (path, signal) => {
      signal.throwIfAborted();
      const place = placeOf(path);
      await (place === undefined ? removeOnHost(run, path, signal) : removeDirect(place));
    },
    list: async (path, signal) => {
      signal.throwIfAborted();
      const place = placeOf(path);
      return place === undefined ? listOnHost(run, path, signal) : listDirect(place);
    },
    realPath: async (path, signal) => {
      signal.throwIfAborted();
      return placeOf(path) === undefined
        ? realPathOnHost(run, path, signal)
        : realPathDirect(root, path);
    },
    lock: (name, signal) => takeLock(access, name, signal),
  };
}
