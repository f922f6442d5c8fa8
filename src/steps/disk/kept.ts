// The partitions that coreos-installer keeps. It accepts labels and numbers, and assigns a new
// number to each kept partition, so that after the first write a number may belong to a partition
// of the image. Therefore Bootwright finds the partitions once, by GUID and position, and passes
// their current numbers at each write.
import * as z from 'zod';
import { parseConfig } from '../../ignition/parse.ts';
import { decodeResource, isDataUrl } from '../../ignition/resource.ts';
import type { Storage } from '../../ignition/types.ts';
import { jsonIn } from '../../lib/json.ts';
import { minutes } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { WriterUse } from '../../settings/writer-args.ts';
import type { Host } from '../../ports/host.ts';
import { unreadableOutput } from '../host-commands.ts';
import type { HostScope } from '../step.ts';
import { diskFailure } from './failures.ts';
import type { KeptPartition, TargetDisk } from './facts.ts';

/** Prints the partition table on the disk; the kernel may not know it if a writer was killed. */
export const tableArgv = (path: string): readonly string[] => ['sfdisk', '--json', path];

const SfdiskOutput = z.object({
  partitiontable: z.object({
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
  }),
});

/**
 * sfdisk shows a GPT that it cannot read as the one partition of its protective MBR (UEFI
 * specification, 5.2.3).
 */
const protectiveType = 'ee';

/**
 * The partitions in the GPT of a disk; empty without a GPT, as coreos-installer keeps no others
 * (0.26, `src/blockdev.rs`).
 * @throws AgentError `disk.keep-refused`, `command.*`
 */
export async function readTable(
  host: Host,
  { path, sectorBytes }: Pick<TargetDisk, 'path' | 'sectorBytes'>,
  signal: AbortSignal,
): Promise<readonly KeptPartition[]> {
  const options = { signal, limit: minutes(2), accept: [0, 1] };
  const { stdout, stderr } = await host.exec(tableArgv(path), options);
  if (stderr.includes('does not contain a recognized partition table')) return [];
  const table = SfdiskOutput.safeParse(jsonIn(stdout)).data?.partitiontable;
  if (table === undefined) throw unreadableOutput('sfdisk', 'partition table', stdout || stderr);
  if (table.partitions.some(({ type }) => type === protectiveType)) {
    const what = `${path}: its GPT cannot be read, or is one for sectors of another size`;
    throw diskFailure('disk.keep-refused', what, { context: { path } });
  }
  if (table.label !== 'gpt') return [];
  return table.partitions.map(({ node, start, size, uuid, name }) => ({
    number: Number(/(?<!\d)\d+$/.exec(node)?.[0]),
    label: name,
    partUuid: uuid.toLowerCase(),
    startBytes: start * sectorBytes,
    sizeBytes: size * sectorBytes,
  }));
}

/**
 * Finds the partitions to keep by the options `save-partlabel` and `save-partindex`, and each label
 * and number without a match: coreos-installer then keeps nothing for it.
 */
export function findSaved(saved: readonly WriterUse[], table: readonly KeptPartition[]) {
  const wanted = saved.flatMap(({ option, value }) =>
    value.split(',').map((entry) => {
      const fits = option === 'save-partlabel' ? fitsLabel(entry) : fitsRange(entry);
      return { name: `--${option} ${entry}`, partitions: table.filter(fits) };
    }),
  );
  return {
    kept: table.filter((one) => wanted.some(({ partitions }) => partitions.includes(one))),
    missing: wanted.flatMap(({ name, partitions }) => (partitions.length === 0 ? [name] : [])),
  };
}

/** A pattern of labels: `*`, `?`, `[a-z]` and `[!a-z]` (Rust, crate `glob`). */
function fitsLabel(pattern: string): (partition: KeptPartition) => boolean {
  const source = pattern
    .replaceAll(/[\\^$.|+(){}]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, '.*')
    .replaceAll('?', '.')
    .replaceAll('[!', '[^');
  try {
    const glob = new RegExp(`^${source}$`, 's');
    return ({ label }) => glob.test(label);
  } catch {
    // A range such as [z-a], which matches nothing.
    return () => false;
  }
}

/** `5`, `5-7`, `5-` or `-7`. */
function fitsRange(range: string): (partition: KeptPartition) => boolean {
  const [from = '', to = from] = range.split('-');
  return ({ number }) => number >= Number(from) && (to === '' || number <= Number(to));
}

/** Labels of the partitions that CoreOS images have (coreos-assembler, `create_disk.sh`). */
const imageLabels: ReadonlySet<string> = new Set([
  ...['BIOS-BOOT', 'EFI-SYSTEM', 'PowerPC-PReP-boot', 'reserved', 'se', 'boot', 'root'],
]);

/**
 * The arguments with which coreos-installer keeps exactly the partitions that were found at first:
 * their current numbers, instead of the given labels and numbers.
 * @param saved the labels and numbers in arguments and configuration files
 * @param table the current partition table
 * @throws AgentError `disk.keep-changed`
 */
