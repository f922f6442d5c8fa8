// Opens files that another user may have put in place: links, pipes, devices, files without end.
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path/posix';
import { readLast, readUpTo } from '../lib/read-up-to.ts';
import { hostFailure } from '../ports/host-failures.ts';

/** Maximum MiB read from a file, by its kind. */
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
  /** All other files of the host; Ignition and logs are the largest. */
  host: 64,
} as const;

/** The kind of a file. */
export type FileKind = keyof typeof largest;

const { O_DIRECTORY, O_NONBLOCK, O_RDONLY } = constants;

/** Flags for opening a file by its owner: a file that the user names may be a pipe of a shell. */
const reading = { named: O_RDONLY, host: O_RDONLY | O_NONBLOCK } as const;

/** The result of a read; undefined if the file or folder does not exist. */
export async function ifPresent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A file to read: its path for this process, and the path by which users know it. */
interface ReadFile {
  readonly at: string;
  readonly path?: string;
  readonly kind: FileKind;
  readonly whose?: keyof typeof reading;
}

/**
 * Reads a whole file, by default one that the user named.
 * @throws AgentError `file.too-large`, `file.not-read` for a file of the host that is not regular;
 * the error of the system
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
 * The last bytes of a file of the host of any length; undefined if absent.
 * @throws AgentError `file.not-read` if it is not a regular file; the error of the system
 */
export async function readEndOf(at: string, mostBytes: number): Promise<FileEnd | undefined> {
  await using file = await ifPresent(open(at, reading.host));
  if (file === undefined) return undefined;
  const stats = await file.stat();
  if (!stats.isFile())
    throw hostFailure('file.not-read', `${at} is no regular file`, { context: { path: at } });
  // A file of the kernel has no known size.
  const start = Math.max(0, stats.size - mostBytes);
  const bytes = await readLast(file.createReadStream({ autoClose: false, start }), mostBytes);
  const text = Buffer.from(bytes).toString('utf8');
  return { text, size: Math.max(stats.size, bytes.length) };
}

/**
 * Reads a file that the user named, during the start of the program.
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
 * Writes a file under a temporary name, and renames it once it is whole. An existing file of that
 * name is removed and never opened: an earlier run left it, or an attacker planted it.
 * @throws the error of the system; the error of `write`; neither leaves a file
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
 * Makes the names in a directory durable, so that a created or renamed file survives a power loss.
 */
export async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, O_RDONLY | O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
