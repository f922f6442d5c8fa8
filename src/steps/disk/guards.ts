// What guards a disk: whether it may be written, cleaned or formatted. resolve.ts makes sure that it is the
// disk that was meant, in-use.ts that no other run and no process uses it, wipe.ts has what destroys.
import { AgentError } from '../../model/failure.ts';
import { diskFailure } from './failures.ts';
import type { BlockDevice } from './lsblk.ts';
import {
  disksUnder,
  everyDevice,
  isLeftover,
  isNamed,
  isPartition,
  isUnformatted,
  multipathOver,
  descendantsOf,
  withDescendants,
} from './block-devices.ts';
import type { StepScope } from '../step.ts';
import type { Config } from '../../config/schema.ts';
import { all, condition, not } from '../../engine/condition.ts';
import { writesDisk } from '../conditions.ts';
import { keepsPartitions } from '../image/writer-args.ts';
import type { DiskIdentity, TargetDisk } from './facts.ts';
import { type Disks, isOtherDisk, type Links, linksOf, rivalsOf, targetAmong } from './target.ts';

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
}

/** Whether a disk can be written, and what a person should know of it. */
interface DiskReadiness {
  /** The most serious reason why not. */
  readonly problem?: AgentError;
  readonly remarks: readonly string[];
}

/**
 * Decides on a disk. Leftovers that the cleanup takes down are remarks. With kept partitions every
 * holder is a remark: an appliance installs to the disk it was started from, over device-mapper
 * windows that do not keep the table busy; whether it is free is then for coreos-installer to say.
 */
export function diskReadiness(state: DiskState): DiskReadiness {
  const { disk, willBeCleaned, keepsPartitions } = state;
  const holders = holdersOf(disk);
  const isHarmless = ({ kind }: Holder): boolean =>
    keepsPartitions || (willBeCleaned && kind === 'leftover');
  const harmful = holders.filter((holder) => !isHarmless(holder));
  const live = harmful.find(({ kind }) => kind === 'live');
  const busy = harmful.map(renderHolder);
  const problem =
    (live === undefined ? undefined : isLive(disk, live)) ??
    physicalProblem(disk) ??
    (busy.length === 0 ? undefined : isBusy(disk, busy));
  const remarks = holders
    .filter(isHarmless)
    .map(
      (holder) => `${renderHolder(holder)}; ${keepsPartitions ? 'it stays' : 'it will be removed'}`,
    );
  return { ...(problem === undefined ? {} : { problem }), remarks };
}

function physicalProblem(disk: BlockDevice): AgentError | undefined {
  if (disk.isReadOnly) {
    return diskFailure('disk.read-only', `${disk.path} is read-only`, {
      context: { disk: disk.path },
    });
  }
  if (disk.sizeBytes >= smallestDiskBytes || isUnformatted(disk)) return undefined;
  return diskFailure(
    'disk.too-small',
    `${disk.path} has ${disk.sizeBytes} bytes, at least ${smallestDiskBytes} are needed`,
    {
      context: { disk: disk.path, sizeBytes: disk.sizeBytes, neededBytes: smallestDiskBytes },
    },
  );
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
 * Other disks with a file system labelled `boot` or `root`: the node finds its own by these labels,
 * and may start from the wrong disk (coreos-installer warns of the same, but only after the write).
 */
export function otherSystemDisks(
  roots: readonly BlockDevice[],
  disk: BlockDevice,
): readonly string[] {
  // The kernel may list the partitions of a multipath device under each of its paths too.
  const paths = disk.type === 'mpath' ? disksUnder(roots, disk) : [];
  const own = new Set([disk, ...paths].flatMap(withDescendants).map(({ kname }) => kname));
  return everyDevice(roots)
    .filter(({ kname, label }) => !own.has(kname) && (label === 'boot' || label === 'root'))
    .map(({ path, label }) => `${path} is labelled ${label}`);
}

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
      wwn !== '',
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

/** Other disks that lose data when what uses this disk is taken down: a shared volume group. */
export function disksSharedWith(
  roots: readonly BlockDevice[],
  disk: BlockDevice,
): readonly string[] {
  const under = descendantsOf(disk).flatMap((device) => disksUnder(roots, device));
  const paths = under.filter(({ kname }) => kname !== disk.kname).map(({ path }) => path);
  const own = disksUnder(roots, disk).map(({ path }) => path);
  return [...new Set(paths)].filter((path) => !own.includes(path));
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
  const device = otherDiskOr(() => targetAmong(roots, identity, links));
  if (device instanceof AgentError) return { kind: 'refused', asked, because: device.message };
  const rivals = rivalsOf(roots, asked, device).map(({ path, serial }) => `${path} (${serial})`);
  if (rivals.length > 0) {
    const because = `its name fits ${device.path} (${device.serial}) and ${rivals.join(', ')}`;
    return { kind: 'refused', asked, because };
  }
  const isTarget =
    isNamed(target, `/dev/${device.kname}`) ||
    disksUnder(roots, target).some(({ kname }) => kname === device.kname) ||
    disksUnder(roots, device).some(({ kname }) => kname === target.kname);
  if (isTarget) return { kind: 'refused', asked, because: 'it is the install disk' };
  if (device.isReadOnly) return { kind: 'refused', asked, because: 'it is read-only' };
  const over = multipathOver(device);
  if (over !== undefined) {
    return { kind: 'refused', asked, because: `it is one path of ${over.path}` };
  }
  const used = holdersOf(device).find(({ kind }) => ['live', 'mount', 'swap'].includes(kind));
  if (used === undefined) return { kind: 'format', asked, device, identity };
  return { kind: 'refused', asked, because: renderHolder(used) };
}

/** What is found, or the failure that says that it is another disk now. */
function otherDiskOr(find: () => BlockDevice): BlockDevice | AgentError {
  try {
    return find();
  } catch (error) {
    if (error instanceof AgentError && isOtherDisk(error)) return error;
    throw error;
  }
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

/** coreos-installer is to keep partitions that are on the disk. */
const keepsSome = condition<Config>('coreos-installer keeps partitions', ({ image }) =>
  keepsPartitions(image.writerArgs),
);

/**
 * LVM, RAID and old signatures are removed before the write. Not when partitions are kept: wiping
 * the table would lose them. The inventory service asks for the same.
 */
export const cleansDisk = all(
  writesDisk,
  condition<Config>('the disk is to be cleaned', ({ disk }) => disk.cleanup),
  not(keepsSome, 'no partition is kept'),
);

/** There are further disks to format. */
export const formatsExtraDisks = all(
  writesDisk,
  condition<Config>('additional disks are to be formatted', ({ disk }) => disk.format.length > 0),
);
