import { type Call, fail, print, type Program, type Programs, sortWords } from '../call.ts';
import { type Device, type Devices, isMapped, mountpointsOf } from '../devices.ts';
import type { Machine } from '../machine.ts';

const withValue = ['-o', '--options', '--separator', '--reportformat', '--select', '-S', '--units'];

const membersOf = ({ devices }: Machine): readonly Device[] =>
  devices.all().filter(({ content }) => content?.fstype === 'LVM2_member');

const fieldsOf = (member: Device): Readonly<Record<string, string>> => ({
  pv_name: `/dev/${member.kname}`,
  vg_name: member.content?.group ?? '',
});

/** `pvs`, `vgs`: one line for each physical volume; `vgs` leaves out those without a group. */
const report =
  (usual: string, isShown: (member: Device) => boolean): Program =>
  (machine, call) => {
    const words = sortWords(call.argv.slice(1), withValue);
    const names = (words.all('-o', '--options')[0] ?? usual).split(',');
    const between = words.all('--separator')[0] ?? ' ';
    const lines = membersOf(machine)
      .filter(isShown)
      .map((member) => names.map((name) => fieldsOf(member)[name] ?? '').join(between));
    for (const line of new Set(lines)) call.out(`  ${line}\n`);
    return 0;
  };

const volumesOf = ({ devices }: Machine, group: string): readonly Device[] =>
  devices.all().filter(({ type, name }) => type === 'lvm' && name.startsWith(`${group}-`));

const isOpen = (devices: Devices, volume: Device): boolean =>
  [volume, ...devices.above(volume)].some((one) => mountpointsOf(devices, one).length > 0);

const vgremove: Program = (machine, call) => {
  const { rest } = sortWords(call.argv.slice(1), withValue);
  for (const group of rest) {
    const members = membersOf(machine).filter(({ content }) => content?.group === group);
    if (members.length === 0) return fail(call, `  Volume group "${group}" not found`, 5);
    const volumes = volumesOf(machine, group);
    const open = volumes.find((volume) => isOpen(machine.devices, volume));
    if (open !== undefined) {
      return fail(
        call,
        `  Logical volume ${open.name.replace('-', '/')} contains a filesystem in use.`,
        5,
      );
    }
    machine.devices.remove(...volumes);
    for (const member of members) member.content = { fstype: 'LVM2_member', label: '', uuid: '' };
    call.out(`  Volume group "${group}" successfully removed\n`);
  }
  return 0;
};

const vgchange: Program = (machine, call) => {
  const { rest } = sortWords(call.argv.slice(1), ['-a', '--activate']);
  const groups = new Set(membersOf(machine).flatMap(({ content }) => content?.group ?? []));
  for (const group of rest.length > 0 ? rest : groups) {
    const volumes = volumesOf(machine, group);
    if (volumes.some((volume) => isOpen(machine.devices, volume))) {
      return fail(
        call,
        `  Can't deactivate volume group "${group}" with 1 open logical volume(s)`,
        5,
      );
    }
    machine.devices.remove(...volumes);
    call.out(`  0 logical volume(s) in volume group "${group}" now active\n`);
  }
  return 0;
};

const pvremove: Program = ({ devices }, call) => {
  const { rest, has } = sortWords(call.argv.slice(1));
  for (const path of rest) {
    const device = devices.byPath(path);
    if (device?.content?.fstype !== 'LVM2_member') {
      return fail(call, `  No PV found on device ${path}.`, 5);
    }
    if (device.content.group !== undefined && !has('-ff')) {
      return fail(
        call,
        `  PV ${path} is used by VG ${device.content.group} so please use vgreduce first.`,
        5,
      );
    }
    device.content = undefined;
    call.out(`  Labels on physical volume "${path}" successfully wiped.\n`);
  }
  return 0;
};

/** Programs of LVM. */
export const volumePrograms: Programs = {
  pvs: report('pv_name,vg_name', () => true),
  vgs: report('vg_name', ({ content }) => content?.group !== undefined),
  vgremove,
  vgchange,
  pvremove,
};

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
