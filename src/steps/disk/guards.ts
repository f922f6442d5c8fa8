// What guards a disk: whether it may be written, cleaned or formatted. resolve.ts makes sure that
// it is the disk that was meant, in-use.ts that no other run and no process uses it, empty.ts has
// what destroys.
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
  type Links,
  linksOf,
  readTarget,
  rivalsOf,
  targetAmong,
} from './target.ts';

/**
 * Below this nothing of use can be installed: the image of RHCOS alone has 3.8 GB, and the writer
 * would notice only when the disk is full.
 */
export const smallestDiskBytes = 4 * 1024 ** 3;

/** What is known of the install disk just before it is written. */
interface DiskState {
  readonly disk: BlockDevice;
  /** LVM, RAID and device-mapper leftovers will be removed before the write. */
  readonly willBeCleaned: boolean;
  /** The writer keeps partitions, and with them what is mounted from them. */
  readonly keepsPartitions: boolean;
  /** What it must have room for; `smallestDiskBytes` unless given. */
  readonly neededBytes?: number;
}

/** Whether a disk can be written, and what a person should know of it. */
interface DiskReadiness {
  /** The most serious reason why not. */
  readonly problem?: AgentError;
  readonly remarks: readonly string[];
}

/**
 * Decides on a disk. Leftovers that the cleanup takes down are remarks. With kept partitions so is
 * what uses the disk as a whole: an appliance installs to the disk it was started from, over
 * device-mapper windows that do not keep the table busy. What uses a partition does, and
 * coreos-installer refuses it (0.26, `get_busy_partitions`).
 */
export function diskReadiness(state: DiskState): DiskReadiness {
  const { disk, willBeCleaned, keepsPartitions } = state;
  const isHarmless = ({ kind }: Holder): boolean =>
    !keepsPartitions && willBeCleaned && kind === 'leftover';
  const holders = (keepsPartitions ? partitionsOf(disk) : [disk]).flatMap(holdersOf);
  const harmful = holders.filter((holder) => !isHarmless(holder));
  const live = harmful.find(({ kind }) => kind === 'live');
  const problem =
    (live === undefined ? undefined : isLive(disk, live)) ??
    physicalProblem(state) ??
    (harmful.length === 0 ? undefined : isBusy(disk, harmful.map(renderHolder)));
  const whole = { ...disk, children: disk.children.filter((one) => !isPartition(one)) };
  const remarks = keepsPartitions
    ? holdersOf(whole).map((holder) => `${renderHolder(holder)}; it stays`)
    : holders.filter(isHarmless).map((holder) => `${renderHolder(holder)}; it will be removed`);
  return { ...(problem === undefined ? {} : { problem }), remarks };
}

/**
 * Reads a disk, and makes sure that it is the same one still and that nothing uses it.
 * @param willBeCleaned LVM, RAID and device-mapper leftovers may be on it
 * @throws AgentError `disk.missing`, `disk.changed`, `disk.is-live-medium`, `disk.read-only`,
 * `disk.busy`
 */
export async function requireFree(
  { host, signal }: HostScope,
  target: DiskIdentity,
  willBeCleaned: boolean,
): Promise<BlockDevice> {
  const disk = await readTarget(host, target, signal);
  const state = { disk, willBeCleaned, keepsPartitions: false, neededBytes: 0 };
  const { problem } = diskReadiness(state);
  if (problem !== undefined) throw problem;
  return disk;
}

function physicalProblem({
  disk,
  neededBytes = smallestDiskBytes,
}: DiskState): AgentError | undefined {
  if (disk.isReadOnly) {
    return diskFailure('disk.read-only', `${disk.path} is read-only`, {
      context: { disk: disk.path },
    });
  }
  if (disk.sizeBytes >= neededBytes || isUnformatted(disk)) return undefined;
  const what = `${disk.path} has ${disk.sizeBytes} bytes, at least ${neededBytes} are needed`;
  return diskFailure('disk.too-small', what, {
    context: { disk: disk.path, sizeBytes: disk.sizeBytes, neededBytes },
  });
}

