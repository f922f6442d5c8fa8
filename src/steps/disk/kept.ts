// The partitions that coreos-installer keeps. It is told labels and numbers, and numbers what it
// keeps again behind the partitions of its image; so what a number meant before the first write may
// be the image's own partition afterwards.
import * as z from 'zod';
import { parseConfig } from '../../ignition/parse.ts';
import { decodeResource, isDataUrl } from '../../ignition/resource.ts';
import type { Filesystem, Storage } from '../../ignition/types.ts';
import { jsonIn } from '../../lib/json.ts';
import type { WriterUse } from '../../lib/writer-args.ts';
import { seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Host } from '../../ports/host.ts';
import { unreadableOutput } from '../host-commands.ts';
import type { StepScope } from '../step.ts';
import { diskFailure } from './failures.ts';
import { type BlockDevice, partitionsOf } from './block-devices.ts';
import type { DiskIdentity, KeptPartition, TargetDisk } from './facts.ts';
import { readWriterSetup, savedAmong, usesIn, withoutSaving } from './writer-args.ts';

/**
 * Prints the partition table that is on a disk, which a writer that was killed may not have shown
 * to the kernel.
 */
export const tableArgv = (path: string): readonly string[] => ['sfdisk', '--json', path];

const SfdiskTable = z.object({
  label: z.string(),
  partitions: z
    .array(
      z.object({
        node: z.string(),
        /** In sectors of the disk. */
        start: z.number(),
        size: z.number(),
        type: z.string().default(''),
        uuid: z.string().default(''),
        name: z.string().default(''),
      }),
    )
    .default([]),
});
type SfdiskTable = z.infer<typeof SfdiskTable>;

const SfdiskOutput = z.object({ partitiontable: SfdiskTable });

type WithTable = Pick<TargetDisk, 'path' | 'sectorBytes'>;

/**
 * The partitions in the GPT of a disk, without their contents; none where it has none, as
 * coreos-installer keeps no others (0.26, `src/blockdev.rs`).
 * @throws AgentError `disk.keep-refused`, `command.*`
 */
export const readTable = async (
  host: Host,
  disk: WithTable,
  signal: AbortSignal,
): Promise<readonly KeptPartition[]> => partitionsIn(await runSfdisk(host, disk, signal), disk);

/**
 * To sfdisk a GPT that it cannot read is the one partition of its protective MBR (UEFI
 * specification, 5.2.3).
 */
const protectiveType = 'ee';

async function runSfdisk(
  host: Host,
  { path }: WithTable,
  signal: AbortSignal,
): Promise<SfdiskTable> {
  const { stdout, stderr } = await host.exec(tableArgv(path), {
    signal,
    limit: seconds(30),
    accept: [0, 1],
  });
  if (stderr.includes('does not contain a recognized partition table'))
    return { label: '', partitions: [] };
  const table = SfdiskOutput.safeParse(jsonIn(stdout)).data?.partitiontable;
  if (table === undefined) throw unreadableOutput('sfdisk', 'partition table', stdout || stderr);
  if (table.partitions.some(({ type }) => type === protectiveType))
    throw isRefused(path, 'its GPT cannot be read, or is one for sectors of another size');
  return table;
}

const partitionsIn = (
  { label, partitions }: SfdiskTable,
  { sectorBytes }: WithTable,
): readonly KeptPartition[] =>
  (label === 'gpt' ? partitions : []).map(({ node, start, size, type, uuid, name }) => ({
    number: Number(/(?<!\d)\d+$/.exec(node)?.[0]),
    label: name,
    partUuid: uuid.toLowerCase(),
    typeGuid: type.toLowerCase(),
    content: '',
    contentLabel: '',
    startBytes: start * sectorBytes,
    sizeBytes: size * sectorBytes,
  }));

/**
 * The partitions that coreos-installer is to keep, as they are before the first write.
 * @throws AgentError `image.writer-config`, `disk.keep-refused`, `command.*`
 */
export async function findKept(
  scope: StepScope<'host'>,
  target: DiskIdentity,
  disk: BlockDevice,
): Promise<Pick<TargetDisk, 'kept'>> {
  const { saved } = await readWriterSetup(scope);
  if (saved.length === 0) return {};
  if (target.name.startsWith('dasd'))
    throw isRefused(target.path, 'no partition of a DASD is kept');
  const table = await runSfdisk(scope.host, target, scope.signal);
  if (table.label === 'dos' && saved.some(({ option }) => option === 'save-partindex'))
    throw isRefused(target.path, 'it has an MBR, of which no number is kept');
  return { kept: withContents(savedAmong(saved, partitionsIn(table, target)), disk) };
}

