import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
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
  const wanted = new Set([...devices.all().map(({ kname }) => `/dev/${kname}`), ...links.keys()]);
  for (const path of filesBelow(dev)) {
    if (!wanted.has(`/${relative(root, path)}`)) rmSync(path);
  }
  for (const { kname } of devices.all()) writeFileSync(join(dev, kname), '');
  for (const [link, target] of links) replaceLink(join(root, link), join(root, target));
}

function replaceLink(link: string, target: string): void {
  mkdirSync(dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(relative(dirname(link), target), link);
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return lstatSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}
