// Files are opened here that somebody else may have put in place: links, pipes, devices, files
// without end.
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path/posix';
import { readLast, readUpTo } from '../lib/read-up-to.ts';
import { hostFailure } from '../ports/host-failures.ts';

/** The most MiB that are read of a file, by what it is. */
const largest = {
  secret: 1,
  /** A configuration, or a kubeconfig. */
  settings: 1,
  /** The system's bundle has 0.2 MiB. */
  authorities: 4,
  /** An object of a cluster has at most 3 MiB, and a file may list several. */
  manifests: 16,
  /** An entry has some 200 bytes. */
  journal: 64,
  /** A bundle of logs, packed. */
  bundle: 16,
  /** Whatever else the host has; Ignition and logs are the largest. */
  host: 64,
} as const;

/** What a file is. */
export type FileKind = keyof typeof largest;

const { O_DIRECTORY, O_NONBLOCK, O_RDONLY } = constants;

/** How a file is opened by whose it is: one that the user names may be a pipe of a shell. */
const reading = { named: O_RDONLY, host: O_RDONLY | O_NONBLOCK } as const;

/** What a reading resolves with; undefined where there is no such file or folder. */
export async function ifPresent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A file that is read: where our process sees it, and the path by which it is known. */
interface ReadFile {
  readonly at: string;
  readonly path?: string;
  readonly kind: FileKind;
  readonly whose?: keyof typeof reading;
}

/**
 * A whole file; one that the user named unless told otherwise.
 * @throws AgentError `file.too-large`, `file.not-read` for a file of the host that is no regular
 * one; the error of the system
 */
export async function readFileOf(wanted: ReadFile): Promise<Buffer> {
  const { at, path = at, kind, whose = 'named' } = wanted;
  await using file = await open(at, reading[whose]);
  const stats = await file.stat();
  if (whose === 'host' && !stats.isFile())
    throw hostFailure('file.not-read', `${path} is no regular file`, { context: { path } });
  const stream = file.createReadStream({ autoClose: false });
  const mostBytes = bytesOf(kind);
  const bytes = stats.size > mostBytes ? undefined : await readUpTo(stream, mostBytes);
  if (bytes === undefined) throw tooLarge(path, kind);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The end of a file. */
export interface FileEnd {
  readonly text: string;
  /** Bytes of the whole file. */
  readonly size: number;
}

/**
 * The last bytes of a file of the host, however long it is; undefined if absent.
 * @throws AgentError `file.not-read` for what is no regular file; the error of the system
 */
export async function readEndOf(at: string, mostBytes: number): Promise<FileEnd | undefined> {
  await using file = await ifPresent(open(at, reading.host));
  if (file === undefined) return undefined;
  const stats = await file.stat();
  if (!stats.isFile())
    throw hostFailure('file.not-read', `${at} is no regular file`, { context: { path: at } });
  // A file of the kernel has no size that is known.
  const start = Math.max(0, stats.size - mostBytes);
  const bytes = await readLast(file.createReadStream({ autoClose: false, start }), mostBytes);
  const text = Buffer.from(bytes).toString('utf8');
  return { text, size: Math.max(stats.size, bytes.length) };
}

/**
 * Text of a file that the user named, before anything else is done.
 * @throws AgentError `file.too-large`; the error of the system
 */
export function readTextSync(path: string, kind: FileKind): string {
  const file = openSync(path, O_RDONLY);
  try {
    const bytes = Buffer.allocUnsafe(bytesOf(kind) + 1);
    let length = 0;
    for (let read = 1; read > 0; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    if (length === bytes.length) throw tooLarge(path, kind);
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}

/**
 * Puts a file in its place once it is whole, under a temporary name before that. What has that name
 * is removed and never opened: an earlier run has left it there, or somebody has planted it.
 * @throws the error of the system; what `write` throws, and nothing is left then
 */
export async function replaceFile<T>(
  path: string,
  { mode = 0o600, temporary = join(dirname(path), `.${basename(path)}.part`) },
  write: (file: FileHandle) => Promise<T>,
): Promise<T> {
  await rm(temporary, { force: true });
  await using file = await open(temporary, 'wx', mode);
  try {
    const result = await write(file);
    await rename(temporary, path);
    return result;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

const bytesOf = (kind: FileKind): number => largest[kind] * 1024 ** 2;

const tooLarge = (path: string, kind: FileKind): Error =>
  hostFailure('file.too-large', `${path} is larger than ${largest[kind]} MiB`, {
    context: { path },
  });

/**
 * Makes the names in a directory durable: a file that was created or renamed survives a power loss.
 */
export async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, O_RDONLY | O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