/** Partitions of a disk, with what the host finds in them. */
export const withContents = (
  partitions: readonly KeptPartition[],
  disk: BlockDevice,
): readonly KeptPartition[] =>
  partitions.map((one) => {
    const found = partitionsOf(disk).find(({ partUuid }) => partUuid === one.partUuid);
    return { ...one, content: found?.fsType ?? '', contentLabel: found?.label ?? '' };
  });

const isRefused = (path: string, why: string): AgentError =>
  diskFailure('disk.keep-refused', `${path}: ${why}`, { context: { path } });

/**
 * Entries of the table that coreos-installer writes, and their bytes (gptman 1.1,
 * `GPTHeader::new_from`).
 */
const entries = 128;
const entriesBytes = entries * 128;

/**
 * Refuses partitions that coreos-installer would not keep: it finds out once additional disks are
 * formatted, of a number above 128 even once the image is written (0.26, `src/blockdev.rs`; gptman
 * 1.1, `check_partition_guids`, `check_partition_boundaries`).
 * @throws AgentError `disk.keep-refused`
 */
export function requireKeepable({
  path,
  sizeBytes,
  sectorBytes,
  kept = [],
}: Pick<TargetDisk, 'path' | 'sizeBytes' | 'sectorBytes' | 'kept'>): void {
  const last = numbered(kept).at(-1)?.numbers.at(-1) ?? 0;
  if (last > entries)
    throw isRefused(path, `its last kept partition would have number ${last}, above ${entries}`);
  const endBytes = sizeBytes - (sizeBytes % sectorBytes) - entriesBytes - sectorBytes;
  const inOrder = kept.toSorted((one, other) => one.startBytes - other.startBytes);
  for (const [index, { number, partUuid, startBytes, sizeBytes: bytes }] of inOrder.entries()) {
    const nextBytes = inOrder[index + 1]?.startBytes ?? endBytes;
    if (bytes <= 0 || startBytes + bytes > nextBytes)
      throw isRefused(path, `kept partition ${number} reaches over another or over its disk`);
    const twin = kept.find((one) => one.number !== number && one.partUuid === partUuid);
    if (twin !== undefined)
      throw isRefused(path, `kept partitions ${number} and ${twin.number} have one GUID`);
  }
}

const gibibyte = 1024 ** 3;

/** Every CoreOS image ends behind it; its first three partitions alone have half of it. */
const shortestImageBytes = gibibyte;
/**
 * CoreOS warns of a smaller root file system at login (fedora-coreos-config,
 * `coreos-check-rootfs-size`).
 */
const smallRootBytes = 8 * gibibyte;

/**
 * Decides whether there is room for an operating system before the partitions that are kept;
 * undefined where none is.
 * @throws AgentError `disk.keep-collides`
 */
export function roomBefore({
  path,
  kept = [],
}: Pick<TargetDisk, 'path' | 'kept'>):
  { readonly level: 'info' | 'warn'; readonly says: string } | undefined {
  const [first] = kept.toSorted((one, other) => one.startBytes - other.startBytes);
  if (first === undefined) return undefined;
  const names = kept.map(({ number, label }) => `${number} ${JSON.stringify(label)}`).join(', ');
  const room = `${(first.startBytes / gibibyte).toFixed(1)} GiB`;
  if (first.startBytes < shortestImageBytes) {
    throw diskFailure(
      'disk.keep-collides',
      `${path}: partition ${first.number} ${JSON.stringify(first.label)} begins at ${room}, where the operating system is written`,
      { context: { disk: path, partition: first.number, label: first.label } },
    );
  }
  return {
    level: first.startBytes < smallRootBytes ? 'warn' : 'info',
    says: `${path} keeps partition ${names}; the operating system has the ${room} before, and its root file system grows up to there at the first boot`,
  };
}

/** Labels of the partitions that CoreOS images have (coreos-assembler, `create_disk.sh`). */
const imageLabels: ReadonlySet<string> = new Set([
  ...['BIOS-BOOT', 'EFI-SYSTEM', 'PowerPC-PReP-boot', 'reserved', 'se', 'boot', 'root'],
]);

/** What coreos-installer is about to be told. */
interface Keeping {
  readonly disk: Pick<TargetDisk, 'path' | 'kept'>;
  /** Its further arguments. */
  readonly args: readonly string[];
  /** What its configuration files keep. */
  readonly savedByFiles: readonly WriterUse[];
}

