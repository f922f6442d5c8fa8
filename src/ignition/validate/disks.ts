import { Buffer } from 'node:buffer';
import type { FindingRule } from '../finding.ts';
import type {
  Clevis,
  ClevisCustom,
  Disk,
  Filesystem,
  Luks,
  Partition,
  Raid,
  Tang,
} from '../types.ts';
import { optionalPathViolation, pathViolation, type Place } from './place.ts';
import { sourceViolation, urlScheme } from './resource.ts';

/** A GPT name has room for 36 UTF-16 units; Ignition counts bytes. */
const MAX_PARTITION_LABEL_BYTES = 36;
const GUID = /^(?:|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/iu;

/** A disk and the relations between its partitions. */
export function validateDisk(disk: Disk, place: Place): void {
  if (disk.device === '') {
    place.at('device').report('device-required');
    return;
  }
  place.at('device').report(pathViolation(disk.device));
  const { partitions = [] } = disk;
  const numbers = partitions.map(({ number }) => (number === 0 ? undefined : number));
  const labels = partitions.map(({ label }) => label);
  for (const index of repeatedAt(numbers)) {
    place.at('partitions', index).report('partition-number-twice');
  }
  for (const index of repeatedAt(labels)) {
    place.at('partitions', index).report('partition-label-twice');
  }
  for (const [index, partition] of partitions.entries()) {
    const others = partitions.slice(0, Math.min(index, mostPartitions));
    const isOverlapping = others.some((other) => overlap(partition, other));
    if (isOverlapping) place.at('partitions', index).report('partition-overlap');
  }
  const hasAbsent = partitions.some(({ shouldExist }) => shouldExist === false);
  if (hasAbsent && partitions.some(({ number }) => number === 0)) {
    place.at('partitions').report('partition-zero-and-absent');
  }
}

/** A partition table has 128 entries unless it was made for more; those beyond are held against these alone. */
const mostPartitions = 256;

function repeatedAt<T>(values: readonly (T | undefined)[]): number[] {
  const known = new Set<T>();
  return values.flatMap((value, index) => {
    if (value === undefined) return [];
    const isRepeated = known.has(value);
    known.add(value);
    return isRepeated ? [index] : [];
  });
}

type Extent = readonly [first: number, last: number];

/** First and last MiB, where both are known. Start 0 is the first free place; size 0 is the rest. */
function extent({ startMiB, sizeMiB }: Partition): Extent | undefined {
  if (startMiB === undefined || sizeMiB === undefined || startMiB === 0) return undefined;
  return [startMiB, sizeMiB === 0 ? startMiB : startMiB + sizeMiB - 1];
}

function overlap(one: Partition, other: Partition): boolean {
  const first = extent(one);
  const second = extent(other);
  if (first === undefined || second === undefined) return false;
  return touches(first, second) || touches(second, first);
}

/** Spelt out as Ignition does, for a negative size makes an extent that ends before it starts. */
function touches([first, last]: Extent, other: Extent): boolean {
  const isStraddling = first < other[0] && last > other[1];
  return isWithin(first, other) || isWithin(last, other) || isStraddling;
}

const isWithin = (at: number, [first, last]: Extent): boolean => at >= first && at <= last;

/** A partition by itself. */
export function validatePartition(partition: Partition, place: Place): void {
  const { guid, label, number, shouldExist, sizeMiB, startMiB, typeGuid } = partition;
  const others = [label, startMiB, sizeMiB, typeGuid === '' ? undefined : typeGuid];
  const hasOthers = [...others, guid === '' ? undefined : guid].some(
    (other) => other !== undefined,
  );
  if (shouldExist === false && hasOthers) place.report('partition-absent-with-others');
  if (number === 0 && label === undefined) place.report('partition-unnamed');
  if (label !== undefined) place.at('label').report(partitionLabelViolation(label));
  if (guid !== undefined && !GUID.test(guid)) place.at('guid').report('guid-malformed');
  if (typeGuid !== undefined && !GUID.test(typeGuid)) place.at('typeGuid').report('guid-malformed');
}

function partitionLabelViolation(label: string): FindingRule | undefined {
  if (Buffer.byteLength(label) > MAX_PARTITION_LABEL_BYTES) return 'label-too-long';
  // sgdisk separates its arguments by colons and knows no escape.
  return label.includes(':') ? 'label-colon' : undefined;
}

/** Formats, the spec that brought them, and the longest label their mkfs takes, in bytes. */
const formats: Readonly<Record<string, { since: number; labelBytes: number }>> = {
  ext4: { since: 0, labelBytes: 16 },
  btrfs: { since: 0, labelBytes: 256 },
  xfs: { since: 0, labelBytes: 12 },
  swap: { since: 0, labelBytes: 15 },
  vfat: { since: 0, labelBytes: 11 },
  none: { since: 3, labelBytes: Infinity },
};

/** A filesystem: its device, its format, and a label that fits the format. */
export function validateFilesystem(filesystem: Filesystem, place: Place): void {
  place.at('path').report(optionalPathViolation(filesystem.path));
  place.at('device').report(pathViolation(filesystem.device));
  const { format = '', label = '' } = filesystem;
  if (format === '') {
    if (hasSettings(filesystem)) place.at('format').report('format-required');
    if (label !== '') place.at('label').report('label-needs-format');
    return;
  }
  const known = Object.hasOwn(formats, format) ? formats[format] : undefined;
  if (known === undefined || known.since > place.minor) place.at('format').report('format-unknown');
  if (Buffer.byteLength(label) > (known?.labelBytes ?? Infinity)) {
    place.at('label').report('label-too-long');
  }
}

function hasSettings(filesystem: Filesystem): boolean {
  const { label = '', mountOptions = [], options = [], path = '', uuid = '' } = filesystem;
  const isAnyText = path !== '' || label !== '' || uuid !== '';
  const isAnyList = mountOptions.length > 0 || options.length > 0;
  return isAnyText || isAnyList || filesystem.wipeFilesystem === true;
}

const raidLevels = ['linear', 'raid0', '0', 'stripe', 'raid1', '1', 'mirror', 'raid4', '4'];
const moreRaidLevels = ['raid5', '5', 'raid6', '6', 'raid10', '10'];
const knownRaidLevels = new Set([...raidLevels, ...moreRaidLevels]);
/** Arrays without redundancy have no use for a spare. */
const levelsWithoutSpares = new Set(['linear', 'raid0', '0', 'stripe']);

/** A RAID array. */
export function validateRaid({ devices = [], level = '', spares = 0 }: Raid, place: Place): void {
  if (level === '') place.at('level').report('raid-level-required');
  else if (!knownRaidLevels.has(level)) place.at('level').report('raid-level-unknown');
  else if (levelsWithoutSpares.has(level) && spares !== 0) {
    place.at('level').report('raid-no-spares');
  }
  if (devices.length === 0) place.at('devices').report('raid-devices-required');
  for (const [index, device] of devices.entries()) {
    place.at('devices', index).report(pathViolation(device));
  }
}

/** LUKS2 keeps 48 bytes for a label, the last one a null. */
const MAX_LABEL_BYTES = 47;

/** An encrypted device. */
export function validateLuks(luks: Luks, place: Place): void {
  const { device = '', label = '', name } = luks;
  if (name.includes('/')) place.at('name').report('luks-name-slash');
  if (Buffer.byteLength(label) > MAX_LABEL_BYTES) place.at('label').report('label-too-long');
  place.at('device').report(device === '' ? 'device-required' : pathViolation(device));
  if (sourceViolation(luks.keyFile?.source, place.minor) !== undefined) {
    place.at('keyFile').report('luks-key-file');
  }
  if (luks.cex?.enabled === true) validateBesideCex(luks, place.at('cex'));
}

/** The key of a CryptoExpress adapter excludes every other way to unlock. */
function validateBesideCex({ clevis = {}, keyFile = {} }: Luks, place: Place): void {
  if (isCustom(clevis, place.minor) || hasPins(clevis)) place.report('cex-with-clevis');
  if ((keyFile.source ?? '') !== '') place.report('cex-with-key-file');
}

/** Automatic unlocking: by a custom pin, or by the others. */
export function validateClevis(clevis: Clevis, place: Place): void {
  if (isCustom(clevis, place.minor) && hasPins(clevis)) place.report('clevis-custom-with-others');
}

/** In spec 3.2 an empty custom section counts as one. */
function isCustom({ custom }: Clevis, minor: number): boolean {
  if (minor <= 2) return custom !== undefined;
  return custom?.pin !== undefined && custom.pin !== '';
}

function hasPins({ tang = [], threshold = 0, tpm2 = false }: Clevis): boolean {
  return tang.length > 0 || tpm2 || threshold !== 0;
}

/** A clevis pin with a configuration of its own. */
export function validateClevisCustom(custom: ClevisCustom, place: Place): void {
  const { config = '', needsNetwork = false, pin = '' } = custom;
  if (pin === '' && config === '' && (!needsNetwork || place.minor <= 2)) return;
  if (pin === '') place.at('pin').report('clevis-pin-required');
  else if (!['tpm2', 'tang', 'sss'].includes(pin)) place.at('pin').report('clevis-pin-unknown');
  if (config === '') place.at('config').report('clevis-config-required');
}

/** A tang server. */
export function validateTang(
  { advertisement = '', thumbprint = '', url }: Tang,
  place: Place,
): void {
  const scheme = urlScheme(url);
  if (scheme === undefined) place.at('url').report('url-invalid');
  else if (scheme !== 'http' && scheme !== 'https') place.at('url').report('url-scheme');
  if (thumbprint === '') place.at('thumbprint').report('tang-thumbprint-required');
  if (advertisement !== '' && !isJson(advertisement)) {
    place.at('advertisement').report('tang-advertisement');
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
