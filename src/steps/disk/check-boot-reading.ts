import { type BootMenu, bootLabel } from './efibootmgr.ts';
import { AgentError } from '../../model/failure.ts';
import { ownEntry } from './boot-menu.ts';
import type { BlockDevice } from './lsblk.ts';
import { findPartition, type FoundPartition, type PartitionPurpose } from './partitions.ts';

/** Where the boot partition is looked into; free by now, the steps before used it too. */
export const bootMountPoint = '/mnt';

/** Makes the first start run Ignition (coreos-installer puts it there; GRUB looks for it). */
export const firstBootStamp = `${bootMountPoint}/ignition.firstboot`;

/** The Ignition of this host as the first start reads it (coreos-installer, `install.rs`). */
export const bootIgnition = `${bootMountPoint}/ignition/config.ign`;

/** Mounts the boot partition so that nothing on it changes and nothing of it is run. */
export const mountBootArgv = (partition: string): readonly string[] => [
  ...['mount', '-o', 'ro,nosuid,nodev,noexec', partition, bootMountPoint],
];

/**
 * The same for a file system that `image/overwrite-os` has left frozen: the kernel goes on holding it
 * as writable, and refuses to mount it read-only beside that (`EBUSY`). While it is frozen nothing on
 * it changes either.
 */
export const mountFrozenBootArgv = (partition: string): readonly string[] => [
  ...['mount', '-o', 'nosuid,nodev,noexec,noatime', partition, bootMountPoint],
];

/** Takes the boot partition out again. */
export const unmountBootArgv = ['umount', bootMountPoint] as const;

/** Says whether the first start would run Ignition. */
export const hasStampArgv = ['test', '-f', firstBootStamp] as const;

/** Prints the digests of the Ignition on the disk and of the one that it was made from. */
export const digestsArgv = (ignition: string): readonly string[] => [
  ...['sha256sum', bootIgnition, ignition],
];

/** Reads the output of `digestsArgv`: path → lower-case hexadecimal digest. */
export function parseDigests(stdout: string): ReadonlyMap<string, string> {
  const lines = stdout.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm);
  return new Map([...lines].map(([, digest = '', path = '']) => [path, digest]));
}

/** A partition, or undefined when the disk has none for this purpose. */
export function partitionFor(
  disk: BlockDevice,
  purpose: PartitionPurpose,
): FoundPartition | undefined {
  try {
    return findPartition(disk, purpose);
  } catch (error) {
    if (error instanceof AgentError && error.code === 'disk.no-partition') return undefined;
    throw error;
  }
}

/** Which partitions of those that a CoreOS system starts from a disk lacks. */
export function missingPartitions(
  disk: BlockDevice,
  { isUefi }: { readonly isUefi: boolean },
): readonly string[] {
  const wanted: readonly PartitionPurpose[] = isUefi ? ['esp', 'boot', 'root'] : ['boot', 'root'];
  return wanted
    .filter((purpose) => partitionFor(disk, purpose) === undefined)
    .map((purpose) => `there is no ${purpose} partition`);
}

/** What was read from the boot partition. */
export interface BootContent {
  readonly hasStamp: boolean;
  /** Digest of the Ignition on it; undefined when there is none. */
  readonly sha256: string | undefined;
  /** Digest of the Ignition that should be on it. */
  readonly expected: string;
}

/** What is wrong with the content of the boot partition. */
export function wrongContent({ hasStamp, sha256, expected }: BootContent): readonly string[] {
  const ignition =
    sha256 === undefined
      ? ['there is no Ignition config on the boot partition']
      : sha256 === expected
        ? []
        : ['the Ignition config on the boot partition is not that of this host'];
  return [...(hasStamp ? [] : ['the first start would not run Ignition']), ...ignition];
}

/** Why the firmware may start something else; undefined when our entry is the first. */
export function menuDoubt(menu: BootMenu, espUuid: string): string | undefined {
  const own = ownEntry(menu, { espUuid });
  if (own === undefined) return `the firmware has no entry ${bootLabel} of this disk`;
  const [first] = menu.order;
  if (first === own.number) return undefined;
  return `the firmware starts ${first ?? 'no entry'} before our entry ${own.number}`;
}
