/** A boot entry of UEFI firmware. */
export interface BootEntry {
  /** Four hexadecimal digits, upper case. */
  readonly number: string;
  readonly label: string;
  /** GPT GUID of the partition in the entry; undefined for a removable medium. */
  readonly partition?: { readonly uuid: string; readonly number: number };
  /** `\EFI\redhat\shimx64.efi`. */
  readonly loader?: string;
}

/** The firmware of a simulated host. */
export interface Firmware {
  readonly kind: 'uefi' | 'bios';
  entries: readonly BootEntry[];
  /** Numbers of entries in boot order. */
  order: readonly string[];
  /** The entry that started the running system. */
  readonly current: string;
}

/** Number of the entry that starts the live medium. */
const LIVE_ENTRY = '0001';

/** Firmware of a machine that was started from its virtual CD. */
export const firmwareOf = (kind: Firmware['kind']): Firmware => ({
  kind,
  entries: [{ number: LIVE_ENTRY, label: 'UEFI: Virtual CD' }],
  order: [LIVE_ENTRY],
  current: LIVE_ENTRY,
});

/** The lowest free number of an entry. */
export function freeNumber({ entries }: Firmware): string {
  for (let number = 0; ; number += 1) {
    const word = number.toString(16).toUpperCase().padStart(4, '0');
    if (!entries.some((entry) => entry.number === word)) return word;
  }
}
