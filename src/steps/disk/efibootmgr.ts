/** The label that OpenShift nodes have in the boot menu of the firmware. */
export const bootLabel = 'Red Hat Enterprise Linux';

/** One entry of the firmware. */
export interface BootEntry {
  /** Four hexadecimal digits. */
  readonly number: string;
  readonly label: string;
  /** Device path as efibootmgr prints it. */
  readonly path: string;
  /** GPT GUID of the partition it starts from, lower case; empty for what is no disk. */
  readonly partUuid: string;
}

/** What efibootmgr tells of the firmware. */
export interface BootMenu {
  readonly order: readonly string[];
  readonly entries: readonly BootEntry[];
}

/** The loader that an entry shall start. */
export interface Loader {
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

/** Reads the output of `readMenuArgv`, of efibootmgr 16 to 18. */
export function parseMenu(stdout: string): BootMenu {
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
