import type {
  Config,
  Directory,
  Disk,
  File,
  Filesystem,
  Link,
  Owner,
  Storage,
  Unit,
} from '../types.ts';
import { pathViolation, type Place, simplifyPath } from './place.ts';

const SPECIAL_BITS = 0o7000;
const MAX_MODE = 0o7777;

/** A file: its path, its mode, and no overwriting without content. */
export function validateFile(file: File, place: Place): void {
  place.at('path').report(pathViolation(file.path));
  validateMode(file.mode, place);
  if (file.overwrite === true && file.contents?.source === undefined) {
    place.at('overwrite').report('overwrite-without-source');
  }
}

/** A directory: its path and its mode. */
export function validateDirectory(directory: Directory, place: Place): void {
  place.at('path').report(pathViolation(directory.path));
  validateMode(directory.mode, place);
}

/** A link by itself; its relation to the others is checked with the whole storage section. */
export function validateLink(link: Link, place: Place): void {
  place.at('path').report(pathViolation(link.path));
}

/** An owner is named or numbered, not both. */
export function validateOwner({ id, name }: Owner, place: Place): void {
  if (id !== undefined && name !== undefined && name !== '') place.report('owner-id-and-name');
}

function validateMode(mode: number | undefined, place: Place): void {
  if (mode === undefined) return;
  if (mode < 0 || mode > MAX_MODE) place.at('mode').report('mode-out-of-range');
  else if ((mode & SPECIAL_BITS) !== 0) place.at('mode').report('mode-special-bits');
}

/** The relations between the parts of the storage section. */
export function validateStorage(storage: Storage, place: Place): void {
  const { directories = [], files = [], links = [] } = storage;
  const linkPaths = new Set(links.map(({ path }) => path));
  const directoryPaths = new Set(directories.map(({ path }) => path));
  for (const [list, nodes] of Object.entries({ directories, files, links })) {
    for (const [index, { path }] of nodes.entries()) {
      if (isBelow(linkPaths, path)) place.at(list, index).report('path-through-link');
    }
  }
  for (const [index, link] of links.entries()) {
    validateTarget(link, directoryPaths, place.at('links', index));
  }
  const disks = new Map(storage.disks?.map((disk) => [disk.device, disk]));
  for (const [index, filesystem] of (storage.filesystems ?? []).entries()) {
    const disk = disks.get(filesystem.device);
    if (disk !== undefined) validateOnDisk(filesystem, disk, place.at('filesystems', index));
  }
}

/** A path of Linux is no longer (limits.h, PATH_MAX). */
const longestPath = 4096;

/** Whether what stands before a slash of the path is one of the links. */
const isBelow = (links: ReadonlySet<string>, path: string): boolean =>
  links.size > 0 &&
  [...path.slice(0, longestPath).matchAll(/\//g)].some(({ index }) =>
    links.has(path.slice(0, index)),
  );

function validateTarget(link: Link, directories: ReadonlySet<string>, place: Place): void {
  const { target = '', hard = false } = link;
  // Up to spec 3.2 an empty target is accepted.
  if (target === '' && place.minor >= 3) {
    place.at('target').report('link-target-required');
    return;
  }
  if (!hard) return;
  const isAbsolute = target.startsWith('/');
  const resolved = simplifyPath(isAbsolute ? target : `${link.path}/${target}`);
  if (directories.has(resolved)) place.report('hard-link-to-directory');
  for (const owner of ['user', 'group'] as const) {
    const { id, name } = link[owner] ?? {};
    if (id !== undefined) place.at(owner, 'id').report('hard-link-owner');
    if (name !== undefined) place.at(owner, 'name').report('hard-link-owner');
  }
}

function validateOnDisk(filesystem: Filesystem, disk: Disk, place: Place): void {
  const isReused = filesystem.wipeFilesystem !== true;
  if ((disk.partitions ?? []).length > 0) place.at('device').report('filesystem-on-partitions');
  else if (isReused && disk.wipeTable === true) place.at('device').report('filesystem-wiped');
}

const UNIT_FOLDER = '/etc/systemd/system/';

/** No file, directory or link may be where a unit or a drop-in is written. */
export function validateConfigPaths({ storage, systemd }: Config, place: Place): void {
  const unitPaths = new Set((systemd?.units ?? []).flatMap(pathsOfUnit));
  for (const list of ['files', 'directories', 'links'] as const) {
    for (const [index, { path }] of (storage?.[list] ?? []).entries()) {
      if (unitPaths.has(path)) place.at('storage', list, index, 'path').report('path-is-unit');
    }
  }
}

/** What Ignition writes for a unit; a unit or a drop-in without text is not written. */
function pathsOfUnit({ contents = '', dropins = [], name }: Unit): string[] {
  const path = UNIT_FOLDER + name;
  const written = dropins.filter((dropin) => (dropin.contents ?? '') !== '');
  const paths = written.map((dropin) => `${path}.d/${dropin.name}`);
  return contents === '' ? paths : [path, ...paths];
}