/**
 * The arguments by which coreos-installer keeps exactly the partitions that were to be kept when
 * the disk was found: those that are given, or the present numbers where these would choose others
 * since an earlier write.
 * @param table what is on the disk now, with its contents: Ignition was checked against those
 * @throws AgentError `disk.keep-changed`
 */
export function argsToKeep(
  { disk, args, savedByFiles }: Keeping,
  table: readonly KeptPartition[],
): readonly string[] {
  const { path, kept = [] } = disk;
  const changed = kept.find((one) => !table.some((now) => isSame(now, one)));
  if (changed !== undefined)
    throw hasChanged(path, changed, 'is gone, has moved or holds something else');
  const others = (saved: readonly WriterUse[]): readonly KeptPartition[] =>
    savedAmong(saved, table).filter((now) => !kept.some((one) => isSame(now, one)));
  const given = [...savedByFiles, ...usesIn(args)];
  const added = others(given);
  const unknown = added.find(({ label }) => !imageLabels.has(label));
  if (unknown !== undefined)
    throw hasChanged(path, unknown, 'was not there when the disk was found');
  const isWhole = savedAmong(given, table).length === kept.length + added.length;
  if (added.length === 0 && isWhole) return args;
  const [first] = others(savedByFiles);
  if (first !== undefined) {
    throw hasChanged(path, first, 'is of the image, and a configuration file would keep it');
  }
  const numbers = table.filter((now) => kept.some((one) => isSame(now, one)));
  return [
    ...withoutSaving(args),
    ...(numbers.length === 0
      ? []
      : ['--save-partindex', numbers.map(({ number }) => number).join()]),
  ];
}

const isSame = (now: KeptPartition, one: KeptPartition): boolean =>
  now.partUuid === one.partUuid &&
  now.startBytes === one.startBytes &&
  now.sizeBytes === one.sizeBytes &&
  // Nothing is known of it while udev reads it again, after an earlier write.
  (now.content === '' || (now.content === one.content && now.contentLabel === one.contentLabel));

const hasChanged = (path: string, { number, label }: KeptPartition, what: string): AgentError =>
  diskFailure(
    'disk.keep-changed',
    `${path}: partition ${number} ${JSON.stringify(label)} ${what}`,
    { context: { disk: path, partition: number, label } },
  );

/** The disk that the system has started from, by the name that CoreOS gives it for Ignition. */
const bootDisk = '/dev/disk/by-id/coreos-boot-disk';

/** What a config has of a device that takes data of it, or stops at it. */
interface Wipe {
  readonly device: string;
  readonly isOfDisk: boolean;
  readonly what: string;
}

/**
 * A partition that is kept, by its number before the write and by that behind the partitions of the
 * image.
 */
interface Numbered extends KeptPartition {
  readonly numbers: readonly number[];
}

/**
 * Every image of CoreOS for a disk with a GPT has as many partitions (coreos-assembler,
 * `create_disk.sh`).
 */
const imagePartitions = 4;

/**
 * A number that the image has too becomes the next one behind it, and those after it move on
 * (coreos-installer 0.26, `src/blockdev.rs`, `merge`).
 */
function numbered(kept: readonly KeptPartition[]): readonly Numbered[] {
  let last = imagePartitions;
  return kept
    .toSorted((one, other) => one.number - other.number)
    .map((one) => {
      last = Math.max(last + 1, one.number);
      return { ...one, numbers: [one.number, last] };
    });
}

type Partition = NonNullable<NonNullable<Storage['disks']>[number]['partitions']>[number];

/** The storage of a config, and of those inside it; what it fetches is not known. */
function storagesIn(ignition: string | Uint8Array): readonly Storage[] {
  const { storage = {}, ignition: section } = parseConfig(ignition).config;
  const { merge = [], replace } = section.config ?? {};
  const inside = [...merge, ...(replace === undefined ? [] : [replace])].filter(({ source = '' }) =>
    isDataUrl(source),
  );
  return [storage, ...inside.flatMap((one) => storagesIn(decodeResource(one)))];
}

