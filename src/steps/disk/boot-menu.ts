import { type BootEntry, bootLabel, type BootMenu } from './efibootmgr.ts';

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
  // A host that knows no partition GUID cannot tell what is missing.
  if (partUuids.size === 0) return [];
  const known = new Set(directories.map((name) => name.toLowerCase()));
  return entries.filter(({ partUuid, path }) => {
    if (partUuid === '') return false;
    if (!partUuids.has(partUuid)) return true;
    const directory = /\\EFI\\([^\\]+)\\/i.exec(path)?.[1]?.toLowerCase();
    return partUuid === espUuid && directory !== undefined && !known.has(directory);
  });
}
