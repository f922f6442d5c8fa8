import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
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
  readonly real: (path: string) => string;
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
  return { root, real };
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

// Files of a simulated host are small and in memory or in a cache, so its programs read and write
// them synchronously: a thread for each call takes many times as long.

/** The text of a file of a host; undefined if it cannot be read. */
export function textOf({ real }: Pick<HostFiles, 'real'>, path: string): string | undefined {
  const place = real(path);
  try {
    return readFileSync(place, 'utf8');
  } catch {
    return undefined;
  }
}

/** Copies a tree over existing files. */
export const copyTree = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, force: true });

/** The path on this machine of a file of a host; creates its folder. */
export function placeFor({ real }: Pick<HostFiles, 'real'>, path: string): string {
  const place = real(path);
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
