import type { BlockDevice } from './lsblk.ts';
import { disksUnder, isArray, isMapped, isPartition, standingOn, withAllOn } from './tree.ts';

/** Why a disk is not free. */
export type Holding =
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
export const holdingsOf = (disk: BlockDevice): readonly Holding[] => [
  ...withAllOn(disk).flatMap(mountsOf),
  ...standingOn(disk)
    .filter((device) => !isPartition(device))
    .map((device): Holding => {
      const isKnown = isArray(device) || isMapped(device);
      const kind = isKnown && device.type !== 'mpath' ? 'leftover' : 'foreign';
      return { kind, device: device.path, type: device.type };
    }),
];

function mountsOf({ path, mountpoints }: BlockDevice): readonly Holding[] {
  return mountpoints.map((mountpoint): Holding => {
    if (mountpoint === '[SWAP]') return { kind: 'swap', device: path };
    return { kind: liveMounts.has(mountpoint) ? 'live' : 'mount', device: path, mountpoint };
  });
}

/** A holding as people read it. */
export function renderHolding(holding: Holding): string {
  switch (holding.kind) {
    case 'live':
    case 'mount':
      return `${holding.device} is mounted on ${holding.mountpoint}`;
    case 'swap':
      return `${holding.device} is in use as swap`;
    case 'leftover':
    case 'foreign':
      return `${holding.device} (${holding.type}) stands on it`;
  }
}

/** Other disks that lose data when what stands on this disk is taken down: a shared volume group. */
export function disksSharedWith(
  roots: readonly BlockDevice[],
  disk: BlockDevice,
): readonly string[] {
  const under = standingOn(disk).flatMap((device) => disksUnder(roots, device));
  const paths = under.filter(({ kname }) => kname !== disk.kname).map(({ path }) => path);
  const own = disksUnder(roots, disk).map(({ path }) => path);
  return [...new Set(paths)].filter((path) => !own.includes(path));
}
