import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const mebibyte = 1024 * 1024;
const lookEveryMillis = 200;

/** What a BIOS and the kernel find at the beginning of a disk of a guest. */
export interface DiskHead {
  /** Whether there is code that a BIOS would start. */
  readonly hasBootCode: boolean;
  /** Partitions in the first table of the GPT. */
  readonly partitions: number;
}

/** Reads the beginning of a disk with sectors of 512 bytes, from outside of the guest. */
export function readDiskHead(path: string): DiskHead {
  const head = Buffer.alloc(mebibyte);
  const descriptor = openSync(path, 'r');
  readSync(descriptor, head, 0, head.length, 0);
  closeSync(descriptor);
  const entries = Array.from({ length: 128 }, (_, index) =>
    head.subarray(1024 + index * 128, 1024 + (index + 1) * 128),
  );
  return {
    hasBootCode: head.subarray(0, 440).some((byte) => byte !== 0),
    partitions: entries.filter((entry) => entry.subarray(0, 16).some((byte) => byte !== 0)).length,
  };
}

/** Waits until a guest has written so much to its sparse disk. */
export async function waitUntilWritten(path: string, mebibytes: number): Promise<void> {
  while (statSync(path).blocks * 512 < mebibytes * mebibyte) await sleep(lookEveryMillis);
}
