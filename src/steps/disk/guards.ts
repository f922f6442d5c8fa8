// Checks whether a disk may be written, cleaned or formatted. resolve.ts checks that it is the
// configured disk, in-use.ts that no other run and no process uses it; empty.ts has the destructive
// commands.
import { AgentError } from '../../model/failure.ts';
import { diskFailure } from './failures.ts';
import {
  disksUnder,
  everyDevice,
  isArray,
  isLeftover,
  isMapped,
  isNamed,
  isPartition,
  isUnformatted,
  multipathOver,
  partitionsOf,
  descendantsOf,
  withDescendants,
  type BlockDevice,
} from './block-devices.ts';
import type { HostScope, StepScope } from '../step.ts';
import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { writesDisk } from '../conditions.ts';
import { keepsPartitions } from './writer-args.ts';
import type { DiskIdentity, TargetDisk } from './facts.ts';
import {
  type Disks,
  hasWwn,
  isOtherDisk,
  linksOf,
  readDisks,
  rivalsOf,
  targetAmong,
} from './target.ts';

/**
 * A smaller disk is refused: the image of RHCOS alone has 3.8 GB, and the writer would notice only
 * when the disk is full.
 */
export const smallestDiskBytes = 4 * 1024 ** 3;

/**
 * Decides on a disk: the most serious reason why it cannot be written, and remarks for a person.
 * Leftovers that the cleanup takes down are remarks. If partitions are kept, users of the whole
 * disk are remarks too: an appliance installs to the disk that it was started from, over
 * device-mapper windows that do not keep the table busy. A user of a partition is a reason, and
 * coreos-installer refuses it (0.26, `get_busy_partitions`). A second path of the disk, without
 * multipath over both, shows users that the kernel does not see on this one.
 * @param state.willBeCleaned LVM, RAID and device-mapper leftovers are removed before the write
 * @param state.keepsPartitions the writer keeps partitions, and their mounts
 * @param state.neededBytes size of the content to write
 */
export function diskReadiness(
  { roots, disk }: Disks,
  {
    willBeCleaned,
    keepsPartitions = false,
    neededBytes = smallestDiskBytes,
  }: {
    readonly willBeCleaned: boolean;
    readonly keepsPartitions?: boolean;
    readonly neededBytes?: number;
  },
): { readonly problem: AgentError | undefined; readonly remarks: readonly string[] } {
  const isHarmless = ({ kind }: Holder): boolean =>
    !keepsPartitions && willBeCleaned && kind === 'leftover';
  const usersOf = (one: BlockDevice): readonly Holder[] =>
    (keepsPartitions ? partitionsOf(one) : [one]).flatMap(holdersOf);
  const holders = usersOf(disk);
  const harmful = [
    ...holders.filter((holder) => !isHarmless(holder)),
    ...usersOfTwins(roots, disk, usersOf),
  ];
  const live = harmful.find(({ kind }) => kind === 'live');
  const { path, sizeBytes } = disk;
  let problem: AgentError | undefined;
  if (live !== undefined) {
    const context = { disk: path, holder: live.device };
    const what = `the running system is on ${path}: ${live.text}`;
    problem = diskFailure('disk.is-live-medium', what, { context });
  } else if (disk.isReadOnly) {
    problem = diskFailure('disk.read-only', `${path} is read-only`, { context: { disk: path } });
  } else if (sizeBytes < neededBytes && !isUnformatted(disk)) {
    const what = `${path} has ${sizeBytes} bytes, at least ${neededBytes} are needed`;
    const context = { disk: path, sizeBytes, neededBytes };
    problem = diskFailure('disk.too-small', what, { context });
  } else if (harmful.length > 0) {
    problem = isBusy(
      disk,
      harmful.map(({ text }) => text),
    );
  }
  const whole = { ...disk, children: disk.children.filter((one) => !isPartition(one)) };
  const remarks = keepsPartitions
    ? holdersOf(whole).map(({ text }) => `${text}; it stays`)
    : holders.filter(isHarmless).map(({ text }) => `${text}; it will be removed`);
  return { problem, remarks };
}

/** The users of other paths of a disk, or of disks that look the same, but for leftovers. */
const usersOfTwins = (
  roots: readonly BlockDevice[],
  disk: BlockDevice,
  usersOf: typeof holdersOf,
): readonly Holder[] =>
  twinsOf(roots, disk).flatMap((twin) =>
    usersOf(twin)
      .filter(({ kind }) => kind !== 'leftover')
      .map((holder) => {
        const text = `${holder.text}, and ${twin.path} has the same serial number and WWN`;
        return { ...holder, text };
      }),
  );

/**
 * Reads a disk and checks that it is the same one and that it is not in use.
 * @param willBeCleaned LVM, RAID and device-mapper leftovers may be on it
 * @throws AgentError `disk.missing`, `disk.changed`, `disk.is-live-medium`, `disk.read-only`,
 * `disk.busy`
 */
