import { type Call, fail, print, type Program, type Programs, sortWords } from '../call.ts';
import { type Device, isMapped, mountpointsOf } from '../devices.ts';
import type { Machine } from '../machine.ts';

const dmsetup: Program = (machine, call) => {
  const [verb, ...words] = call.argv.slice(1);
  const { rest } = sortWords(words, ['-o']);
  switch (verb) {
    case 'ls':
      return list(machine, call);
    case 'deps':
      return dependencies(machine, call, rest[0] ?? '');
    case 'remove':
      return remove(machine, call, rest[0] ?? '');
    default:
      return fail(call, `Unknown command: ${verb ?? ''}`);
  }
};

function list({ devices }: Machine, call: Call): number {
  const mapped = devices.all().filter(isMapped);
  if (mapped.length === 0) call.out('No devices found\n');
  for (const { name, majorMinor } of mapped) call.out(`${name}\t(${majorMinor})\n`);
  return 0;
}

const mappedNamed = ({ devices }: Machine, name: string): Device | undefined =>
  devices
    .all()
    .find((one) => isMapped(one) && (one.name === name || `/dev/mapper/${one.name}` === name));

function dependencies(machine: Machine, call: Call, name: string): number {
  const device = mappedNamed(machine, name);
  if (device === undefined) return fail(call, `Device ${name} not found\nCommand failed.`);
  const names = device.parents.map((parent) => `(${parent})`).join(' ');
  return print(call, `${device.parents.length} dependencies  : ${names}\n`);
}

function remove(machine: Machine, call: Call, name: string): number {
  const device = mappedNamed(machine, name);
  if (device === undefined) return fail(call, `Device ${name} not found\nCommand failed.`);
  if (mountpointsOf(machine.devices, device).length > 0) {
    return fail(
      call,
      `device-mapper: remove ioctl on ${name}  failed: Device or resource busy\nCommand failed.`,
    );
  }
  machine.devices.remove(device);
  return 0;
}

const mdadm: Program = (machine, call) => {
  const { has, rest, all } = sortWords(call.argv.slice(1), ['--stop', '-S', '--zero-superblock']);
  if (has('--scan')) return scan(machine, call);
  for (const path of all('--stop', '-S')) {
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
  for (const path of [...all('--zero-superblock'), ...(has('--zero-superblock') ? rest : [])]) {
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

function scan({ devices }: Machine, call: Call): number {
  for (const array of devices.all().filter(({ type }) => type === 'raid1')) {
    const members = array.parents.map((parent) => `/dev/${parent}`).join(',');
    call.out(`ARRAY /dev/${array.name} level=raid1 num-devices=2 metadata=1.2 name=any:old\n`);
    call.out(`   devices=${members}\n`);
  }
  return 0;
}

/** Programs of the device mapper and of software RAID. */
export const mappingPrograms: Programs = { dmsetup, mdadm };