/** What takes data, of whichever disk; Ignition creates a RAID over whatever its devices hold. */
function wipesIn(storage: Storage, kept: readonly Numbered[]): readonly Wipe[] {
  const { disks = [], filesystems = [], luks = [], raid = [] } = storage;
  const ofDisk = (device: string, what: string): Wipe => ({ device, isOfDisk: true, what });
  const ofPart = (device: string, what: string): Wipe => ({ device, isOfDisk: false, what });
  return [
    ...disks
      .filter(({ wipeTable }) => wipeTable === true)
      .map(({ device }) => ofDisk(device, `wipeTable of ${device}`)),
    ...disks.flatMap(({ device, partitions = [] }) =>
      partitions
        .filter(({ wipePartitionEntry }) => wipePartitionEntry === true)
        .filter((one) => kept.some((k) => k.numbers.includes(one.number) || k.label === one.label))
        .map(({ number, label = number }) =>
          ofDisk(device, `wipePartitionEntry of ${JSON.stringify(label)} on ${device}`),
        ),
    ),
    ...filesystems
      .filter(({ wipeFilesystem }) => wipeFilesystem === true)
      .map(({ device }) => ofPart(device, `wipeFilesystem of ${device}`)),
    ...luks
      .filter(({ wipeVolume }) => wipeVolume === true)
      .map(({ device = '' }) => ofPart(device, `wipeVolume of ${device}`)),
    ...raid.flatMap(({ name, devices = [] }) =>
      devices.map((device) => ofPart(device, `RAID ${JSON.stringify(name)} of ${device}`)),
    ),
  ];
}

const mebibyte = 1024 ** 2;

/**
 * In what a partition of Ignition is not the kept one of its number, or is over a kept one, so that
 * the first boot stops (Ignition 2.24, `partitionMatches`); start and size 0 are what is free then.
 */
function mismatchOf(partition: Partition, kept: readonly Numbered[]): string | undefined {
  const { number, label, guid, typeGuid, shouldExist, resize, startMiB, sizeMiB } = partition;
  const own = kept.find(({ numbers }) => numbers.at(-1) === number);
  if (own === undefined) {
    const other = kept.find(
      (one) => (label !== '' && one.label === label) || isOver(partition, one),
    );
    return other && `number ${other.numbers.at(-1)}`;
  }
  const [start, size] = [own.startBytes / mebibyte, own.sizeBytes / mebibyte];
  const differs = (asked: unknown, is: unknown): boolean => Boolean(asked) && asked !== is;
  const differences: readonly (readonly [boolean, string])[] = [
    [shouldExist === false, 'shouldExist true'],
    [label !== undefined && label !== own.label, `label ${JSON.stringify(own.label)}`],
    [differs(startMiB, start), `startMiB ${start}`],
    [differs(sizeMiB, size) && !(resize === true && Number(sizeMiB) > size), `sizeMiB ${size}`],
    [differs(guid?.toLowerCase(), own.partUuid), `guid ${own.partUuid}`],
    [
      own.typeGuid !== '' && differs(typeGuid?.toLowerCase(), own.typeGuid),
      `typeGuid ${own.typeGuid}`,
    ],
  ];
  return differences.find(([is]) => is)?.[1];
}

const isOver = ({ startMiB = 0, sizeMiB = 0 }: Partition, one: KeptPartition): boolean =>
  startMiB > 0 &&
  startMiB * mebibyte < one.startBytes + one.sizeBytes &&
  (startMiB + Math.max(sizeMiB, 1)) * mebibyte > one.startBytes;

/** Partitions of Ignition that neither are those that are kept nor can be made beside them. */
const mismatchesIn = ({ disks = [] }: Storage, kept: readonly Numbered[]): readonly Wipe[] =>
  disks.flatMap(({ device, partitions = [] }) =>
    partitions.flatMap((one) => {
      const mismatch = mismatchOf(one, kept);
      const name = one.label === undefined ? '' : ` ${JSON.stringify(one.label)}`;
      const what = `partition ${one.number}${name}: ${mismatch} of the kept one`;
      return mismatch === undefined ? [] : [{ device, isOfDisk: true, what }];
    }),
  );

type Luks = NonNullable<Storage['luks']>[number];

/**
 * Why Ignition would neither make a file system on a kept partition nor leave what it holds
 * (Ignition 2.24, `createFilesystem`).
 */
function filesystemMismatch(
  { format, label, wipeFilesystem }: Filesystem,
  { content, contentLabel }: KeptPartition,
): string | undefined {
  if (content === '' || format === undefined || wipeFilesystem === true) return undefined;
  if (format !== content) return `format ${content}`;
  return labelMismatch(label, contentLabel);
}

/**
 * The same of an encrypted volume (`createLuks`, `reuseLuksDevice`): it is opened again by a key
 * that the config has, never by clevis.
 */
function luksMismatch(
  { clevis = {}, keyFile, label, wipeVolume }: Luks,
  { content, contentLabel }: KeptPartition,
): string | undefined {
  if (content === '' || wipeVolume === true) return undefined;
  if (content !== 'crypto_LUKS') return `content ${content}`;
  if (isBound(clevis) || !keyFile?.source)
    return 'content LUKS, which needs its keyFile and no clevis,';
  return labelMismatch(label, contentLabel);
}

