import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { watchFiles } from '../../src/adapters/host/host-files.ts';
import type { Devices } from './devices.ts';

/** The files of a simulated host: a directory of its own that no path leaves. */
export interface HostFiles {
  readonly root: string;
  /**
   * The path on this machine of a path of the host.
   * @throws Error if a symbolic link would leave the host
   */
  readonly real: (path: string) => Promise<string>;
}

/** Creates the files of a host below a directory. */
export function hostFiles(root: string): HostFiles {
  let inside: string | undefined;
  const real = (path: string): string => {
    inside ??= realpathSync.native(root);
    const place = join(root, normalize(`/${path}`));
    const leadsTo = existingPart(place);
    if (leadsTo !== inside && !leadsTo.startsWith(`${inside}/`)) {
      throw new Error(`${path} leads out of the simulated host`);
    }
    return place;
  };
  return { root, real: (path) => new Promise((resolve) => resolve(real(path))) };
}

const existingPart = (place: string): string =>
  existsSync(place) ? realpathSync.native(place) : existingPart(dirname(place));

/** Makes /dev of a host match its devices. The nodes are empty files, never devices. */
export function syncDev(root: string, devices: Devices): void {
  const dev = join(root, 'dev');
  mkdirSync(dev, { recursive: true });
  const links = devices.links();
  const nodes = devices.all().map(({ kname }) => `/dev/${kname}`);
  const wanted = new Set([...nodes, ...links.keys()]);
  const found = new Set(filesBelow(dev).map((path) => `/${relative(root, path)}`));
  for (const path of found) if (!wanted.has(path)) rmSync(join(root, path));
  for (const node of nodes) if (!found.has(node)) writeFileSync(join(root, node), '');
  for (const [link, target] of links) placeLink(join(root, link), join(root, target));
}

function placeLink(link: string, target: string): void {
  const folder = dirname(link);
  const leadsTo = relative(folder, target);
  const found = lstatSync(link, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true && readlinkSync(link) === leadsTo) return;
  if (found !== undefined) rmSync(link);
  mkdirSync(folder, { recursive: true });
  symlinkSync(leadsTo, link);
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

// Calls on the files of a simulated host. They are small and in memory or in a cache: each call is
// synchronous, because a thread for it takes many times as long.

/**
 * Makes a synchronous call with the interface of `node:fs/promises`; its exception rejects the
 * promise.
 */
const atOnce =
  <Words extends readonly unknown[], Answer>(call: (...words: Words) => Answer) =>
  (...words: Words): Promise<Answer> =>
    new Promise((resolve) => resolve(call(...words)));

interface Deep {
  readonly recursive: boolean;
}

/** The bytes of a file. */
export const readBytes = atOnce((path: string): Buffer => readFileSync(path));
/** The text of a file in the given encoding. */
export const readFile = atOnce((path: string, encoding: BufferEncoding): string =>
  readFileSync(path, encoding),
);
/** Writes a complete file, or appends to it with the flag `a`. */
export const writeFile = atOnce(
  (
    path: string,
    content: string | Uint8Array,
    options: { readonly mode?: number; readonly flag?: string } = {},
  ): void => writeFileSync(path, content, options),
);
/** Appends to a file. */
export const appendFile = atOnce((path: string, content: string | Uint8Array): void =>
  appendFileSync(path, content),
);
/** Creates a directory, with its parents if requested. */
export const mkdir = atOnce(
  (path: string, options: Deep = { recursive: false }): void => void mkdirSync(path, options),
);
/** Names in a directory, recursive if requested. */
export const readdir = atOnce(
  (path: string, options: Deep = { recursive: false }): readonly string[] =>
    readdirSync(path, { ...options, encoding: 'utf8' }),
);
/** Removes a file, or a tree. */
export const rm = atOnce(
  (path: string, options: { readonly force: boolean; readonly recursive?: boolean }): void =>
    rmSync(path, options),
);
/** Copies a tree over existing files. */
export const copyTree = atOnce((from: string, to: string): void =>
  cpSync(from, to, { recursive: true, force: true }),
);
/** Copies a file. */
export const copyFile = atOnce((from: string, to: string): void => copyFileSync(from, to));
/** Renames a file. */
export const rename = atOnce((from: string, to: string): void => renameSync(from, to));
/** Makes a symbolic link. */
export const symlink = atOnce((target: string, path: string): void => symlinkSync(target, path));
/** Sets the permissions of a file. */
export const chmod = atOnce((path: string, mode: number): void => chmodSync(path, mode));
/** The properties of the target of a path. */
export const stat = atOnce((path: string): Stats => statSync(path));
/** Whether a path exists. */
export const isThere = (path: string): boolean => existsSync(path);

/** The path on this machine of a file of a host; creates its folder. */
export async function placeFor({ real }: Pick<HostFiles, 'real'>, path: string): Promise<string> {
  const place = await real(path);
  mkdirSync(dirname(place), { recursive: true });
  return place;
}

/** systemd notices a file at once. */
const pollInterval = 20;

interface WatchedFile {
  readonly files: HostFiles;
  readonly path: string;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/** Calls back once at the beginning and after each possible change of the file. */
export async function watchFile(
  { files: { root }, path, signal }: WatchedFile,
  changed: () => void,
): Promise<void> {
  await watchFiles({ root, pollInterval, paths: [path], signal }, changed);
}
