import { fail, type Program, type Programs, sortWords } from '../call.ts';
import { type Device, isMapped, mountpointsOf } from '../devices.ts';
import type { Machine } from '../machine.ts';

/** `dmsetup remove NAME`. */
const dmsetup: Program = ({ devices }, call) => {
  const [verb, name = ''] = sortWords(call.argv.slice(1)).rest;
  if (verb !== 'remove') return fail(call, `Unknown command: ${verb ?? ''}`);
  const device = devices
    .all()
    .find((one) => isMapped(one) && (one.name === name || `/dev/mapper/${one.name}` === name));
  if (device === undefined) return fail(call, `Device ${name} not found\nCommand failed.`);
  if (mountpointsOf(devices, device).length > 0) {
    return fail(
      call,
      `device-mapper: remove ioctl on ${name}  failed: Device or resource busy\nCommand failed.`,
    );
  }
  devices.remove(device);
  return 0;
};

const mdadm: Program = (machine, call) => {
  const words = sortWords(call.argv.slice(1), ['--stop', '--zero-superblock']);
  for (const path of words.all('--stop')) {
    const array = machine.devices.byPath(path);
    if (array === undefined)
      return fail(call, `mdadm: error opening ${path}: No such file or directory`);
    if (mountpointsOf(machine.devices, array).length > 0) {
      return fail(
        call,
        `mdadm: Cannot get exclusive access to ${path}: Perhaps a running process, mounted filesystem or active volume group?`,
      );
    }
    machine.devices.remove(array);
    writeSuperblocks(machine, array);
    call.err(`mdadm: stopped ${path}\n`);
  }
  for (const path of words.all('--zero-superblock')) {
    const member = machine.devices.byPath(path);
    if (member?.content?.fstype !== 'linux_raid_member') {
      return fail(call, `mdadm: Unrecognised md component device - ${path}`);
    }
    member.content = member.content.behind;
  }
  return 0;
};

/** When it stops an array, the kernel writes the superblock of each member once more. */
function writeSuperblocks({ devices }: Machine, { parents }: Device): void {
  for (const member of parents.flatMap((parent) => devices.byKname(parent) ?? [])) {
    member.content ??= { fstype: 'linux_raid_member', label: 'any:stopped', uuid: '' };
  }
}

/** Programs of the device mapper and of software RAID. */
export const mappingPrograms: Programs = { dmsetup, mdadm };