const labelMismatch = (asked: string | undefined, is: string): string | undefined =>
  asked === undefined || asked === is ? undefined : `label ${JSON.stringify(is)}`;

const isBound = ({ custom, tang = [], threshold = 0, tpm2 }: NonNullable<Luks['clevis']>) =>
  tpm2 === true || tang.length > 0 || threshold > 0 || Boolean(custom?.pin);

/**
 * File systems and encrypted volumes of a config, each with what Ignition stops at where its
 * partition is kept.
 */
const contentsIn = ({ filesystems = [], luks = [] }: Storage) => [
  ...filesystems.map((one) => ({
    device: one.device,
    mismatch: (kept: KeptPartition) => filesystemMismatch(one, kept),
    what: `filesystem of ${one.device}`,
  })),
  ...luks.map((one) => ({
    device: one.device ?? '',
    mismatch: (kept: KeptPartition) => luksMismatch(one, kept),
    what: `luks ${JSON.stringify(one.name)} of ${one.device}`,
  })),
];

const linksOf = ({ label, partUuid }: KeptPartition): readonly string[] => [
  `/dev/disk/by-partlabel/${label}`,
  `/dev/disk/by-partuuid/${partUuid}`,
];

/**
 * Refuses Ignition by which the first boot would take the data of a partition that is kept, or stop
 * at one: it runs at the first boot after each installation. What it fetches then is not known
 * here.
 * @param ignition the config that coreos-installer puts on the disk
 * @throws AgentError `disk.keep-wiped`, `disk.keep-mismatch`, `ignition.*` for a config inside it
 * that cannot be read
 */
export async function refuseWipes(
  { host, signal }: Pick<StepScope<'host'>, 'host' | 'signal'>,
  { path, asked, byId, kept: found = [] }: TargetDisk,
  ignition: string | Uint8Array,
): Promise<void> {
  const kept = numbered(found);
  const separator = /\d$/.test(path) ? 'p' : '';
  const ofDisk = [path, asked, ...byId, bootDisk];
  const nodeOf = (number: number | undefined): string => `${path}${separator}${number}`;
  const ofKept = kept.flatMap((one) => [...one.numbers.map(nodeOf), ...linksOf(one)]);
  const isOneOf = async (names: readonly string[], device: string): Promise<boolean> =>
    names.includes(device) || names.includes((await host.realPath(device, signal)) ?? '');
  // A partition that has its number only after the write has no link yet.
  const laterName = async (device: string): Promise<string> => {
    const [, disk = device, number] = /^(.+)-part(\d+)$/.exec(device) ?? [];
    const isOfTarget = number !== undefined && (await isOneOf(ofDisk, disk));
    return isOfTarget ? nodeOf(Number(number)) : device;
  };
  // At the first boot a number is the later one; what a link leads to now has the earlier one.
  const keptAt = async (device: string): Promise<Numbered | undefined> => {
    const [later, now] = [await laterName(device), await host.realPath(device, signal)];
    return kept.find(
      (one) =>
        [nodeOf(one.numbers.at(-1)), ...linksOf(one)].includes(later) ||
        (now !== later && now === nodeOf(one.number)),
    );
  };
  const ofTarget = async (all: readonly Wipe[]): Promise<string> => {
    const found: string[] = [];
    for (const { device, isOfDisk, what } of all) {
      const names = isOfDisk ? ofDisk : ofKept;
      if ((await isOneOf(names, device)) || names.includes(await laterName(device)))
        found.push(what);
    }
    return found.join('; ');
  };
  const storages = storagesIn(ignition);
  const context = { context: { disk: path } };
  const losses = await ofTarget(storages.flatMap((one) => wipesIn(one, kept)));
  if (losses !== '')
    throw diskFailure(
      'disk.keep-wiped',
      `${path} keeps partitions that the first boot would lose by the Ignition of this host: ${losses}`,
      context,
    );
  const misfits = [await ofTarget(storages.flatMap((one) => mismatchesIn(one, kept)))];
  for (const { device, mismatch, what } of storages.flatMap(contentsIn)) {
    const one = await keptAt(device);
    const is = one && mismatch(one);
    if (is !== undefined) misfits.push(`${what}: ${is} of the kept one`);
  }
  const mismatches = misfits.filter(Boolean).join('; ');
  if (mismatches !== '')
    throw diskFailure(
      'disk.keep-mismatch',
      `${path} keeps partitions at which the first boot would stop by the Ignition of this host: ${mismatches}`,
      context,
    );
}
