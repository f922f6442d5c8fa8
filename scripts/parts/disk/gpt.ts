import { crc32 } from 'node:zlib';

/** One MiB in bytes; every partition begins and ends on it. */
export const mebibyte = 1024 * 1024;

/** A partition, placed by hand. */
export interface Partition {
  readonly label: string;
  readonly type: string;
  /** Its own GUID. */
  readonly guid: string;
  readonly startMiB: number;
  readonly sizeMiB: number;
}

/** A whole disk with a GUID partition table. */
export interface DiskShape {
  readonly sizeMiB: number;
  readonly sectorBytes: 512 | 4096;
  readonly guid: string;
  readonly partitions: readonly Partition[];
}

/** Bytes and the place on the disk they belong to. */
export interface Placed {
  readonly offset: number;
  readonly bytes: Buffer;
}

const entryCount = 128;
const entryBytes = 128;
const headerBytes = 92;

/**
 * The protective MBR, the primary and the backup table of a disk (UEFI specification 2.10, chapter 5).
 * Everything else on the disk is left as it is.
 */
export function renderGpt(disk: DiskShape): Placed[] {
  const sector = disk.sectorBytes;
  const sectors = (disk.sizeMiB * mebibyte) / sector;
  const entries = renderEntries(disk);
  const entrySectors = entries.length / sector;
  const layout = { sector, sectors, entrySectors };
  const backupEntries = sectors - 1 - entrySectors;
  const header = (own: number, other: number, entriesAt: number) =>
    renderHeader(disk, entries, { ...layout, own, other, entriesAt });
  return [
    { offset: 0, bytes: renderProtectiveMbr(sectors) },
    { offset: sector, bytes: header(1, sectors - 1, 2) },
    { offset: 2 * sector, bytes: entries },
    { offset: backupEntries * sector, bytes: entries },
    { offset: (sectors - 1) * sector, bytes: header(sectors - 1, 1, backupEntries) },
  ];
}

function renderProtectiveMbr(sectors: number): Buffer {
  const bytes = Buffer.alloc(512);
  // Start 0/0/2, type 0xEE, end beyond what cylinders can say, first sector 1, size.
  Buffer.from([0, 0, 2, 0, 0xee, 255, 255, 255]).copy(bytes, 446);
  bytes.writeUInt32LE(1, 454);
  bytes.writeUInt32LE(Math.min(sectors - 1, 0xffffffff), 458);
  bytes.writeUInt16LE(0xaa55, 510);
  return bytes;
}

function renderEntries(disk: DiskShape): Buffer {
  const bytes = Buffer.alloc(entryCount * entryBytes);
  for (const [index, partition] of disk.partitions.entries()) {
    const at = index * entryBytes;
    const perMiB = mebibyte / disk.sectorBytes;
    renderGuid(partition.type).copy(bytes, at);
    renderGuid(partition.guid).copy(bytes, at + 16);
    bytes.writeBigUInt64LE(BigInt(partition.startMiB * perMiB), at + 32);
    bytes.writeBigUInt64LE(BigInt((partition.startMiB + partition.sizeMiB) * perMiB - 1), at + 40);
    bytes.write(partition.label, at + 56, 72, 'utf16le');
  }
  return bytes;
}

interface HeaderPlace {
  readonly sectors: number;
  readonly entrySectors: number;
  readonly own: number;
  readonly other: number;
  readonly entriesAt: number;
}

function renderHeader(disk: DiskShape, entries: Buffer, place: HeaderPlace): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  bytes.write('EFI PART', 'latin1');
  bytes.writeUInt32LE(0x10000, 8);
  bytes.writeUInt32LE(headerBytes, 12);
  bytes.writeBigUInt64LE(BigInt(place.own), 24);
  bytes.writeBigUInt64LE(BigInt(place.other), 32);
  bytes.writeBigUInt64LE(BigInt(2 + place.entrySectors), 40);
  bytes.writeBigUInt64LE(BigInt(place.sectors - place.entrySectors - 2), 48);
  renderGuid(disk.guid).copy(bytes, 56);
  bytes.writeBigUInt64LE(BigInt(place.entriesAt), 72);
  bytes.writeUInt32LE(entryCount, 80);
  bytes.writeUInt32LE(entryBytes, 84);
  bytes.writeUInt32LE(crc32(entries), 88);
  bytes.writeUInt32LE(crc32(bytes), 16);
  return bytes;
}

/** A GUID as it lies on a disk: the first three groups are little endian. */
function renderGuid(text: string): Buffer {
  const bytes = Buffer.from(text.replaceAll('-', ''), 'hex');
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return bytes;
}
