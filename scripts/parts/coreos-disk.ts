import { truncateSync, writeFileSync } from 'node:fs';
import type { BuildLog } from './part.ts';

/** One MiB in bytes; every partition begins and ends on it. */
export const mebibyte = 1024 * 1024;

/** Sizes of the disk, and of the partitions that do not take the rest. */
export interface CoreosSizes {
  readonly diskMiB: number;
  readonly espMiB: number;
  readonly bootMiB: number;
  readonly sectorBytes: 512 | 4096;
}

/** A partition, placed by hand. */
export interface Partition {
  readonly label: string;
  readonly type: string;
  /** Its own GUID, the same on every build, so that two builds do not differ in it. */
  readonly guid: string;
  readonly startMiB: number;
  readonly sizeMiB: number;
}

/** The partitions of a CoreOS disk, by what they hold. */
export type CoreosPartitions = Readonly<Record<'biosBoot' | 'esp' | 'boot' | 'root', Partition>>;

/** Lays out BIOS-BOOT, EFI-SYSTEM, boot and root as coreos-assembler's metal images do; root takes the rest. */
export function coreosPartitions({ diskMiB, espMiB, bootMiB }: CoreosSizes): CoreosPartitions {
  const bootStart = 2 + espMiB;
  const rootStart = bootStart + bootMiB;
  return {
    biosBoot: {
      label: 'BIOS-BOOT',
      type: '21686148-6449-6E6F-744E-656564454649',
      guid: '581439A7-E465-4C0F-A4EB-7FF6839BBC3A',
      ...{ startMiB: 1, sizeMiB: 1 },
    },
    esp: {
      label: 'EFI-SYSTEM',
      type: 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B',
      guid: 'EFEB2F2C-B364-4D88-AB7D-AB6369B6E907',
      ...{ startMiB: 2, sizeMiB: espMiB },
    },
    boot: {
      label: 'boot',
      type: '0FC63DAF-8483-4772-8E79-3D69D8477DE4',
      guid: '4509BEB0-AB40-4D71-AA4A-5CD94A55C9A7',
      ...{ startMiB: bootStart, sizeMiB: bootMiB },
    },
    root: {
      label: 'root',
      type: '4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709',
      guid: '4813494D-137E-4631-ABA3-01D5ACAB6E7B',
      // The last MiB holds the backup table.
      ...{ startMiB: rootStart, sizeMiB: diskMiB - 1 - rootStart },
    },
  };
}

/** Makes a sparse disk image with the partition table of an unbooted CoreOS image and nothing else. */
export async function createImage(image: string, sizes: CoreosSizes, log: BuildLog): Promise<void> {
  const table = `${image}.sfdisk`;
  const rows = Object.values(coreosPartitions(sizes)).map(
    ({ label, type, guid, startMiB, sizeMiB }) =>
      `start=${startMiB}MiB, size=${sizeMiB}MiB, type=${type}, uuid=${guid}, name=${label}\n`,
  );
  // The first boot changes the GUID of the disk.
  const head = `label: gpt\nlabel-id: 00000000-0000-4000-A000-000000000001\nfirst-lba: ${2 + 16384 / sizes.sectorBytes}\n`;
  writeFileSync(table, head + rows.join(''));
  writeFileSync(image, '');
  truncateSync(image, sizes.diskMiB * mebibyte);
  // sfdisk of Debian 12 takes sectors of 512 bytes for a file; fdisk reads the same scripts.
  const apply = String.raw`printf 'I\n%s\nw\n' "$0" | fdisk --sector-size "$1" "$2" && rm "$0"`;
  await log.run({ argv: ['sh', '-c', apply, table, String(sizes.sectorBytes), image] });
}

/** An ext4 file system for one partition of an image. */
export interface Ext4 {
  readonly partition: Partition;
  /** Folder whose content the file system starts with; empty without one. */
  readonly content?: string;
}

/**
 * Puts an ext4 file system, labelled as its partition is, into an image; needs no root, loop device or mount.
 * Blocks of 4096 bytes, so that it can be mounted from a disk with sectors of that size too.
 */
export async function addExt4(image: string, fileSystem: Ext4, log: BuildLog): Promise<void> {
  const { partition, content } = fileSystem;
  const from = content === undefined ? [] : ['-d', content];
  const place = `offset=${partition.startMiB * mebibyte},lazy_itable_init=0,lazy_journal_init=0`;
  const features = ['-O', '^metadata_csum_seed,^orphan_file', '-E', place];
  const options = ['-q', '-t', 'ext4', '-b', '4096', '-L', partition.label, ...features, ...from];
  await log.run({ argv: ['mke2fs', ...options, image, `${partition.sizeMiB}M`] });
}