export function argsToKeep(
  { path, kept }: Pick<TargetDisk, 'path' | 'kept'>,
  args: readonly string[],
  saved: readonly WriterUse[],
  table: readonly KeptPartition[],
): readonly string[] {
  if (kept === undefined) return args;
  const changed = ({ number, label }: KeptPartition, how: string): AgentError => {
    const what = `${path}: partition ${number} ${JSON.stringify(label)} ${how}`;
    const context = { disk: path, partition: number, label };
    return diskFailure('disk.keep-changed', what, { context });
  };
  const numbers = kept.map((one) => {
    const now = table.find(({ partUuid }) => partUuid === one.partUuid);
    if (now?.startBytes === one.startBytes && now.sizeBytes === one.sizeBytes) return now.number;
    throw changed(one, 'is gone or has moved');
  });
  // A partition of the image was added by an earlier write; any other may hold data.
  const added = findSaved(saved, table).kept.find(
    ({ label, partUuid }) =>
      !imageLabels.has(label) && !kept.some((one) => one.partUuid === partUuid),
  );
  if (added !== undefined) throw changed(added, 'was not there when the disk was found');
  const others = args.filter(
    (word, at) => !word.startsWith('--save-part') && !/^--save-part\w+$/.test(args[at - 1] ?? ''),
  );
  return numbers.length === 0 ? others : [...others, '--save-partindex', numbers.join()];
}

/** The disk that the system booted from, by the name that CoreOS gives it for Ignition. */
const bootDisk = '/dev/disk/by-id/coreos-boot-disk';

/**
 * The storage sections of a config and of the configs in its data URLs; remote configs are unknown.
 */
function storagesIn(ignition: string | Uint8Array): readonly Storage[] {
  const { storage = {}, ignition: section } = parseConfig(ignition);
  const { merge = [], replace } = section.config ?? {};
  const inside = [...merge, ...(replace === undefined ? [] : [replace])].filter(({ source = '' }) =>
    isDataUrl(source),
  );
  return [storage, ...inside.flatMap((one) => storagesIn(decodeResource(one)))];
}

/** The devices whose data an Ignition config would destroy, and the key of the config. */
const wipesOf = ({ disks = [], filesystems = [], luks = [], raid = [] }: Storage) => [
  ...disks.flatMap(({ device, wipeTable, partitions = [] }) => [
    ...(wipeTable === true ? [{ device, by: 'wipeTable' }] : []),
    ...partitions
      .filter(({ wipePartitionEntry }) => wipePartitionEntry === true)
      .map(({ number, label = number }) => ({
        device,
        by: `wipePartitionEntry of ${JSON.stringify(label)}`,
      })),
  ]),
  ...filesystems
    .filter(({ wipeFilesystem }) => wipeFilesystem === true)
    .map(({ device }) => ({ device, by: 'wipeFilesystem' })),
  ...luks
    .filter(({ wipeVolume }) => wipeVolume === true)
    .map(({ device }) => ({ device, by: 'wipeVolume' })),
  // Ignition creates a RAID over any content of its devices.
  ...raid.flatMap(({ name, devices = [] }) =>
    devices.map((device) => ({ device, by: `RAID ${JSON.stringify(name)}` })),
  ),
];

/**
 * Refuses an Ignition config whose first boot would destroy the data of a kept partition: it runs
 * at the first boot after each installation. Remote configs are not known here.
 * @param ignition the config that coreos-installer puts on the disk
 * @throws AgentError `disk.keep-wiped`, `ignition.*` for an embedded config that cannot be read
 */
export async function refuseWipes(
  { host, signal }: HostScope,
  { path, asked, byId, kept = [] }: TargetDisk,
  ignition: string | Uint8Array,
): Promise<void> {
  if (kept.length === 0) return;
  const names = [path, asked, ...byId];
  const keptNames = kept.flatMap(({ number, label, partUuid }) => [
    ...names.map((name) => `${name}${partitionSuffix(name)}${number}`),
    `/dev/disk/by-partlabel/${label}`,
    `/dev/disk/by-partuuid/${partUuid}`,
  ]);
  const keptData = new Set([...names, bootDisk, ...keptNames]);
  // A partition of a multipath device has a number of its own, /dev/dm-5.
  for (const { partUuid } of kept)
    keptData.add((await host.realPath(`/dev/disk/by-partuuid/${partUuid}`, signal)) ?? path);
  const losses: string[] = [];
  for (const { device = '', by } of storagesIn(ignition).flatMap(wipesOf)) {
    const real = (await host.realPath(device, signal)) ?? device;
    if (keptData.has(device) || keptData.has(real)) losses.push(`${by} on ${device}`);
  }
  if (losses.length === 0) return;
  throw diskFailure(
    'disk.keep-wiped',
    `${path} keeps partitions that the first boot would lose by the Ignition of this host: ${losses.join('; ')}`,
    { context: { disk: path } },
  );
}

/**
 * The text between the name of a disk and the number of its partition: `sda5`, `nvme0n1p5`,
 * `…-part5`.
 */
function partitionSuffix(disk: string): string {
  if (disk.startsWith('/dev/disk/')) return '-part';
  return /\d$/.test(disk) ? 'p' : '';
}
