import { type FSWatcher, watch } from 'node:fs';
import { basename, join, resolve } from 'node:path/posix';
import { setTimeout as pauseFor } from 'node:timers/promises';
import type { Millis } from '../../model/duration.ts';
import { entryAt, mostLinks, namesIn } from './direct-files.ts';

/** How changes of files become known. */
export interface WatchedHost {
  readonly files: SeenFiles;
  /**
   * What the host says of paths that file events do not reach: any text that is another one when
   * something has changed.
   */
  readonly poll: (paths: readonly string[], signal: AbortSignal) => Promise<string>;
  /** Pause between two such looks. */
  readonly every: Millis;
}

/** Events come in bursts; they are reported so long after the first one. */
const gathering: Millis = 10;

/**
 * Calls `changed` once at the beginning and whenever one of the paths may have changed, come or gone;
 * resolves when the signal aborts.
 */
export async function watchPaths(
  { files, poll, every }: WatchedHost,
  { paths, changed }: { readonly paths: readonly string[]; readonly changed: () => void },
  signal: AbortSignal,
): Promise<void> {
  const changes = changesUntil(signal);
  const posts = filePosts(files, changes.notify);
  let blind: readonly string[] = [];
  // A host that does not answer is found out by whoever looks at the files next.
  const seen = (): Promise<string | undefined> =>
    blind.length === 0 ? Promise.resolve('') : poll(blind, signal).catch(() => undefined);
  const notify = (): void => {
    if (!signal.aborted) changed();
  };
  const followEvents = async (): Promise<void> => {
    while (await changes.next()) {
      await pause(gathering, signal);
      changes.reset();
      // Watch first and notify then, so that nothing is lost between the two.
      blind = await posts.follow(paths);
      notify();
    }
  };
  const pollAgain = async (first: string | undefined): Promise<void> => {
    let last = first;
    while (await pause(every, signal)) {
      const now = await seen();
      if (now === undefined || now !== last) notify();
      last = now;
    }
  };
  try {
    if (signal.aborted) return;
    blind = await posts.follow(paths);
    const first = await seen();
    notify();
    await Promise.all([followEvents(), pollAgain(first)]);
  } finally {
    posts.close();
  }
}

interface Changes {
  readonly notify: () => void;
  /** True once there is one, false when the signal has aborted. */
  readonly next: () => Promise<boolean>;
  readonly reset: () => void;
}

function changesUntil(signal: AbortSignal): Changes {
  let next = Promise.withResolvers<boolean>();
  signal.addEventListener('abort', () => next.resolve(false), { once: true });
  return {
    notify: () => next.resolve(true),
    next: async () => (await next.promise) && !signal.aborted,
    reset: () => {
      next = Promise.withResolvers<boolean>();
      if (signal.aborted) next.resolve(false);
    },
  };
}

/** False when the signal ended the pause. */
const pause = (duration: Millis, signal: AbortSignal): Promise<boolean> =>
  pauseFor(duration, true, { signal }).catch(() => false);

// Which directories must be watched to learn of everything that can happen to a path: each on the
// way to it and to what its links lead to, so that whatever comes, goes, is put in another's place or
// is led elsewhere is seen. A directory tells of what is in it by name, of writes to files too.

/** Files that our process sees as well as the host. */
export interface SeenFiles {
  /** Where the files of the host are seen. */
  readonly root: string;
  /** Whether a path of the host is the same file below `root`. */
  readonly isShared: (path: string) => boolean;
  /** Whether it is not, but leads to one that is. */
  readonly isAboveShared: (path: string) => boolean;
}

/** Directories that are being watched for several paths. */
interface FilePosts {
  /**
   * Watches whatever the paths depend on now, and no longer what they do not; gives the
   * paths that file events do not reach: what a link out of what is shared leads to, for example.
   */
  readonly follow: (paths: readonly string[]) => Promise<readonly string[]>;
  readonly close: () => void;
}

interface Post {
  readonly watcher: FSWatcher;
  /** Names that matter; grows only, since a notify too many harms nobody. */
  readonly names: Set<string>;
}

/** Stands for every name in a directory. */
const every = '';

/** Watches directories by inotify; `notify` is called for each event that may matter. */
function filePosts(files: SeenFiles, notify: () => void): FilePosts {
  const posts = new Map<string, Post>();
  const drop = (directory: string): void => {
    posts.get(directory)?.watcher.close();
    posts.delete(directory);
  };
  /** What was put in the place of a directory is another one, though it has its name. */
  const dropBelow = (path: string): void => {
    for (const known of [...posts.keys()]) {
      if (known === path || known.startsWith(`${path}/`)) drop(known);
    }
  };
  const onEvent = (directory: string, event: string, name: string | null): void => {
    const names = posts.get(directory)?.names;
    // A directory that goes away says so by its own name.
    const isSelf = event === 'rename' && name === basename(directory);
    if (event === 'rename' && name !== null) dropBelow(join(directory, name));
    if (isSelf) drop(directory);
    if (isSelf || name === null || names?.has(every) === true || names?.has(name) === true)
      notify();
  };
  /** False when the directory cannot be watched, because there are too many watches for example. */
  const stand = (directory: string, name: string): boolean => {
    const known = posts.get(directory);
    if (known !== undefined) {
      known.names.add(name);
      return true;
    }
    try {
      const watcher = watch(directory, (event, found) => {
        onEvent(directory, event, found);
      });
      watcher.on('error', () => {
        drop(directory);
        notify();
      });
      posts.set(directory, { watcher, names: new Set([name]) });
      return true;
    } catch (error) {
      // What has just gone is reported by the directory above it.
      return (error as NodeJS.ErrnoException).code === 'ENOENT';
    }
  };
  return {
    follow: async (paths) => {
      const needed = new Set<string>();
      const blind: string[] = [];
      for (const path of paths) {
        const unseen = await walk(files, path, (directory, name) => {
          needed.add(directory);
          return stand(directory, name);
        });
        if (unseen !== undefined) blind.push(unseen);
      }
      for (const directory of [...posts.keys()]) if (!needed.has(directory)) drop(directory);
      return blind;
    },
    close: () => {
      for (const directory of [...posts.keys()]) drop(directory);
    },
  };
}

/**
 * Goes a path name by name as the host would, standing in each directory before the next name is
 * looked up in it, so that nothing happens unseen. Gives the path at which the way leaves what is
 * shared, or the whole path when a directory cannot be watched.
 */
async function walk(
  { root, isShared, isAboveShared }: SeenFiles,
  path: string,
  stand: (directory: string, name: string) => boolean,
): Promise<string | undefined> {
  const arrive = async (end: string): Promise<string | undefined> => {
    if (!isShared(end)) return end;
    const at = join(root, end);
    return (await isDirectory(at)) && !stand(at, every) ? path : undefined;
  };
  let links = 0;
  let done = '/';
  let left = namesIn(path);
  for (;;) {
    const [name, ...further] = left;
    if (name === undefined) return arrive(done);
    const next = resolve(done, name);
    const whole = resolve(next, ...further);
    if (!isShared(next) && !isAboveShared(next)) return whole;
    if (!stand(join(root, done), name)) return path;
    const found = await entryAt(join(root, next));
    if (found.kind === 'nothing') return isShared(whole) ? undefined : whole;
    if (found.kind === 'link') {
      links += 1;
      if (links > mostLinks) return undefined;
      left = [...namesIn(resolve(done, found.target)), ...further];
      done = '/';
    } else {
      left = further;
      done = next;
    }
  }
}

const isDirectory = async (at: string): Promise<boolean> =>
  (await entryAt(at)).kind === 'directory';
