import { closeSync, ftruncateSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';

import type { BuildLog } from '../part.ts';
import { type DiskShape, mebibyte, type Partition, type Placed, renderGpt } from './gpt.ts';

/** Makes a sparse disk image with a partition table and nothing else. */
export function createImage(path: string, disk: DiskShape): void {
  const descriptor = openSync(path, 'w');
  try {
    ftruncateSync(descriptor, disk.sizeMiB * mebibyte);
    for (const placed of renderGpt(disk)) write(descriptor, placed);
  } finally {
    closeSync(descriptor);
  }
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
  const features = '^metadata_csum_seed,^orphan_file';
  const place = `offset=${partition.startMiB * mebibyte},lazy_itable_init=0,lazy_journal_init=0`;
  const options = [
    '-q',
    '-t',
    'ext4',
    '-b',
    '4096',
    '-O',
    features,
    '-L',
    partition.label,
    '-E',
    place,
  ];
  await log.run({ argv: ['mke2fs', ...options, ...from, image, `${partition.sizeMiB}M`] });
}

/**
 * Makes an image start by BIOS without grub-install, which cannot map an image file to a drive: GRUB's first
 * sector gets the place of its second stage, and that one the place of its own rest (`boot.S`, `diskboot.S`).
 */
export function addBiosGrub(
  image: string,
  biosBoot: Partition,
  stages: { first: string; second: string },
): void {
  const secondStage = (biosBoot.startMiB * mebibyte) / 512;
  const descriptor = openSync(image, 'r+');
  try {
    const first = readFileSync(stages.first).subarray(0, 512);
    first.writeBigUInt64LE(BigInt(secondStage), 0x5c);
    // Two no-ops where GRUB would put the drive number right on faulty firmware.
    first.writeUInt16LE(0x9090, 0x66);
    readSync(descriptor, first, 440, 72, 440);
    const second = readFileSync(stages.second);
    second.writeBigUInt64LE(BigInt(secondStage + 1), 500);
    write(descriptor, { offset: 0, bytes: first });
    write(descriptor, { offset: secondStage * 512, bytes: second });
  } finally {
    closeSync(descriptor);
  }
}

function write(descriptor: number, placed: Placed): void {
  writeSync(descriptor, placed.bytes, 0, placed.bytes.length, placed.offset);
}
