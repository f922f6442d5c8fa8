// Files of the host. A container that was started with --pid=host sees all of them below
// /proc/1/root, whatever is mounted into it. The kernel would follow an absolute link from there
// into the container, so links are followed here.
import { access, readlink } from 'node:fs/promises';
import { join, resolve } from 'node:path/posix';
import { HOST_ROOT } from '../model/host-root.ts';
import { hostFailure } from '../ports/host-failures.ts';

/** As many links as the kernel follows. */
const mostLinks = 40;

/** A path of the host without links. */
export interface HostPlace {
  /** As the host has it. */
  readonly real: string;
  /** As our process has it. */
  readonly at: string;
  readonly isThere: boolean;
}

/**
 * Follows each link of a path as the host does: an absolute one stays below `root`. What is not
 * there has the place at which it would be made.
 * @throws the error of the system; ELOOP where more than 40 links follow each other
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
    // What is no link (readlink(2)).
    if (codeOf(error) === 'EINVAL') return { kind: 'other' };
    throw error;
  }
}

/** The code of an error of the system. */
export const codeOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException | undefined)?.code ?? 'unknown';

/** Whether there is no such file or folder. */
export const isAbsent = (error: unknown): boolean => /^ENO(?:ENT|TDIR)$/.test(codeOf(error));

/** Where our process has a path of the host, its links followed. */
export const pathOnHost = async (root: string, path: string): Promise<string> =>
  (await placeOnHost(root, path)).at;

/**
 * Where our process has a file that a person names for the program itself: in the container where
 * that has one of that name, by `-v` for example, otherwise on the host.
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
 * Refuses a container that was started without --pid=host: process 1 is its own there, so it would
 * take its own files for those of the host. Where the settings say where the files of the host are,
 * that is believed.
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

/** A namespace of mounts; why it cannot be read otherwise. */
type Mounts = { readonly id: string } | { readonly code: string };

const mountsOf = (pid: string): Promise<Mounts> =>
  readlink(`/proc/${pid}/ns/mnt`).then(
    (id) => ({ id }),
    (error: unknown) => ({ code: codeOf(error) }),
  );

/**
 * Why process 1 is not that of a host; undefined where it is. On the host itself it has our own
 * mounts.
 */
export function unseenHost(first: Mounts, own: Mounts, isContained: boolean): string | undefined {
  if ('code' in first) return `process 1 cannot be entered: ${first.code}`;
  const isOurs = 'id' in own && own.id === first.id;
  return isContained && isOurs ? 'process 1 is one of this container, not of the host' : undefined;
}

/**
 * Whether the program is the first of a container, or was started in one of podman (podman-run(1),
 * "/run/.containerenv").
 */
export const isInContainer = async (): Promise<boolean> =>
  process.pid === 1 || (await isThere('/run/.containerenv'));