export async function requireFree(
  { host, signal }: HostScope,
  target: DiskIdentity,
  willBeCleaned: boolean,
): Promise<BlockDevice> {
  const disks = await readDisks(host, target, signal);
  const { problem } = diskReadiness(disks, { willBeCleaned, neededBytes: 0 });
  if (problem !== undefined) throw problem;
  return disks.disk;
}

/** `disk.busy` with all users of the disk. */
export const isBusy = (disk: { readonly path: string }, holders: readonly string[]): AgentError =>
  diskFailure('disk.busy', `${disk.path} is in use: ${holders.join('; ')}`, {
    context: { disk: disk.path, holders: holders.join('; ') },
  });

/**
 * The label of a file system on another disk by which the first boot finds its own; empty for other
 * labels.
 */
function systemLabel({ fsType, label }: BlockDevice): string | undefined {
  if (label === 'boot' || label === 'root') return label;
  // Ignition creates the arrays of a mirror from Butane for any host (`boot_device.mirror`; GRUB
  // reads through metadata 1.0).
  const isHalf = fsType === 'linux_raid_member' && /^any:md-(boot|root)$/.test(label);
  return isHalf ? label.slice('any:md-'.length) : undefined;
}

/** A file system that the first boot could mistake for its own. */
interface OtherSystem {
  readonly device: BlockDevice;
  readonly label: string;
}

/**
 * File systems on other disks that the first boot could mistake for its own and that no step
 * removes. Volumes of LVM and of LUKS do not count: the initramfs of CoreOS starts only those that
 * kernel arguments name (dracut, `parse-lvm.sh`).
 * @param emptied further disks that lose their content
 */
export function otherSystems(
  roots: readonly BlockDevice[],
  disk: BlockDevice,
  emptied: readonly BlockDevice[] = [],
): readonly OtherSystem[] {
  const isVolume = (device: BlockDevice): boolean =>
    isMapped(device) && !isPartition(device) && device.type !== 'mpath';
  // The kernel may also list the partitions of a multipath device under each of its paths.
  const gone = new Set(
    [disk, ...emptied].flatMap((one) => disksUnder(roots, one)).map(({ kname }) => kname),
  );
  const own = new Set(partitionsOf(disk).map(({ partUuid }) => partUuid));
  own.delete('');
  const twins = twinsOf(roots, disk).map(({ kname }) => kname);
  return everyDevice(roots).flatMap((device) => {
    const label = systemLabel(device);
    if (label === undefined || isVolume(device)) return [];
    const stays = disksUnder(roots, device).filter(
      // A loop device ends with the live system; a second path of the install disk shows the same
      // partitions.
      ({ kname, type }) =>
        type !== 'loop' && !gone.has(kname) && !(twins.includes(kname) && own.has(device.partUuid)),
    );
    return stays.length === 0 ? [] : [{ device, label }];
  });
}

/**
 * File systems on kept partitions of the install disk that the first boot could mistake for file
 * systems of the image.
 */
export const keptSystems = (
  disk: BlockDevice,
  kept: TargetDisk['kept'] = [],
): readonly OtherSystem[] =>
  partitionsOf(disk).flatMap((device) => {
    const label = systemLabel(device);
    const isKept = kept.some(({ partUuid }) => partUuid === device.partUuid);
    return label === undefined || !isKept ? [] : [{ device, label }];
  });

/** `disk.other-system` with all file systems that the first boot could mistake for its own. */
export const hasOtherSystem = (disk: BlockDevice, systems: readonly OtherSystem[]): AgentError => {
  const list = systems.map(({ device, label }) =>
    device.label === label
      ? `${device.path} is labelled ${label}`
      : `${device.path} is half of a ${label} mirror`,
  );
  return diskFailure('disk.other-system', list.join('; '), {
    context: { disk: disk.path, devices: systems.map(({ device }) => device.path).join(' ') },
  });
};

/** Other disks with the same identifiers, without multipath over them. */
export const twinsOf = (
  roots: readonly BlockDevice[],
  { kname, type, serial, wwn }: BlockDevice,
): readonly BlockDevice[] =>
  roots.filter(
    (one) =>
      one.kname !== kname &&
      one.type === type &&
      one.serial === serial &&
      one.wwn === wwn &&
      hasWwn(one),
  );

/** The reason why a disk is not free. */
interface Holder {
  /**
   * `live`: the running system is on it; `open`: a mount or swap; `leftover`: LVM, RAID or another
   * device-mapper device, which the cleanup can take down; `foreign`: unknown users such as bcache,
   * DRBD and multipath.
   */
  readonly kind: 'live' | 'open' | 'leftover' | 'foreign';
  readonly device: string;
  /** For people. */
  readonly text: string;
}

