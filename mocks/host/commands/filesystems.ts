import { statSync } from 'node:fs';
import { type Call, fail, type Program, type Programs, sortWords } from '../call.ts';
import { type Device, type Devices, isMapped, type Mount, mountpointsOf } from '../devices.ts';
import type { Machine } from '../machine.ts';
import { showMount } from '../partition-files.ts';

const mount: Program = (machine, call) => {
  const { devices } = machine;
  const words = sortWords(call.argv.slice(1), ['-o', '--options', '-t', '--types']);
  const options = words.all('-o', '--options').join(',');
  const [source = '', target = ''] = words.rest;
  if (options.includes('remount')) return 0;
  const wanted: Mount = {
    source,
    target,
    fstype: devices.byPath(source)?.content?.fstype ?? '',
    options: options === '' ? 'rw' : options,
  };
  const refused = refusalOf(machine, wanted);
  if (refused !== undefined) return fail(call, `mount: ${target}: ${refused}.`, 32);
  devices.mounts.push(wanted);
  showMount(machine, target);
  return 0;
};

/** The error message of mount; undefined if it mounts. */
function refusalOf(
  { devices, files, frozen }: Machine,
  { source, target, fstype, options }: Mount,
): string | undefined {
  const device = devices.byPath(source);
  if (target === '' || device === undefined) return `special device ${source} does not exist`;
  if (fstype === '' || fstype.endsWith('_member')) {
    return `wrong fs type, bad option, bad superblock on ${source}`;
  }
  const isThere = statSync(files.real(target), { throwIfNoEntry: false });
  if (isThere?.isDirectory() !== true) return 'mount point does not exist';
  const isSame = (one: Mount): boolean =>
    one.target === target && devices.byPath(one.source) === device;
  if (devices.mounts.some(isSame)) return `${source} already mounted on ${target}`;
  // The kernel mounts a frozen file system as it was mounted before, writable.
  return options.split(',').includes('ro') && frozen.has(device.content?.uuid ?? '')
    ? `${source} already mounted or mount point busy`
    : undefined;
}

const umount: Program = (machine, call) => {
  const { devices } = machine;
  const { rest } = sortWords(call.argv.slice(1));
  for (const target of rest) {
    const at = devices.mounts.findLastIndex(
      (one) => one.target === target || one.source === target,
    );
    if (at === -1) return fail(call, `umount: ${target}: not mounted.`, 32);
    if (devices.mounts.some((one) => one.target.startsWith(`${target}/`))) {
      return fail(call, `umount: ${target}: target is busy.`, 32);
    }
    const [mounted] = devices.mounts.splice(at, 1);
    if (mounted !== undefined) showMount(machine, mounted.target);
  }
  return 0;
};

/** The file system at a path. */
const fileSystemAt = ({ devices }: Machine, path: string): string | undefined => {
  const above = devices.mounts.filter(({ target }) => `${path}/`.startsWith(`${target}/`));
  const [nearest] = above.toSorted((one, other) => other.target.length - one.target.length);
  return nearest && devices.byPath(nearest.source)?.content?.uuid;
};

/** Whether a write to a path would block until the file system is thawed. */
export const isFrozen = (machine: Machine, path: string): boolean =>
  machine.frozen.has(fileSystemAt(machine, path) ?? '');

/** Fails a command that would block for ever on a real host. */
export const waitForThaw = (call: Call, path: string): number =>
  fail(call, `${call.argv[0] ?? ''}: ${path}: this would wait until the file system is thawed`);

/**
 * As the real tool: freezing a frozen file system is EBUSY, thawing one that is not frozen is
 * EINVAL (Linux, `fs/super.c`).
 */
const fsfreeze: Program = (machine, call) => {
  const place = call.argv.at(-1) ?? '';
  const isThaw = call.argv.includes('--unfreeze');
  const verb = isThaw ? 'unfreeze' : 'freeze';
  const isMounted = machine.devices.mounts.some(({ target }) => target === place);
  const uuid = isMounted ? fileSystemAt(machine, place) : undefined;
  if (uuid === undefined) return fail(call, `fsfreeze: ${place}: ${verb} failed: Invalid argument`);
  if (machine.frozen.has(uuid) === isThaw) {
    if (isThaw) machine.frozen.delete(uuid);
    else machine.frozen.add(uuid);
    return 0;
  }
  const why = isThaw ? 'Invalid argument' : 'Device or resource busy';
  return fail(call, `fsfreeze: ${place}: ${verb} failed: ${why}`);
};

