import * as z from 'zod';
import type { DiskHints } from '../../model/disk-hints.ts';
import { fact } from '../../engine/fact.ts';

const DiskIdentitySchema = z.object({
  /** Kernel path, `/dev/sda` or `/dev/dm-0`: every symbolic link is followed. */
  path: z.string(),
  /** The device as it was asked for, usually `/dev/disk/by-id/…`. */
  asked: z.string(),
  /** Kernel name, `sda`. */
  name: z.string(),
  /** `8:0`; two names of one disk have the same. */
  majorMinor: z.string(),
  sizeBytes: z.number(),
  /** Logical sector size: 512 or 4096. */
  sectorBytes: z.number(),
  /** `lsblk` TYPE: disk, mpath, loop. */
  type: z.string(),
  // What tells it from other disks, as far as it is known; a journal of before knows nothing of it.
  serial: z.string().default(''),
  wwn: z.string().default(''),
  /** Its names in /dev/disk/by-id. */
  byId: z.array(z.string()).readonly().default([]),
  /** By what it was chosen, besides its name. */
  hints: z.custom<DiskHints>().optional(),
});

/** A disk that this run may take data from. */
export type DiskIdentity = z.infer<typeof DiskIdentitySchema>;

const KeptPartitionSchema = z.object({
  /** Its number when the disk was found; coreos-installer may give it another. */
  number: z.number(),
  label: z.string(),
  /** GPT partition GUID, lower case. */
  partUuid: z.string(),
  startBytes: z.number(),
  sizeBytes: z.number(),
});

/** A partition in the GPT of the install disk. */
export type KeptPartition = z.infer<typeof KeptPartitionSchema>;

const TargetDiskSchema = DiskIdentitySchema.extend({
  /** The partitions that coreos-installer is to keep; only where it is to keep some. */
  kept: z.array(KeptPartitionSchema).readonly().optional(),
  /** The additional disks to format that were found; only where there are some to format. */
  extra: z.array(DiskIdentitySchema).readonly().optional(),
});

/**
 * The disk that is installed to. It is the disk of the whole run once a command has taken data from
 * a disk.
 */
export const TargetDisk = fact('disk.target', TargetDiskSchema);
export type TargetDisk = z.infer<typeof TargetDiskSchema>;
