// Files of the host. A container that was started with --pid=host sees all of them below
// /proc/1/root, regardless of its own mounts. The kernel would resolve an absolute link from there
// inside the container, so links are followed here.
import { access, readlink } from 'node:fs/promises';
import { join, resolve } from 'node:path/posix';
import { hostFailure } from '../ports/host-failures.ts';
import { readFileOf } from './file-access.ts';

/** Path of the host's files in a container with --pid=host (proc_pid_root(5)). */
export const HOST_ROOT = '/proc/1/root';

/** The kernel follows the same number of links. */
const mostLinks = 40;

/** A path of the host without links. */
export interface HostPlace {
  /** The path on the host. */
  readonly real: string;
  /** The path for this process. */
  readonly at: string;
  readonly isThere: boolean;
}

/**
 * Resolves each link of a path as the host does: an absolute link stays below `root`. A missing
 * file gets the path at which it would be created.
 * @throws the error of the system; ELOOP after more than 40 links
 */
export async function placeOnHost(root: string, path: string): Promise<HostPlace> {
  let [done, left, links] = ['/', namesIn(path), 0];
  while (left.length > 0) {
    const [name = '', ...further] = left;
    const next = resolve(done, name);
    const entry = await entryAt(join(root, next));
    if (entry.kind === 'nothing') {
      const real = resolve(next, ...further);
      return { real, at: join(root, real), isThere: false };
    }
    left = further;
    if (entry.kind === 'link') {
      links += 1;
      if (links > mostLinks) throw Object.assign(new Error(path), { code: 'ELOOP' });
      left = [...namesIn(entry.target), ...further];
      if (entry.target.startsWith('/')) done = '/';
    } else done = next;
  }
  return { real: done, at: join(root, done), isThere: true };
}

const namesIn = (path: string): readonly string[] =>
  path.split('/').filter((name) => name !== '' && name !== '.');

type Entry =
  { readonly kind: 'nothing' | 'other' } | { readonly kind: 'link'; readonly target: string };

async function entryAt(at: string): Promise<Entry> {
  try {
    return { kind: 'link', target: await readlink(at) };
  } catch (error) {
    if (isAbsent(error)) return { kind: 'nothing' };
    // The path is not a link (readlink(2)).
    if (codeOf(error) === 'EINVAL') return { kind: 'other' };
    throw error;
  }
}

/** The code of a system error. */
export const codeOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException | undefined)?.code ?? 'unknown';

/** Whether a file or folder does not exist, by the error. */
export const isAbsent = (error: unknown): boolean => /^ENO(?:ENT|TDIR)$/.test(codeOf(error));

/** The path of a host's file for this process, with links resolved. */
export const pathOnHost = async (root: string, path: string): Promise<string> =>
  (await placeOnHost(root, path)).at;

/** The text of a file below /proc/sys/kernel of a host; empty if it cannot be read. */
export async function kernelText(root: string, name: string): Promise<string> {
  const text = await pathOnHost(root, `/proc/sys/kernel/${name}`)
    .then((at) => readFileOf({ at, kind: 'host', whose: 'host' }))
    .catch(() => '');
  return text.toString().trim();
}

/** The name of a host for people; undefined for a live system that has none yet. */
export async function hostnameOf(root: string): Promise<string | undefined> {
  const name = await kernelText(root, 'hostname');
  return /^(?:localhost(?:\..*)?)?$/.test(name) ? undefined : name;
}

/**
 * The path for this process of a file that a user names for the program itself: in the container if
 * the container has the file, by `-v` for example; otherwise on the host.
 */
export async function ownOrHost(path: string, root: string = HOST_ROOT): Promise<string> {
  if (!path.startsWith('/') || (await isThere(path))) return path;
  const place = await placeOnHost(root, path).catch(() => undefined);
  return place?.isThere === true ? place.at : path;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Refuses a container that was started without --pid=host: its process 1 is its own, so it would
 * take its own files for the host's. A root in the settings is used unchecked.
 * @throws AgentError `host.not-seen`
 */
export async function requireHost(root: string): Promise<void> {
  if (root !== HOST_ROOT) return;
  const [first, own, isContained] = await Promise.all([
    mountsOf('1'),
    mountsOf('self'),
    isInContainer(),
  ]);
  const problem = unseenHost(first, own, isContained);
  if (problem !== undefined) throw hostFailure('host.not-seen', problem);
}

/** A mount namespace, or the error code if it cannot be read. */
type Mounts = { readonly id: string } | { readonly code: string };

const mountsOf = (pid: string): Promise<Mounts> =>
  readlink(`/proc/${pid}/ns/mnt`).then(
    (id) => ({ id }),
    (error: unknown) => ({ code: codeOf(error) }),
  );

/**
 * The reason why process 1 does not belong to a host; undefined if it does. On the host itself,
 * process 1 has the same mount namespace as this process.
 */
export function unseenHost(first: Mounts, own: Mounts, isContained: boolean): string | undefined {
  if ('code' in first) return `process 1 cannot be entered: ${first.code}`;
  const isOurs = 'id' in own && own.id === first.id;
  return isContained && isOurs ? 'process 1 is one of this container, not of the host' : undefined;
}

/**
 * Whether the program is process 1 of a container, or runs in a container of podman (podman-run(1),
 * "/run/.containerenv").
 */
export const isInContainer = async (): Promise<boolean> =>
  process.pid === 1 || (await isThere('/run/.containerenv'));
