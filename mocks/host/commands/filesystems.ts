import { writeFile } from 'node:fs/promises';
import { fail, type Program, type Programs, sortWords } from '../call.ts';
import { type Device, type Devices, mountpointsOf } from '../devices.ts';
import { stat } from '../files.ts';
import { showMount } from '../partition-files.ts';

const mount: Program = async (machine, call) => {
  const { devices, files } = machine;
  const words = sortWords(call.argv.slice(1), ['-o', '--options', '-t', '--types']);
  const options = words.all('-o', '--options').join(',');
  const [source = '', target] = words.rest;
  if (options.includes('remount')) return 0;
  const device = devices.byPath(source);
  if (target === undefined || device === undefined) {
    return fail(call, `mount: ${target ?? ''}: special device ${source} does not exist.`, 32);
  }
  const { fstype } = device.content ?? { fstype: '' };
  if (fstype === '' || fstype.endsWith('_member')) {
    return fail(
      call,
      `mount: ${target}: wrong fs type, bad option, bad superblock on ${source}.`,
      32,
    );
  }
  const isThere = await stat(await files.real(target)).catch(() => undefined);
  if (isThere?.isDirectory() !== true) {
    return fail(call, `mount: ${target}: mount point does not exist.`, 32);
  }
  devices.mounts.push({ source, target, fstype, options: options === '' ? 'rw' : options });
  await showMount(machine, target);
  return 0;
};

const umount: Program = async (machine, call) => {
  const { devices } = machine;
  const { rest } = sortWords(call.argv.slice(1));
  for (const target of rest) {
    const at = devices.mounts.findLastIndex(
      (one) => one.target === target || one.source === target,
    );
    if (at === -1) return fail(call, `umount: ${target}: not mounted.`, 32);
    if (devices.mounts.some((one) => one.target.startsWith(`${target}/`))) {
      return fail(call, `umount: ${target}: target is busy.`, 32);
    }
    const [mounted] = devices.mounts.splice(at, 1);
    if (mounted !== undefined) await showMount(machine, mounted.target);
  }
  return 0;
};

/** Nothing on a simulated host stays frozen: thawing finds nothing to do, as the real tool says it. */
const fsfreeze: Program = (_machine, call) =>
  call.argv.includes('--unfreeze') ? fail(call, 'fsfreeze: unfreeze failed: Invalid argument') : 0;

/** Programs that mount and unmount. */
export const mountingPrograms: Programs = { mount, umount, fsfreeze };

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
