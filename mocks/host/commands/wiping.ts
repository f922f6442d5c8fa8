import { writeFile } from 'node:fs/promises';
import type { Device } from '../block/device.ts';
import { type Devices, mountpointsOf } from '../block/devices.ts';
import { fail, type Program, type Programs } from '../call.ts';
import { sortWords } from './words.ts';

const wipefs: Program = ({ devices }, call) => {
  const words = sortWords(call.argv.slice(1), ['--output', '-o', '--types', '-t']);
  const isForced = words.has('--force', '-f');
  for (const path of words.rest) {
    const device = devices.byPath(path);
    if (device === undefined) {
      return fail(
        call,
        `wipefs: error: ${path}: probing initialization failed: No such file or directory`,
      );
    }
    if (!words.has('--all', '-a')) {
      for (const signature of signaturesOf(device)) call.out(`${signature} 0x0\n`);
      continue;
    }
    if (isInUse(devices, device) && !isForced) {
      return fail(
        call,
        `wipefs: error: ${path}: probing initialization failed: Device or resource busy`,
      );
    }
    for (const signature of signaturesOf(device)) {
      call.out(`${path}: 8 bytes were erased at offset 0x00000000 (${signature}): 00\n`);
    }
    wipe(devices, device);
  }
  return 0;
};

const signaturesOf = ({ table, content }: Device): readonly string[] => [
  ...(table === undefined ? [] : [table]),
  ...(content === undefined ? [] : [content.fstype]),
];

/** Whether something stands on a device that a wipe would pull from under it. */
const isInUse = (devices: Devices, device: Device): boolean =>
  [device, ...devices.above(device)].some(
    (one) => mountpointsOf(devices, one).length > 0 || (one !== device && one.type !== 'part'),
  );

/** Takes all signatures from a device; its partitions go unless the kernel still uses them. */
function wipe(devices: Devices, device: Device): void {
  device.content = undefined;
  device.table = undefined;
  if (!isInUse(devices, device)) devices.remove(...devices.childrenOf(device));
}

/** `if=/dev/zero of=DEVICE count=N` overwrites a part of a device; without `if` stdin goes into a file. */
const dd: Program = async ({ devices, files }, call) => {
  const operands = new Map(call.argv.slice(1).map((word) => splitAtEquals(word)));
  const path = operands.get('of') ?? '';
  const device = devices.byPath(path);
  if (!operands.has('if') && device === undefined) {
    await writeFile(await files.real(path), call.stdin);
    return 0;
  }
  if (operands.get('if') !== '/dev/zero' || !operands.has('count')) {
    return fail(call, 'dd: the lab overwrites with a count of zeroes only');
  }
  if (device === undefined) {
    return fail(call, `dd: failed to open '${path}': No such file or directory`);
  }
  const isBeginning = (operands.get('seek') ?? '0') === '0';
  if (isBeginning) wipe(devices, device);
  call.err(
    `${operands.get('count') ?? ''}+0 records in\n${operands.get('count') ?? ''}+0 records out\n`,
  );
  return 0;
};

const splitAtEquals = (word: string): readonly [string, string] => {
  const at = word.indexOf('=');
  return [word.slice(0, at), word.slice(at + 1)];
};

/** Programs that take signatures and tables from disks. */
export const wipingPrograms: Programs = { wipefs, dd };
