// Files on the file systems of a simulated host's disks: a folder for each partition, which a mount
// shows at its mount point.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Device } from './devices.ts';
import type { Machine } from './machine.ts';

/** Folder of the partition folders, below the root of the host. */
const STORES = '.partitions';
/** Folder of the directories that are covered by a mount. */
const COVERED = '.covered';

/**
 * Shows the last mount at a mount point, or the directory itself if there is no mount. The call is
 * synchronous: commands of a killed agent may still run at the same time as the commands of the
 * next agent.
 */
export function showMount(machine: Machine, target: string): void {
  const { devices, files } = machine;
  const place = files.real(target);
  const covered = join(files.root, COVERED, encodeURIComponent(target));
  const top = devices.mounts.findLast((one) => one.target === target);
  const device = top === undefined ? undefined : devices.byPath(top.source);
  const found = lstatSync(place, { throwIfNoEntry: false });
  const isShown = found?.isSymbolicLink() === true;
  if (isShown) rmSync(place);
  else if (found !== undefined && device !== undefined) {
    mkdirSync(dirname(covered), { recursive: true });
    rmSync(covered, { recursive: true, force: true });
    renameSync(place, covered);
  }
  mkdirSync(dirname(place), { recursive: true });
  if (device !== undefined) {
    const store = realpathSync(partitionFolder(machine, device));
    // The mount point may itself be on a partition that is shown by a link.
    symlinkSync(relative(realpathSync(dirname(place)), store), place);
  } else if (isShown && existsSync(covered)) renameSync(covered, place);
  else if (isShown) mkdirSync(place);
}

/** The folder of a partition, initially with the files of the image writer. */
export function partitionFolder(machine: Machine, device: Device): string {
  const store = join(machine.files.root, STORES, device.kname);
  const uuid = device.content?.uuid ?? '';
  if (machine.stores.get(device.kname) === uuid) return store;
  machine.stores.set(device.kname, uuid);
  rmSync(store, { recursive: true, force: true });
  mkdirSync(store, { recursive: true });
  for (const [path, content] of Object.entries(contentsOf(machine, device))) {
    mkdirSync(dirname(join(store, path)), { recursive: true });
    writeFileSync(join(store, path), content);
  }
  return store;
}

function contentsOf(
  { installed }: Machine,
  { content, entry, parents }: Device,
): Readonly<Record<string, string>> {
  if (content?.fstype === 'vfat')
    return { 'EFI/redhat/shimx64.efi': '', 'EFI/BOOT/BOOTX64.EFI': '' };
  if (entry?.label === 'boot' && installed !== undefined && parents.includes(installed.disk)) {
    return {
      'ignition.firstboot': '',
      'loader/entries/ostree-1.conf': 'title Lab CoreOS\n',
      ...(installed.ignition === '' ? {} : { 'ignition/config.ign': installed.ignition }),
    };
  }
  return entry?.label === 'root' ? { 'ostree/deploy/rhcos/var/.keep': '', 'boot/.keep': '' } : {};
}

/**
 * The path on this machine of a file on a partition; it does not exist if the partition was never
 * mounted.
 */
export const placeInPartition = ({ files }: Machine, kname: string, path: string): string =>
  join(files.root, STORES, kname, path);
