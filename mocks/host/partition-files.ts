// What lies on the file systems of a simulated host's disks: a folder for each partition, which a
// mount shows at its mount point.
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

/** Where the folders of partitions lie, below the root of the host. */
const STORES = '.partitions';
/** Where a directory waits that something is mounted on. */
const COVERED = '.covered';

/**
 * Shows at a mount point what is mounted there last, or the directory itself when nothing is. All
 * at once: commands of an agent that was killed may still run beside those of the next one.
 */
export async function showMount(machine: Machine, target: string): Promise<void> {
  const { devices, files } = machine;
  const place = await files.real(target);
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
    // The mount point may itself lie on a partition that is shown by a link.
    symlinkSync(relative(realpathSync(dirname(place)), store), place);
  } else if (isShown && existsSync(covered)) renameSync(covered, place);
  else if (isShown) mkdirSync(place);
}

/** The folder of a partition, filled as the writer of the image left it. */
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
 * Where a file of a partition lies on this machine; nothing is there when the partition was never
 * mounted.
 */
export const placeInPartition = ({ files }: Machine, kname: string, path: string): string =>
  join(files.root, STORES, kname, path);
