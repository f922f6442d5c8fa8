import { createHash } from 'node:crypto';
import { type FileHandle, lstat, readdir, readlink, rm } from 'node:fs/promises';
import { dirname, join, normalize, resolve } from 'node:path/posix';
import { AgentError } from '../../model/failure.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import type { ReadOptions, WrittenFile } from '../../ports/host.ts';
import { flushDirectory, readFileOf, replaceFile } from '../file-access.ts';

/** Content of a file: text, bytes, or a stream of bytes. */
export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>;

/** A place of the host as our process sees it, and as the host does. */
export interface DirectPlace {
  readonly at: string;
  readonly path: string;
}

/** Whole text of a file, undefined if absent. */
export async function readDirect(
  { at, path }: DirectPlace,
  { isOurs = false }: ReadOptions = {},
): Promise<string | undefined> {
  try {
    const whose = isOurs ? 'ours' : 'host';
    return (await readFileOf({ at, path, kind: 'host', whose })).toString();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (error instanceof AgentError) throw error;
    throw notRead(path, error);
  }
}

/** Sorted names in a directory; none when there is no such directory. */
export async function listDirect({ at, path }: DirectPlace): Promise<readonly string[]> {
  try {
    return (await readdir(at)).sort();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw notRead(path, error);
  }
}

/** Removes a file if it is there. */
export async function removeDirect({ at, path }: DirectPlace): Promise<void> {
  try {
    await rm(at, { force: true });
  } catch (error) {
    throw notWritten(path, error);
  }
}

/**
 * Writes a file so that its name never shows less than all of it, not even after a power loss:
 * temporary name, flush, rename, flush of the directory.
 */
export async function writeDirect(
  { at, path }: DirectPlace,
  content: FileContent,
  { signal, mode = 0o600 }: { readonly signal: AbortSignal; readonly mode?: number },
): Promise<WrittenFile> {
  try {
    const sums = await replaceFile(at, { mode }, (file) =>
      writeWhole(file, content, { signal, mode }),
    );
    await flushDirectory(dirname(at));
    return { path, ...sums };
  } catch (error) {
    throw isSystemError(error) ? notWritten(path, error) : error;
  }
}

async function writeWhole(
  file: FileHandle,
  content: FileContent,
  { signal, mode }: { readonly signal: AbortSignal; readonly mode: number },
): Promise<{ readonly bytes: number; readonly sha256: string }> {
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

/** As many links as the kernel follows. */
export const mostLinks = 40;

/**
 * The path with every link followed as the host follows them: an absolute link stays below `root`.
 * Undefined when it leads nowhere, or out of what is shared.
 */
export async function realPathDirect(root: string, path: string): Promise<string | undefined> {
  let links = 0;
  let done = '/';
  let left = namesIn(path);
  while (left.length > 0) {
    const [name = '', ...further] = left;
    const next = resolve(done, name);
    const found = await entryAt(directPath(root, next) ?? join(root, next));
    if (found.kind === 'nothing') return undefined;
    if (found.kind !== 'link') {
      done = next;
      left = further;
      continue;
    }
    links += 1;
    if (links > mostLinks) return undefined;
    left = [...namesIn(resolve(done, found.target)), ...further];
    done = '/';
  }
  return done;
}

/** The names on the way to a path. */
export const namesIn = (path: string): readonly string[] =>
  normalize(path)
    .split('/')
    .filter((name) => name !== '');

type Entry =
  | { readonly kind: 'nothing' | 'directory' | 'file' }
  | { readonly kind: 'link'; readonly target: string };

/** What is at a place; a link is not followed. */
export async function entryAt(at: string): Promise<Entry> {
  try {
    const found = await lstat(at);
    if (found.isSymbolicLink()) return { kind: 'link', target: await readlink(at) };
    return { kind: found.isDirectory() ? 'directory' : 'file' };
  } catch {
    return { kind: 'nothing' };
  }
}

const codeOf = (error: unknown): string | undefined =>
  (error as NodeJS.ErrnoException | undefined)?.code;

const isAbsent = (error: unknown): boolean =>
  codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

const isSystemError = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && 'errno' in error;

const notRead = (path: string, error: unknown): Error =>
  hostFailure('file.not-read', `${path} cannot be read: ${codeOf(error) ?? 'unknown'}`, {
    context: { path },
    cause: error,
  });

const notWritten = (path: string, error: unknown): Error =>
  hostFailure('file.not-written', `${path} cannot be written: ${codeOf(error) ?? 'unknown'}`, {
    context: { path },
    cause: error,
  });

const encoder = new TextEncoder();

/** Any content as a stream of bytes. */
export async function* chunksOf(
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (typeof content === 'string') yield encoder.encode(content);
  else if (content instanceof Uint8Array) yield content;
  else yield* content;
}

/**
 * What the container shares with the host by bind mounts (assisted-service, install command). The
 * agent reaches these by itself; everything else is another file on the host than in the
 * container, and is reached by commands.
 */
const shared = ['/opt', '/var/log', '/dev', '/tmp', '/etc/pki'] as const;

/** Whether a file of the host is seen by our own process too. */
export function isShared(path: string): boolean {
  const clean = normalize(path);
  return shared.some((top) => clean === top || clean.startsWith(`${top}/`));
}

/** Whether a directory is not shared itself, but one below it is. */
export function isAboveShared(path: string): boolean {
  const clean = normalize(path);
  const prefix = clean === '/' ? clean : `${clean}/`;
  return shared.some((top) => top.startsWith(prefix));
}

/**
 * Where a file of the host is seen by our own process, or undefined when only a command on the
 * host sees it. `root` is where the host's shared directories are mounted, `/` in the container.
 */
export const directPath = (root: string, path: string): string | undefined =>
  isShared(path) ? join(root, normalize(path)) : undefined;
