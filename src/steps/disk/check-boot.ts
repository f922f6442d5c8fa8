import type { Config } from '../../ignition/types.ts';
import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import { isTrue, unreadableOutput } from '../host-commands.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { missingPartitions, partitionFor, type BlockDevice, espType } from './block-devices.ts';
import { TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import { readTarget } from './target.ts';

/**
 * Checks a last time whether the disk has the partitions that it boots from. A partition that is
 * missing ends the installation; a doubtful boot order and what cannot be checked are warnings.
 */
export const checkBoot = step({
  id: 'disk/check-boot',
  title: 'Check that the install disk will boot',
  uses: ['host'],
  needs: { disk: TargetDisk },
  when: writesDisk,
  limit: minutes(5),
  preview: () => callsOf('efibootmgr', 'lsblk', 'test'),
  run: async (scope, { disk }) => {
    const wrong = await tryOr(scope, () => findWrong(scope, disk));
    if (wrong.length > 0) {
      throw diskFailure('disk.will-not-boot', `${disk.path}: ${wrong.join('; ')}`, {
        context: { disk: disk.path, findings: wrong.length },
      });
    }
  },
});

/** What is found wrong; nothing, with a warning, when it cannot be checked. */
async function tryOr(
  { signal, note }: StepScope<'host'>,
  check: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  try {
    return await check();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code === 'disk.changed') throw error;
    const { code, message } = error;
    note('warn', 'could not check whether the install disk will boot', { code, reason: message });
    return [];
  }
}

async function findWrong(scope: StepScope<'host'>, target: TargetDisk): Promise<readonly string[]> {
  const { host, signal, note } = scope;
  const disk = await readTarget(host, target, signal);
  const isUefi = await isTrue(scope, hasEfiArgv);
  const missing = missingPartitions(disk, { isUefi });
  if (missing.length > 0) return missing;
  if (isUefi) await checkMenu(scope, disk);
  note('info', 'the install disk has the partitions that it boots from');
  return [];
}

/** Firmware that is asked for nothing starts the disk by its fallback path, so this is a doubt. */
async function checkMenu(scope: StepScope<'host'>, disk: BlockDevice): Promise<void> {
  const { host, signal, note } = scope;
  await tryOr(scope, async () => {
    const { stdout } = await host.exec(readMenuArgv, { signal, limit: minutes(1) });
    const doubt = menuDoubt(parseMenu(stdout), partitionFor(disk, 'esp')?.partUuid ?? '');
    if (doubt !== undefined) {
      note('warn', doubt, { hint: 'move the install disk to the top of the firmware boot order' });
    }
    return [];
  });
}

/** Says whether the host was started by UEFI firmware. */
export const hasEfiArgv = ['test', '-d', '/sys/firmware/efi'] as const;

/** The label that OpenShift nodes have in the boot menu of the firmware. */
export const bootLabel = 'Red Hat Enterprise Linux';

interface BootEntry {
  /** Four hexadecimal digits. */
  readonly number: string;
  readonly label: string;
  /** Device path as efibootmgr prints it. */
  readonly path: string;
  /** GPT GUID of the partition it starts from, lower case; empty for what is no disk. */
  readonly partUuid: string;
}

/** What efibootmgr prints of the firmware. */
export interface BootMenu {
  readonly order: readonly string[];
  readonly entries: readonly BootEntry[];
}

/**
 * Makes an entry and puts it first in the boot order.
 * @param partition number of the EFI system partition
 * @param file the loader, `\EFI\redhat\shimx64.efi`
 */
export const createEntryArgv = (
  disk: string,
  partition: number,
  file: string,
): readonly string[] => [
  ...['efibootmgr', '-v', '-d', disk, '-p', String(partition), '-c'],
  ...['-L', bootLabel, '-l', file],
];

/** Removes an entry. */
export const deleteEntryArgv = (number: string, file: string): readonly string[] => [
  ...['efibootmgr', '-v', '--delete-bootnum', '--bootnum', number, '-l', file],
];

/** Prints the boot order for the log, as the Go agent does last. */
export const logOrderArgv = (file: string): readonly string[] => ['efibootmgr', '-l', file];

/** Reads every entry back. */
export const readMenuArgv = ['efibootmgr', '-v'] as const;

/** Sets the boot order. */
export const setOrderArgv = (order: readonly string[]): readonly string[] => [
  ...['efibootmgr', '--bootorder', order.join(',')],
];

/** Numbers of the entries that efibootmgr warns of when it makes one with the same label. */
export const sameLabelNumbers = (output: string): readonly string[] =>
  [...output.matchAll(new RegExp(`Boot([0-9A-Fa-f]{4}) has same label ${bootLabel}`, 'g'))].map(
    ([, number]) => number ?? '',
  );

/**
 * Reads the output of `readMenuArgv`, of efibootmgr 16 to 18.
 * @throws AgentError `command.unreadable`
 */
