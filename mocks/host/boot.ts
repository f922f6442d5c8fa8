import type { Machine } from './machine.ts';

/** What a machine comes up with when it is started. */
export type Boot =
  | { readonly kind: 'installed'; readonly disk: string }
  | { readonly kind: 'live'; readonly because: string };

/**
 * Decides what a machine starts: UEFI takes the first entry of its order that leads somewhere, a
 * BIOS the disk. Whatever leads nowhere ends at the live medium.
 */
export function decideBoot({ devices, firmware, installed }: Machine): Boot {
  if (installed === undefined) return { kind: 'live', because: 'no system is installed' };
  const disk = devices.byKname(installed.disk);
  const partitions = disk === undefined ? [] : devices.childrenOf(disk);
  if (!partitions.some(({ content }) => content?.label === 'boot')) {
    return { kind: 'live', because: `${installed.disk} holds nothing that starts` };
  }
  if (firmware.kind === 'bios') return { kind: 'installed', disk: installed.disk };
  const [first] = firmware.order.flatMap(
    (number) => firmware.entries.find((entry) => entry.number === number) ?? [],
  );
  const isOnDisk = partitions.some(({ entry }) => entry?.uuid === first?.partition?.uuid);
  return first?.partition !== undefined && isOnDisk
    ? { kind: 'installed', disk: installed.disk }
    : { kind: 'live', because: `the firmware starts "${first?.label ?? 'nothing'}" first` };
}
