// The partitions that coreos-installer keeps. It is told labels and numbers, and numbers what it
// keeps again behind the partitions of its image; so what a number meant before the first write may
// be the image's own partition afterwards.
import * as z from 'zod';
import { parseConfig } from '../../ignition/parse.ts';
import { decodeResource, isDataUrl } from '../../ignition/resource.ts';
import type { Storage } from '../../ignition/types.ts';
import { jsonIn } from '../../lib/json.ts';
import type { WriterUse } from '../../lib/writer-args.ts';
import { seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Host } from '../../ports/host.ts';
import { unreadableOutput } from '../host-commands.ts';
import type { StepScope } from '../step.ts';
import { diskFailure } from './failures.ts';
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
 * The partitions in the GPT of a disk; none where it has none, as
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
    throw diskFailure(
      'disk.keep-refused',
      `${path}: its GPT cannot be read, or is one for sectors of another size`,
      { context: { path } },
    );
  return table;
}

const partitionsIn = (
  { label, partitions }: SfdiskTable,
  { sectorBytes }: WithTable,
): readonly KeptPartition[] =>
  (label === 'gpt' ? partitions : []).map(({ node, start, size, uuid, name }) => ({
    number: Number(/(?<!\d)\d+$/.exec(node)?.[0]),
    label: name,
    partUuid: uuid.toLowerCase(),
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
): Promise<Pick<TargetDisk, 'kept'>> {
  const { saved } = await readWriterSetup(scope);
  if (saved.length === 0) return {};
  return { kept: savedAmong(saved, await readTable(scope.host, target, scope.signal)) };
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
 * @param table what is on the disk now
 * @throws AgentError `disk.keep-changed`
 */
export function argsToKeep(
  { disk, args, savedByFiles }: Keeping,
  table: readonly KeptPartition[],
): readonly string[] {
  const { path, kept = [] } = disk;
  const changed = kept.find((one) => !table.some((now) => isSame(now, one)));
  if (changed !== undefined) throw hasChanged(path, changed, 'is gone or has moved');
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
  now.sizeBytes === one.sizeBytes;

const hasChanged = (path: string, { number, label }: KeptPartition, what: string): AgentError =>
  diskFailure(
    'disk.keep-changed',
    `${path}: partition ${number} ${JSON.stringify(label)} ${what}`,
    { context: { disk: path, partition: number, label } },
  );

/** The disk that the system has started from, by the name that CoreOS gives it for Ignition. */
const bootDisk = '/dev/disk/by-id/coreos-boot-disk';

/** The storage of a config, and of those inside it; what it fetches is not known. */
function storagesIn(ignition: string | Uint8Array): readonly Storage[] {
  const { storage = {}, ignition: section } = parseConfig(ignition);
  const { merge = [], replace } = section.config ?? {};
  const inside = [...merge, ...(replace === undefined ? [] : [replace])].filter(({ source = '' }) =>
    isDataUrl(source),
  );
  return [storage, ...inside.flatMap((one) => storagesIn(decodeResource(one)))];
}

/** What a config takes data of, or creates again. */
interface Wipe {
  readonly device: string;
  readonly isOfDisk: boolean;
  readonly what: string;
}

/** What takes data, of whichever disk; Ignition creates a RAID over whatever its devices hold. */
function wipesIn({ disks = [], filesystems = [], luks = [], raid = [] }: Storage): readonly Wipe[] {
  const ofDisk = (device: string, what: string): Wipe => ({ device, isOfDisk: true, what });
  const ofPart = (device: string, what: string): Wipe => ({ device, isOfDisk: false, what });
  return [
    ...disks
      .filter(({ wipeTable }) => wipeTable === true)
      .map(({ device }) => ofDisk(device, `wipeTable of ${device}`)),
    ...disks.flatMap(({ device, partitions = [] }) =>
      partitions
        .filter(({ wipePartitionEntry }) => wipePartitionEntry === true)
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

/** The name of a disk in that of one of its partitions by number. */
const diskIn = (device: string): string | undefined =>
  /^(?:(.+)-part\d+|(.+\d)p\d+|(.+\D)\d+)$/.exec(device)?.slice(1).find(Boolean);

/**
 * Refuses Ignition by which the first boot would take the data of a partition that is kept: it runs
 * at the first boot after each installation. Numbers of partitions change by the write, so that
 * what it takes of the disk by number counts too. What it fetches then is not known here.
 * @param ignition the config that coreos-installer puts on the disk
 * @throws AgentError `disk.keep-wiped`, `ignition.*` for a config inside it that cannot be read
 */
export async function refuseWipes(
  { host, signal }: Pick<StepScope<'host'>, 'host' | 'signal'>,
  { path, asked, byId, kept = [] }: TargetDisk,
  ignition: string | Uint8Array,
): Promise<void> {
  if (kept.length === 0) return;
  const realPath = async (device: string): Promise<string> =>
    (await host.realPath(device, signal)) ?? device;
  const isDisk = async (device = ''): Promise<boolean> =>
    [path, asked, ...byId, bootDisk].includes(device) || (await realPath(device)) === path;
  const names = kept.flatMap(({ number, label, partUuid }) => [
    `${path}${/\d$/.test(path) ? 'p' : ''}${number}`,
    `/dev/disk/by-partlabel/${label}`,
    `/dev/disk/by-partuuid/${partUuid}`,
  ]);
  const isKept = async (device: string): Promise<boolean> =>
    names.includes(device) ||
    names.includes(await realPath(device)) ||
    (await isDisk(diskIn(device)));
  const losses: string[] = [];
  for (const { device, isOfDisk, what } of storagesIn(ignition).flatMap(wipesIn)) {
    if (await (isOfDisk ? isDisk(device) : isKept(device))) losses.push(what);
  }
  if (losses.length === 0) return;
  throw diskFailure(
    'disk.keep-wiped',
    `${path} keeps partitions that the first boot would lose by the Ignition of this host: ${losses.join('; ')}`,
    { context: { disk: path } },
  );
}