export function parseMenu(stdout: string): BootMenu {
  // `No BootOrder is set` of one that has none.
  if (stdout.trim() !== '' && !/^(?:Boot|Timeout:|No Boot)/m.test(stdout)) {
    throw unreadableOutput('efibootmgr', 'boot menu', stdout);
  }
  const order = /^BootOrder: *(\S+)/m.exec(stdout)?.[1]?.split(',') ?? [];
  const entries = stdout.split('\n').flatMap((line): readonly BootEntry[] => {
    const [, number, text] = /^Boot([0-9A-F]{4})[* ] ?(.*)$/.exec(line) ?? [];
    if (number === undefined || text === undefined) return [];
    const [label, ...path] = text.split('\t');
    return [entryOf(number, label ?? '', path.join(' '))];
  });
  return { order, entries };
}

const entryOf = (number: string, label: string, path: string): BootEntry => ({
  number,
  label: label.trim(),
  path,
  partUuid: /HD\(\d+,GPT,([0-9a-fA-F-]{36})/.exec(path)?.[1]?.toLowerCase() ?? '',
});

/** What the entries of the firmware are compared with. */
export interface BootWorld {
  /** GUID of the EFI system partition of the install disk; empty when the host does not know it. */
  readonly espUuid: string;
  /** GUIDs of every partition of the host. */
  readonly partUuids: ReadonlySet<string>;
  /** Names of the directories in EFI on the install disk. */
  readonly directories: readonly string[];
}

/** Our entry: the one with the label that starts from the partition that was written. */
export const ownEntry = (
  { entries }: BootMenu,
  { espUuid }: Pick<BootWorld, 'espUuid'>,
): BootEntry | undefined =>
  entries.find(
    ({ label, partUuid }) => label === bootLabel && (espUuid === '' || partUuid === espUuid),
  );

/**
 * Entries that earlier installations have left: of our label, but for another partition than the
 * one that was written. None where the host does not know its partitions.
 */
export const oldEntries = (
  { entries }: BootMenu,
  { espUuid }: Pick<BootWorld, 'espUuid'>,
): readonly BootEntry[] =>
  entries.filter(
    ({ label, partUuid }) => label === bootLabel && espUuid !== '' && partUuid !== espUuid,
  );

/** The boot order with one entry first and the others after it as they were. */
export const orderWithFirst = (order: readonly string[], number: string): readonly string[] => [
  number,
  ...order.filter((other) => other !== number),
];

/**
 * Entries that lead nowhere: their partition is on no disk of the host, or it is the one that was
 * just written and the directory of the loader is no longer on it. Firmware tries them all the
 * same, and some stop there.
 */
export function phantomEntries(
  { entries }: BootMenu,
  { espUuid, partUuids, directories }: BootWorld,
): readonly BootEntry[] {
  // A host that knows no partition GUID cannot know what is missing.
  if (partUuids.size === 0) return [];
  const known = new Set(directories.map((name) => name.toLowerCase()));
  return entries.filter(({ partUuid, path }) => {
    if (partUuid === '') return false;
    if (!partUuids.has(partUuid)) return true;
    const directory = /\\EFI\\([^\\]+)\\/i.exec(path)?.[1]?.toLowerCase();
    return partUuid === espUuid && directory !== undefined && !known.has(directory);
  });
}

/** Why the firmware may start something else; undefined when our entry is the first. */
export function menuDoubt(menu: BootMenu, espUuid: string): string | undefined {
  const own = ownEntry(menu, { espUuid });
  if (own === undefined) return `the firmware has no entry "${bootLabel}" for this disk`;
  const [first] = menu.order;
  if (first === own.number) return undefined;
  return `the firmware boots ${first ?? 'no entry'} before entry ${own.number} of this disk`;
}

/** An EFI system partition that Ignition sees to at the first boot. */
export interface IgnitionEsp {
  readonly device: string;
  readonly label: string;
  /** GPT GUID that it will have, lower case; empty when Ignition leaves it to chance. */
  readonly guid: string;
  /** Its disk loses its table first. */
  readonly isWiped: boolean;
}

/** GPT type of the partition that Power boots from (PReP). */
export const prepType = '9e1a2d38-c612-4316-aa26-8b49521e5a8b';

/**
 * The partitions of a config that firmware boots from: one on each disk of a mirror (Butane,
 * `boot_device.mirror`).
 */
export const espsOf = ({ storage }: Config, type = espType): readonly IgnitionEsp[] =>
  (storage?.disks ?? []).flatMap(({ device, wipeTable, partitions = [] }) =>
    partitions
      .filter(({ typeGuid }) => typeGuid?.toLowerCase() === type)
      .map(({ label = '', guid = '' }) => {
        return { device, label, guid: guid.toLowerCase(), isWiped: wipeTable === true };
      }),
  );
