import type { Config } from '../../config/schema.ts';
import { all, condition, not } from '../../engine/condition.ts';
import { writesDisk } from '../conditions.ts';
import { keepsPartitions } from './kept-partitions.ts';

/** coreos-installer is told to keep partitions that are on the disk. */
export const keepsSome = condition<Config>('the writer is told to keep partitions', ({ image }) =>
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
  condition<Config>('further disks are to be formatted', ({ disk }) => disk.format.length > 0),
);
