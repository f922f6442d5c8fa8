import { type Millis, seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import {
  type DirectPlace,
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
  statesOnHost,
  writeOnHost,
} from './host-files.ts';
import { takeLock } from './host-lock.ts';
import { directPath, isAboveShared, isShared } from './paths.ts';
import { type CommandHappening, type HostAccess, runCommand, trimmed } from './run-command.ts';
import { type WatchedHost, watchPaths } from './watch-paths.ts';

/** How the host is reached. */
export interface NsenterHostOptions {
  /** Where /opt, /var/log, /dev, /tmp and /etc/pki of the host are seen; `/` unless given. */
  readonly root?: string;
  readonly onCommand?: (happening: CommandHappening) => void;
  /** Our own environment, of which only PATH is passed on. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Pause between two looks at files of which no event can tell; 5 s unless given. */
  readonly lookEvery?: Millis;
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
  lookEvery = seconds(5),
}: NsenterHostOptions = {}): Host {
  const prefix = [ownProgram('nsenter', environment), ...namespaces];
  const access: HostAccess = { prefix, environment, onCommand };
  const run: RunOnHost = (argv, options) => runCommand(access, { ...options, argv });
  const watched = watchedHost(access, root, lookEvery);
  const placeOf = (path: string): DirectPlace | undefined => {
    const at = directPath(root, path);
    return at === undefined ? undefined : { at, path };
  };
  /** As `placeOf`, of what links lead to: an absolute one is below `root`, or leads elsewhere. */
  const leadsTo = async (path: string): Promise<DirectPlace | undefined> => {
    if (placeOf(path) === undefined) return undefined;
    const place = placeOf((await realPathDirect(root, path)) ?? path);
    return place && { ...place, path };
  };
  return {
    exec: async (argv, options) => trimmed(await run(argv, options)),
    readText: async (path, signal) => {
      signal.throwIfAborted();
      const place = await leadsTo(path);
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
      const place = await leadsTo(path);
      return place === undefined ? listOnHost(run, path, signal) : listDirect(place);
    },
    realPath: async (path, signal) => {
      signal.throwIfAborted();
      return placeOf(path) === undefined
        ? realPathOnHost(run, path, signal)
        : realPathDirect(root, path);
    },
    watch: (paths, changed, signal) => watchPaths(watched, { paths, changed }, signal),
    lock: (name, signal) => takeLock(access, name, signal),
  };
}

function watchedHost(access: HostAccess, root: string, every: Millis): WatchedHost {
  // Not told of: a command every few seconds says nothing.
  const quiet: HostAccess = { ...access, onCommand: undefined };
  const run: RunOnHost = (argv, options) => runCommand(quiet, { ...options, argv });
  return {
    files: { root, isShared, isAboveShared },
    look: (paths, signal) => statesOnHost(run, paths, signal),
    every,
  };
}