const isLive = (disk: BlockDevice, holder: Holder): AgentError =>
  diskFailure(
    'disk.is-live-medium',
    `the running system is on ${disk.path}: ${renderHolder(holder)}`,
    { context: { disk: disk.path, holder: holder.device } },
  );

/** `disk.busy`, with everything that holds the disk. */
export const isBusy = (disk: { readonly path: string }, holders: readonly string[]): AgentError =>
  diskFailure('disk.busy', `${disk.path} is in use: ${holders.join('; ')}`, {
    context: { disk: disk.path, holders: holders.join('; ') },
  });

/**
 * What a file system on another disk says that it is: the first boot finds its own by these labels.
 */
function systemLabel({ fsType, label }: BlockDevice): string | undefined {
  if (label === 'boot' || label === 'root') return label;
  // Ignition makes the arrays of a mirror from Butane for any host (`boot_device.mirror`; GRUB sees
  // through metadata 1.0).
  const isHalf = fsType === 'linux_raid_member' && /^any:md-(boot|root)$/.test(label);
  return isHalf ? label.slice('any:md-'.length) : undefined;
}

/** What the first boot could take for its own. */
interface OtherSystem {
  readonly device: BlockDevice;
  readonly label: string;
}

/**
 * File systems that the first boot could take for its own, and that stay on other disks. Volumes of
 * LVM and of LUKS are none: the initramfs of CoreOS starts only what kernel arguments name (dracut,
 * `parse-lvm.sh`).
 * @param emptied further disks that lose what is on them
 */
