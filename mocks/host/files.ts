import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import type { Devices } from './block/devices.ts';

/** The files of a simulated host: a directory of its own, which nothing can leave. */
export interface HostFiles {
  readonly root: string;
  /**
   * Where a path of the host lies on this machine.
   * @throws Error when a symbolic link would lead out of the host
   */
  readonly real: (path: string) => Promise<string>;
}

/** Makes the files of a host below a directory. */
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

/** Makes /dev of a host say what its devices say. The nodes are empty files, never devices. */
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