const wipefs: Program = ({ devices }, call) => {
  const words = sortWords(call.argv.slice(1), ['--output', '-o', '--types', '-t']);
  const isForced = words.has('--force', '-f');
  for (const path of words.rest) {
    const device = devices.byPath(path);
    if (device === undefined) {
      return fail(
        call,
        `wipefs: error: ${path}: probing initialization failed: No such file or directory`,
      );
    }
    if (!words.has('--all', '-a')) {
      for (const signature of signaturesOf(device)) call.out(`${signature} 0x0\n`);
      continue;
    }
    if (isInUse(devices, device) && !isForced) {
      return fail(
        call,
        `wipefs: error: ${path}: probing initialization failed: Device or resource busy`,
      );
    }
    for (const signature of signaturesOf(device)) {
      call.out(`${path}: 8 bytes were erased at offset 0x00000000 (${signature}): 00\n`);
    }
    if (!words.has('--no-act', '-n')) wipe(devices, device);
  }
  return 0;
};

const signaturesOf = ({ table, content }: Device): readonly string[] => [
  ...(table === undefined ? [] : [table]),
  ...(content === undefined ? [] : [content.fstype]),
];

/** Whether a device has a user that a wipe would break. */
const isInUse = (devices: Devices, device: Device): boolean =>
  [device, ...devices.above(device)].some(
    (one) => mountpointsOf(devices, one).length > 0 || (one !== device && one.type !== 'part'),
  );

/**
 * Removes all signatures of a device; its partitions disappear unless the kernel still uses them.
 */
function wipe(devices: Devices, device: Device): void {
  device.content = undefined;
  device.table = undefined;
  if (!isInUse(devices, device)) devices.remove(...devices.childrenOf(device));
}

/** `dd if=/dev/zero of=DEVICE bs=1M count=1`: the beginning of a device. */
const dd: Program = ({ devices }, call) => {
  const path = call.argv.find((word) => word.startsWith('of='))?.slice('of='.length) ?? '';
  const device = devices.byPath(path);
  if (!call.argv.includes('if=/dev/zero') || !call.argv.includes('count=1'))
    return fail(call, 'dd: the lab overwrites the beginning with zeroes only');
  if (device === undefined)
    return fail(call, `dd: failed to open '${path}': No such file or directory`);
  wipe(devices, device);
  call.err('1+0 records in\n1+0 records out\n');
  return 0;
};

/** Overwrites a part of a device; its disks do not support secure discard, as most do not. */
const blkdiscard: Program = ({ devices }, call) => {
  const words = sortWords(call.argv.slice(1), ['--step', '--offset', '--length']);
  const [path = ''] = words.rest;
  const device = devices.byPath(path);
  if (device === undefined)
    return fail(call, `blkdiscard: cannot open ${path}: No such file or directory`);
  if (isInUse(devices, device))
    return fail(call, `blkdiscard: ${path}: failed to open: Device or resource busy`);
  if (words.has('--secure'))
    return fail(call, `blkdiscard: ${path}: BLKSECDISCARD ioctl failed: Operation not supported`);
  wipe(devices, device);
  return 0;
};

/** `dmsetup remove NAME`. */
const dmsetup: Program = ({ devices }, call) => {
  const [verb, name = ''] = sortWords(call.argv.slice(1)).rest;
  if (verb !== 'remove') return fail(call, `Unknown command: ${verb ?? ''}`);
  const device = devices
    .all()
    .find((one) => isMapped(one) && (one.name === name || `/dev/mapper/${one.name}` === name));
  if (device === undefined) return fail(call, `Device ${name} not found\nCommand failed.`);
  if (mountpointsOf(devices, device).length > 0) {
    return fail(
      call,
      `device-mapper: remove ioctl on ${name}  failed: Device or resource busy\nCommand failed.`,
    );
  }
  devices.remove(device);
  return 0;
};

const mdadm: Program = (machine, call) => {
  const words = sortWords(call.argv.slice(1), ['--stop', '--zero-superblock']);
  for (const path of words.all('--stop')) {
    const array = machine.devices.byPath(path);
    if (array === undefined)
      return fail(call, `mdadm: error opening ${path}: No such file or directory`);
    if (mountpointsOf(machine.devices, array).length > 0) {
      return fail(
        call,
        `mdadm: Cannot get exclusive access to ${path}: Perhaps a running process, mounted filesystem or active volume group?`,
      );
    }
    machine.devices.remove(array);
    writeSuperblocks(machine, array);
    call.err(`mdadm: stopped ${path}\n`);
  }
  for (const path of words.all('--zero-superblock')) {
    const member = machine.devices.byPath(path);
    if (member?.content?.fstype !== 'linux_raid_member') {
      return fail(call, `mdadm: Unrecognised md component device - ${path}`);
    }
    member.content = member.content.behind;
  }
  return 0;
};

/** When it stops an array, the kernel writes the superblock of each member once more. */
function writeSuperblocks({ devices }: Machine, { parents }: Device): void {
  for (const member of parents.flatMap((parent) => devices.byKname(parent) ?? [])) {
    member.content ??= { fstype: 'linux_raid_member', label: 'any:stopped', uuid: '' };
  }
}

/** Programs of file systems, of signatures and tables, of the device mapper and of RAID. */
export const mountingPrograms: Programs = {
  mount,
  umount,
  fsfreeze,
  wipefs,
  dd,
  blkdiscard,
  dmsetup,
  mdadm,
};
