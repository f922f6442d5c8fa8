import * as z from 'zod';
import type { DiskHints } from '../../settings/disk-hints.ts';
import { fact } from '../../engine/fact.ts';

const DiskIdentitySchema = z.object({
  /** Kernel path with every symbolic link resolved: `/dev/sda` or `/dev/dm-0`. */
  path: z.string(),
  /** The device as configured, usually `/dev/disk/by-id/…`. */
  asked: z.string(),
  /** Kernel name, `sda`. */
  name: z.string(),
  /** `8:0`; all names of one disk have the same. */
  majorMinor: z.string(),
  sizeBytes: z.number(),
  /** Logical sector size: 512 or 4096. */
  sectorBytes: z.number(),
  /** `lsblk` TYPE: disk, mpath, loop. */
  type: z.string(),
  // Identifiers of the disk, if known; a journal of an older version has none.
  serial: z.string().default(''),
  wwn: z.string().default(''),
  /** Its names in /dev/disk/by-id. */
  byId: z.array(z.string()).readonly().default([]),
  /** The hints that chose the disk, in addition to its name. */
  hints: z.custom<DiskHints>().optional(),
});

/** A disk from which this run may take data. */
export type DiskIdentity = z.infer<typeof DiskIdentitySchema>;

const KeptPartitionSchema = z.object({
  /** Its number at discovery; coreos-installer may assign another one. */
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
  /** The partitions that coreos-installer keeps; only if the configuration keeps any. */
  kept: z.array(KeptPartitionSchema).readonly().optional(),
  /** The discovered additional disks to format; only if the configuration formats any. */
  extra: z.array(DiskIdentitySchema).readonly().optional(),
});

/**
 * The disk of the installation. It is fixed for the whole run once a command has taken data from a
 * disk.
 */
export const TargetDisk = fact('disk.target', TargetDiskSchema);
export type TargetDisk = z.infer<typeof TargetDiskSchema>;
