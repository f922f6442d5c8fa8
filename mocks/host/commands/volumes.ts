import type { Device } from '../block/device.ts';
import { type Devices, mountpointsOf } from '../block/devices.ts';
import { fail, type Program, type Programs } from '../call.ts';
import type { Machine } from '../machine.ts';
import { sortWords } from './words.ts';

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
