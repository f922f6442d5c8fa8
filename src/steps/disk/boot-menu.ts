import type { Config } from '../../ignition/types.ts';
import { unreadableOutput } from '../host-commands.ts';
import { espType } from './block-devices.ts';

/** Says whether the host was started by UEFI firmware. */
export const hasEfiArgv = ['test', '-d', '/sys/firmware/efi'] as const;

/** The label that OpenShift nodes have in the boot menu of the firmware. */
export const bootLabel = 'Red Hat Enterprise Linux';

/** One entry of the firmware. */
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

/** The loader that an entry shall start. */
interface Loader {
  readonly disk: string;
  /** Number of the EFI system partition. */
  readonly partition: number;
  /** `\EFI\redhat\shimx64.efi` */
  readonly file: string;
}

/** Makes an entry and puts it first in the boot order. */
export const createEntryArgv = ({ disk, partition, file }: Loader): readonly string[] => [
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
 * Entries that earlier installations have left: of our label, but for another partition than the one that was written.
 * None where the host does not know its partitions.
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

/** The EFI system partitions of a config: one on each disk of a mirror (Butane, `boot_device.mirror`). */
export const espsOf = ({ storage }: Config): readonly IgnitionEsp[] =>
  (storage?.disks ?? []).flatMap(({ device, wipeTable, partitions = [] }) =>
    partitions
      .filter(({ typeGuid }) => typeGuid?.toLowerCase() === espType)
      .map(({ label = '', guid = '' }) => {
        return { device, label, guid: guid.toLowerCase(), isWiped: wipeTable === true };
      }),
  );
