import { fail, type Program, type Programs } from '../call.ts';
import { showMount } from '../partition-files.ts';
import { stat } from '../prompt-files.ts';
import { sortWords } from './words.ts';

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
