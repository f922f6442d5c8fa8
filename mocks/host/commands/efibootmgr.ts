import { type Call, fail, type Program, type Programs, sortWords, type Words } from '../call.ts';
import { type BootEntry, type Firmware, freeNumber } from '../firmware.ts';
import type { Machine } from '../machine.ts';

const withValue = [
  ...['-d', '--disk', '-p', '--part', '-L', '--label', '-l', '--loader'],
  ...['-b', '--bootnum', '-o', '--bootorder', '-n', '--bootnext'],
];

const efibootmgr: Program = (machine, call) => {
  const { firmware } = machine;
  if (firmware.kind === 'bios') {
    return fail(call, 'EFI variables are not supported on this system.', 2);
  }
  const words = sortWords(call.argv.slice(1), withValue);
  if (words.has('-c', '--create')) {
    const problem = create(machine, call, words);
    if (problem !== undefined) return fail(call, problem, 5);
  }
  if (words.has('-B', '--delete-bootnum')) {
    const problem = remove(firmware, words.all('-b', '--bootnum')[0] ?? '');
    if (problem !== undefined) return fail(call, problem, 15);
  }
  const [order] = words.all('-o', '--bootorder');
  if (order !== undefined) firmware.order = order.toUpperCase().split(',');
  if (!words.has('-q', '--quiet')) list(firmware, call, words.has('-v', '--verbose'));
  return 0;
};

function create({ firmware, devices }: Machine, call: Call, words: Words): string | undefined {
  const [disk = '/dev/sda'] = words.all('-d', '--disk');
  const [part = '1'] = words.all('-p', '--part');
  const [label = 'Linux'] = words.all('-L', '--label');
  const device = devices.byPath(disk);
  const partition =
    device && devices.childrenOf(device).find(({ entry }) => entry?.number === Number(part));
  if (partition?.entry === undefined) {
    return `Could not prepare Boot variable: No such file or directory`;
  }
  for (const { number } of firmware.entries.filter((one) => one.label === label)) {
    call.err(`efibootmgr: ** Warning ** : Boot${number} has same label ${label}\n`);
  }
  const number = freeNumber(firmware);
  const loader = words.all('-l', '--loader')[0] ?? '\\EFI\\redhat\\grub.efi';
  const { uuid } = partition.entry;
  const entry: BootEntry = { number, label, loader, partition: { uuid, number: Number(part) } };
  firmware.entries = [...firmware.entries, entry];
  firmware.order = [number, ...firmware.order];
  return undefined;
}

function remove(firmware: Firmware, number: string): string | undefined {
  if (!firmware.entries.some((entry) => entry.number === number.toUpperCase())) {
    return `Could not delete variable: No such file or directory`;
  }
  firmware.entries = firmware.entries.filter((entry) => entry.number !== number.toUpperCase());
  firmware.order = firmware.order.filter((one) => one !== number.toUpperCase());
  return undefined;
}

function list({ entries, order, current }: Firmware, call: Call, isVerbose: boolean): void {
  call.out(`BootCurrent: ${current}\nTimeout: 0 seconds\nBootOrder: ${order.join(',')}\n`);
  for (const entry of entries) {
    call.out(`Boot${entry.number}* ${entry.label}${isVerbose ? `\t${pathText(entry)}` : ''}\n`);
  }
}

const pathText = ({ partition, loader }: BootEntry): string =>
  partition === undefined
    ? 'PciRoot(0x0)/Pci(0x1f,0x2)/Sata(1,65535,0)'
    : `HD(${partition.number},GPT,${partition.uuid},0x1000,0x3f800)/File(${loader ?? ''})`;

/** bootlist of Power, which accepts every device. */
const bootlist: Program = () => 0;

/** The programs that read and write the boot entries of the firmware. */
export const firmwarePrograms: Programs = { bootlist, efibootmgr };