export function otherSystems(
  roots: readonly BlockDevice[],
  disk: BlockDevice,
  emptied: readonly BlockDevice[] = [],
): readonly OtherSystem[] {
  const isVolume = (device: BlockDevice): boolean =>
    isMapped(device) && !isPartition(device) && device.type !== 'mpath';
  // The kernel may list the partitions of a multipath device under each of its paths too.
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
 * File systems on kept partitions of the install disk that the first boot could take for those of
 * the image.
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

/** `disk.other-system`, with everything that the first boot could take for its own. */
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

/** Other disks that say the same of themselves, without multipath over them. */
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

/** Why a disk is not free. */
type Holder =
  /** The running system lives there. */
  | { readonly kind: 'live'; readonly device: string; readonly mountpoint: string }
  | { readonly kind: 'mount'; readonly device: string; readonly mountpoint: string }
  | { readonly kind: 'swap'; readonly device: string }
  /** LVM, RAID or another device-mapper device, which the cleanup can take down. */
  | { readonly kind: 'leftover'; readonly device: string; readonly type: string }
  /** Something that the cleanup does not know: bcache, DRBD, multipath. */
  | { readonly kind: 'foreign'; readonly device: string; readonly type: string };

/** Where a live or an installed system has what it runs from. */
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

/** Everything that holds a disk, found in the tree of lsblk. */
export const holdersOf = (disk: BlockDevice): readonly Holder[] => [
  ...withDescendants(disk).flatMap(mountsOf),
  ...descendantsOf(disk)
    .filter((device) => !isPartition(device))
    .map((device): Holder => {
      const kind = isLeftover(device) ? 'leftover' : 'foreign';
      return { kind, device: device.path, type: device.type };
    }),
];

function mountsOf({ path, mountpoints }: BlockDevice): readonly Holder[] {
  return mountpoints.map((mountpoint): Holder => {
    if (mountpoint === '[SWAP]') return { kind: 'swap', device: path };
    return { kind: liveMounts.has(mountpoint) ? 'live' : 'mount', device: path, mountpoint };
  });
}

/** A holder as people read it. */
export function renderHolder(holder: Holder): string {
  switch (holder.kind) {
    case 'live':
    case 'mount':
      return `${holder.device} is mounted on ${holder.mountpoint}`;
    case 'swap':
      return `${holder.device} is in use as swap`;
    case 'leftover':
    case 'foreign':
      return `${holder.device} (${holder.type}) uses it`;
  }
}

/**
 * What becomes of other disks when what uses this disk too is taken down: they keep their part of
 * it.
 * @param emptied further disks that lose what is on them
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

/** A further disk that may be formatted, or why it may not. */
export type ExtraDisk =
  | {
      readonly kind: 'format';
      readonly asked: string;
      readonly device: BlockDevice;
      readonly identity: DiskIdentity;
    }
  | { readonly kind: 'missing'; readonly asked: string }
  | { readonly kind: 'refused'; readonly asked: string; readonly because: string };

/** What decides over a further disk. */
interface ExtraDiskQuestion {
  /** As it was given. */
  readonly asked: string;
  /** What it was found to be before anything was destroyed. */
  readonly identity: DiskIdentity | undefined;
  /** Where its names lead now. */
  readonly links: Links;
  /** The install disk. */
  readonly target: BlockDevice;
}

/**
 * Whether a further disk may lose its partition tables. Not when it is the install disk under
 * another name, or below it, nor when anything of the running system is on it.
 */
export function decideExtraDisk(
  roots: readonly BlockDevice[],
  { asked, identity, links, target }: ExtraDiskQuestion,
): ExtraDisk {
  if (identity === undefined) return { kind: 'missing', asked };
  const refused = (because: string): ExtraDisk => ({ kind: 'refused', asked, because });
  let device: BlockDevice;
  try {
    device = targetAmong(roots, identity, links);
  } catch (error) {
    if (error instanceof AgentError && isOtherDisk(error)) return refused(error.message);
    throw error;
  }
  const rivals = rivalsOf(roots, asked, device).map(({ path, serial }) => `${path} (${serial})`);
  if (rivals.length > 0)
    return refused(`its name fits ${device.path} (${device.serial}) and ${rivals.join(', ')}`);
  const isTarget =
    isNamed(target, `/dev/${device.kname}`) ||
    disksUnder(roots, target).some(({ kname }) => kname === device.kname) ||
    disksUnder(roots, device).some(({ kname }) => kname === target.kname);
  if (isTarget) return refused('it is the install disk');
  if (device.isReadOnly) return refused('it is read-only');
  const over = multipathOver(device);
  if (over !== undefined) return refused(`it is one path of ${over.path}`);
  const used = holdersOf(device).find(({ kind }) => ['live', 'mount', 'swap'].includes(kind));
  return used === undefined
    ? { kind: 'format', asked, device, identity }
    : refused(renderHolder(used));
}

/** Decides on each further disk of the configuration. */
export async function extraDisks(
  { host, config, signal }: StepScope<'host'>,
  { roots, disk: target, extra = [] }: Disks & Pick<TargetDisk, 'extra'>,
): Promise<readonly ExtraDisk[]> {
  const decisions: ExtraDisk[] = [];
  for (const asked of config.disk.format) {
    const identity = extra.find((one) => one.asked === asked);
    const links = identity === undefined ? new Map() : await linksOf(host, identity, signal);
    decisions.push(decideExtraDisk(roots, { asked, identity, links, target }));
  }
  return decisions;
}

/**
 * LVM, RAID and old signatures are removed before the write. Not when partitions are kept: wiping
 * the table would lose them. The inventory service asks for the same.
 */
export const cleansDisk = all(
  writesDisk,
  condition<Config>('the disk is to be cleaned', ({ disk }) => disk.cleanup),
  condition<Config>('no partition is kept', ({ image }) => !keepsPartitions(image.writerArgs)),
);

/** There are further disks to format. */
export const formatsExtraDisks = all(
  writesDisk,
  condition<Config>('additional disks are to be formatted', ({ disk }) => disk.format.length > 0),
);
