import { createHash } from 'node:crypto';

import type { DiskShape, Partition } from './gpt.ts';

/** Sizes of the four partitions that every CoreOS disk has, and of the disk. */
export interface CoreosSizes {
  readonly diskMiB: number;
  readonly espMiB: number;
  readonly bootMiB: number;
  readonly sectorBytes: 512 | 4096;
}

/** The partitions of a CoreOS disk, by what they hold. */
export interface CoreosShape extends DiskShape {
  readonly biosBoot: Partition;
  readonly esp: Partition;
  readonly boot: Partition;
  readonly root: Partition;
}

const types = {
  biosBoot: '21686148-6449-6E6F-744E-656564454649',
  esp: 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B',
  linux: '0FC63DAF-8483-4772-8E79-3D69D8477DE4',
  rootX64: '4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709',
};

/** The disk GUID of every unbooted CoreOS image; the first boot changes it. */
const imageGuid = '00000000-0000-4000-A000-000000000001';

/** Lays out BIOS-BOOT, EFI-SYSTEM, boot and root as coreos-assembler's metal images do; root takes the rest. */
export function coreosShape(sizes: CoreosSizes): CoreosShape {
  const bootStart = 2 + sizes.espMiB;
  const rootStart = bootStart + sizes.bootMiB;
  // The last MiB holds the backup table.
  const rootMiB = sizes.diskMiB - 1 - rootStart;
  const biosBoot = partition('BIOS-BOOT', types.biosBoot, [1, 1]);
  const esp = partition('EFI-SYSTEM', types.esp, [2, sizes.espMiB]);
  const boot = partition('boot', types.linux, [bootStart, sizes.bootMiB]);
  const root = partition('root', types.rootX64, [rootStart, rootMiB]);
  const { diskMiB: sizeMiB, sectorBytes } = sizes;
  const partitions = [biosBoot, esp, boot, root];
  return { sizeMiB, sectorBytes, guid: imageGuid, partitions, biosBoot, esp, boot, root };
}

function partition(label: string, type: string, [startMiB, sizeMiB]: [number, number]): Partition {
  return { label, type, guid: guidFor(label), startMiB, sizeMiB };
}

/** The same GUID for the same label on every build, so that two builds do not differ in it. */
function guidFor(label: string): string {
  const hex = createHash('sha256').update(label).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
