import { createHash } from 'node:crypto';
import { type BigIntStats } from 'node:fs';
import { type FileHandle, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path/posix';
import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import type { Host, WrittenFile } from '../../ports/host.ts';
import { flushDirectory, readFileOf, replaceFile } from '../file-access.ts';
import { codeOf, isAbsent, pathOnHost, placeOnHost } from '../host-root.ts';

/** Content of a file: text, bytes, or a stream of bytes. */
type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>;

/** Root of a host's files, and the interval at which watched files are checked. */
export interface HostFilesOptions {
  readonly root: string;
  readonly pollInterval: Millis;
}

/** The part of the host port for files. */
export const hostFiles = ({
  root,
  pollInterval,
}: HostFilesOptions): Pick<
  Host,
  'readText' | 'writeFile' | 'remove' | 'list' | 'realPath' | 'watch'
> => ({
  readText: async (path, signal) => {
    signal.throwIfAborted();
    return reading(path, undefined, async () => {
      const at = await pathOnHost(root, path);
      return (await readFileOf({ at, path, kind: 'host', whose: 'host' })).toString();
    });
  },
  writeFile: async (path, content, options) => {
    options.signal.throwIfAborted();
    return writing(path, async () => {
      const at = await ownName(root, path);
      const sums = await replaceFile(at, { mode: options.mode ?? 0o600 }, (file) =>
        writeWhole(file, content, options),
      );
      await flushDirectory(dirname(at));
      return { path, ...sums };
    });
  },
  remove: async (path, signal) => {
    signal.throwIfAborted();
    await writing(path, async () => rm(await ownName(root, path), { force: true }));
  },
  list: async (path, signal) => {
    signal.throwIfAborted();
    return reading(path, [], async () => (await readdir(await pathOnHost(root, path))).sort());
  },
  realPath: async (path, signal) => {
    signal.throwIfAborted();
    const place = await placeOnHost(root, path).catch(() => undefined);
    return place?.isThere === true ? place.real : undefined;
  },
  watch: (paths, changed, signal) => watchFiles({ root, pollInterval, paths, signal }, changed),
});

/**
 * The place at which a name is written or removed: resolves links only up to its folder, since the
 * name may be a link itself.
 */
const ownName = async (root: string, path: string): Promise<string> =>
  join(await pathOnHost(root, dirname(path)), basename(path));

async function writeWhole(
  file: FileHandle,
  content: FileContent,
  { signal, mode = 0o600 }: { readonly signal: AbortSignal; readonly mode?: number },
): Promise<Omit<WrittenFile, 'path'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunksOf(content)) {
    signal.throwIfAborted();
    hash.update(chunk);
    bytes += chunk.length;
    await file.writeFile(chunk);
  }
  signal.throwIfAborted();
  await file.chmod(mode);
  await file.sync();
  return { bytes, sha256: hash.digest('hex') };
}

const encoder = new TextEncoder();

/** Any content as a stream of bytes. */
export async function* chunksOf(content: FileContent): AsyncGenerator<Uint8Array> {
  if (typeof content === 'string') yield encoder.encode(content);
  else if (content instanceof Uint8Array) yield content;
  else yield* content;
}

async function reading<T>(path: string, none: T, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (isAbsent(error)) return none;
    if (error instanceof AgentError) throw error;
    throw hostFailure('file.not-read', `${path} cannot be read: ${codeOf(error)}`, {
      context: { path },
      cause: error,
    });
  }
}

async function writing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    // An error of the content's source is passed on.
    if (!(error instanceof Error && 'syscall' in error) && codeOf(error) !== 'ELOOP') throw error;
    throw hostFailure('file.not-written', `${path} cannot be written: ${codeOf(error)}`, {
      context: { path },
      cause: error,
    });
  }
}

/** Watched files and folders, and the signal that ends the watch. */
export interface WatchedFiles extends HostFilesOptions {
  readonly paths: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Calls `changed` once at the beginning, and whenever one of the paths has changed, appeared or
 * gone. Resolves when the signal aborts.
 */
export async function watchFiles(
  { root, pollInterval, paths, signal }: WatchedFiles,
  changed: () => void,
): Promise<void> {
  let last: string | undefined;
  while (!signal.aborted) {
    const states = await Promise.all(paths.map((path) => stateOf(root, path)));
    const now = states.join('\n');
    if (now !== last && !isAborted(signal)) changed();
    last = now;
    await pause(pollInterval, undefined, { signal }).catch(() => undefined);
  }
}

/** The signal may abort during an await, which the compiler does not know. */
const isAborted = (signal: AbortSignal): boolean => signal.aborted;

/** A text that changes whenever a path changes. */
async function stateOf(root: string, path: string): Promise<string> {
  try {
    const { real, at } = await placeOnHost(root, path);
    const { dev, ino, mode, size, mtimeNs, ctimeNs }: BigIntStats = await stat(at, {
      bigint: true,
    });
    return [real, dev, ino, mode, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return codeOf(error);
  }
}
