// Files are opened here that somebody else may have put in place: links, pipes, devices, files without end.
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
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

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } =
  constants;

/** How a file is opened by whose it is: one that the user names may be a pipe of a shell. */
const reading = {
  named: O_RDONLY,
  host: O_RDONLY | O_NONBLOCK,
  ours: O_RDONLY | O_NONBLOCK | O_NOFOLLOW,
} as const;

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
 * @throws AgentError `file.too-large`, `file.not-read` for a file of the host that is no regular one, `file.not-ours`;
 * the error of the system
 */
export async function readFileOf(wanted: ReadFile): Promise<Buffer> {
  const { at, path = at, kind, whose = 'named' } = wanted;
  await using file = await open(at, reading[whose]).catch((error: unknown) => {
    throw asNotOurs(path, error);
  });
  const stats = await file.stat();
  if (whose === 'ours') requireOurs(path, stats, stats.isFile());
  if (whose === 'host' && !stats.isFile())
    throw hostFailure('file.not-read', `${path} is no regular file`, { context: { path } });
  const stream = file.createReadStream({ autoClose: false });
  const mostBytes = bytesOf(kind);
  const bytes = stats.size > mostBytes ? undefined : await readUpTo(stream, mostBytes);
  if (bytes === undefined) throw tooLarge(path, kind);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/**
 * Opens a file or a folder of the host that the user named, and reads nothing.
 * @throws the error of the system
 */
export async function tryToOpen(path: string): Promise<void> {
  await (await open(path, reading.host)).close();
}

/** The end of a file. */
export interface FileEnd {
  readonly text: string;
  /** Bytes of the whole file. */
  readonly size: number;
}

/**
 * The last bytes of a file of the host or of Bootwright, however long it is; undefined if absent.
 * @throws AgentError `file.not-read` for what is no regular file, `file.not-ours`; the error of the system
 */
export async function readEndOf(
  { at, whose }: { readonly at: string; readonly whose: 'host' | 'ours' },
  mostBytes: number,
): Promise<FileEnd | undefined> {
  await using file = await ifPresent(open(at, reading[whose])).catch((error: unknown) => {
    throw asNotOurs(at, error);
  });
  if (file === undefined) return undefined;
  const stats = await file.stat();
  if (whose === 'ours') requireOurs(at, stats, stats.isFile());
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

const appending = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;

/**
 * Opens a file of Bootwright to write to its end; makes it where there is none.
 * @throws AgentError `file.not-ours`; the error of the system
 */
export async function openOurs(path: string): Promise<FileHandle> {
  const file = await open(path, appending, 0o600).catch((error: unknown) => {
    throw asNotOurs(path, error);
  });
  try {
    const stats = await file.stat();
    requireOurs(path, stats, stats.isFile());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Puts a file in its place once it is whole, under a temporary name before that. What stands at the usual temporary name is
 * never opened: what an earlier run has left there is removed, and beside anything else, which somebody may have planted,
 * the name is one that nobody can know.
 * @throws the error of the system; what `write` throws, and nothing is left then
 */
export async function replaceFile<T>(
  path: string,
  { mode = 0o600, temporary = join(dirname(path), `.${basename(path)}.part`) },
  write: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const isFree = await removeLeftover(temporary);
  const chosen = isFree ? temporary : temporary.replace(/part$/, `${randomUUID()}.part`);
  await using file = await open(chosen, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    const result = await write(file);
    await rename(chosen, path);
    return result;
  } catch (error) {
    await rm(chosen, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Whether nothing stands there, or no longer: a regular file with one name that root or this user owns. */
async function removeLeftover(path: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    requireOurs(path, stats, stats.isFile());
    await rm(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/**
 * As `openOurs`, for a log that may be a device too, or a pipe that somebody reads.
 * @throws AgentError `file.not-ours`; the error of the system
 */
export function openOurLogSync(path: string): number {
  let file: number | undefined;
  try {
    file = openSync(path, appending, 0o640);
    const stats = fstatSync(file);
    if (!stats.isCharacterDevice()) requireOurs(path, stats, stats.isFile() || stats.isFIFO());
    return file;
  } catch (error) {
    if (file !== undefined) closeSync(file);
    throw asNotOurs(path, error);
  }
}

function requireOurs(path: string, { uid, mode, nlink }: Stats, isExpected: boolean): void {
  const problem = [
    [!isExpected, 'it is no regular file'] as const,
    [uid !== 0 && uid !== process.geteuid?.(), `it belongs to the user ${uid}`] as const,
    [(mode & 0o022) !== 0, 'its group or everybody can write it'] as const,
    [nlink > 1, 'it has another name too'] as const,
  ].find(([isSo]) => isSo);
  if (problem !== undefined) throw notOurs(path, problem[1]);
}

/** What the kernel says of a link that is not to be followed: ELOOP (open(2), O_NOFOLLOW). */
const asNotOurs = (path: string, error: unknown): unknown =>
  error instanceof Error && 'code' in error && error.code === 'ELOOP'
    ? notOurs(path, 'it is a symbolic link', error)
    : error;

const notOurs = (path: string, problem: string, cause?: unknown): Error =>
  hostFailure('file.not-ours', `${path} is not used: ${problem}`, { context: { path }, cause });

const bytesOf = (kind: FileKind): number => largest[kind] * 1024 ** 2;

const tooLarge = (path: string, kind: FileKind): Error =>
  hostFailure('file.too-large', `${path} is larger than ${largest[kind]} MiB`, {
    context: { path },
  });

/** Makes the names in a directory durable: a file that was created or renamed survives a power loss. */
export async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, O_RDONLY | O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