/** Mount points of a running live or installed system. */
const liveMounts: ReadonlySet<string> = new Set([
  '/',
  '/boot',
  '/boot/efi',
  '/etc',
  '/run/initramfs/live',
  '/run/media/iso',
  '/sysroot',
  '/usr',
  '/var',
]);

/** All users of a disk in the tree of lsblk. */
export const holdersOf = (disk: BlockDevice): readonly Holder[] => [
  ...withDescendants(disk).flatMap(({ path: device, mountpoints }) =>
    mountpoints.map((mountpoint): Holder => {
      if (mountpoint === '[SWAP]')
        return { kind: 'open', device, text: `${device} is in use as swap` };
      const kind = liveMounts.has(mountpoint) ? 'live' : 'open';
      return { kind, device, text: `${device} is mounted on ${mountpoint}` };
    }),
  ),
  ...descendantsOf(disk)
    .filter((device) => !isPartition(device))
    .map((device): Holder => {
      const { path, type } = device;
      const kind = isLeftover(device) ? 'leftover' : 'foreign';
      return { kind, device: path, text: `${path} (${type}) uses it` };
    }),
];

/**
 * The effects on other disks of taking down the users of this disk: the other disks keep their part
 * of an array or volume group.
 * @param emptied further disks that lose their content
 */
export function sharedWith(
  roots: readonly BlockDevice[],
  disk: BlockDevice,
  emptied: readonly BlockDevice[] = [],
): readonly string[] {
  const own = [disk, ...emptied].flatMap((one) => disksUnder(roots, one)).map(({ kname }) => kname);
  return descendantsOf(disk).flatMap((device) => {
    const others = disksUnder(roots, device).filter(({ kname }) => !own.includes(kname));
    const paths = others.map(({ path }) => path).join(', ');
    if (paths === '') return [];
    if (isArray(device))
      return [`${paths}: its half of ${device.path} stays, with its RAID superblock`];
    if (device.type !== 'lvm') return [];
    return [`${paths}: its part of ${device.path} stays, with the metadata of its volume group`];
  });
}

/**
 * Whether a further disk may lose its partition tables: the disk, or the reason against it. Not if
 * it is the install disk under another name, or below it, or if the running system uses it.
 * @param identity its identity before anything was destroyed
 * @param links the current targets of its names
 */
export function decideExtraDisk(
  { roots, disk: target }: Disks,
  identity: DiskIdentity,
  links: ReadonlyMap<string, string>,
): BlockDevice | AgentError {
  const refused = (because: string): AgentError => diskFailure('disk.extra-refused', because);
  let device: BlockDevice;
  try {
    device = targetAmong(roots, identity, links);
  } catch (error) {
    if (error instanceof AgentError && isOtherDisk(error)) return refused(error.message);
    throw error;
  }
  const rivals = rivalsOf(roots, identity.asked, device);
  if (rivals.length > 0) {
    const list = rivals.map(({ path, serial }) => `${path} (${serial})`).join(', ');
    return refused(`its name fits ${device.path} (${device.serial}) and ${list}`);
  }
  const isTarget =
    isNamed(target, `/dev/${device.kname}`) ||
    disksUnder(roots, target).some(({ kname }) => kname === device.kname) ||
    disksUnder(roots, device).some(({ kname }) => kname === target.kname);
  if (isTarget) return refused('it is the install disk');
  if (twinsOf(roots, device).some(({ kname }) => kname === target.kname))
    return refused('it has the serial number and WWN of the install disk');
  if (device.isReadOnly) return refused('it is read-only');
  const over = multipathOver(device);
  if (over !== undefined) return refused(`it is one path of ${over.path}`);
  const users = [...holdersOf(device), ...usersOfTwins(roots, device, holdersOf)];
  const used = users.find(({ kind }) => kind === 'live' || kind === 'open');
  return used === undefined ? device : refused(used.text);
}

/** Decides on each further disk of the configuration that exists. */
export async function extraDisks(
  { host, config, signal }: StepScope<'host'>,
  disks: Disks,
  extra: readonly DiskIdentity[] = [],
) {
  const decisions: { identity: DiskIdentity; found: BlockDevice | AgentError }[] = [];
  for (const identity of extra.filter(({ asked }) => config.disk.format.includes(asked))) {
    const links = await linksOf(host, identity, signal);
    decisions.push({ identity, found: decideExtraDisk(disks, identity, links) });
  }
  return decisions;
}

/**
 * LVM, RAID and old signatures are removed before the write, unless partitions are kept: wiping the
 * table would lose them. The inventory service asks for the same.
 */
export const cleansDisk = all(
  writesDisk,
  condition<Config>('the disk is to be cleaned', ({ disk }) => disk.cleanup),
  condition<Config>('no partition is kept', ({ image }) => !keepsPartitions(image.writerArgs)),
);
