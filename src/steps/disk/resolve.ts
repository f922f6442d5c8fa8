import { minutes } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { step } from '../step.ts';
import { readBlockDevices } from './block-devices.ts';
import { TargetDisk } from './facts.ts';
import { lsblkArgv } from './lsblk.ts';
import { chooseDisk } from './which-disk.ts';

/**
 * Finds the disk that the configuration means. Links are followed, since coreos-installer tells
 * busy partitions wrongly for other names than those of the kernel (coreos-installer issue 512).
 */
export const resolve = step({
  id: 'disk/resolve',
  title: 'Find the install disk',
  uses: ['host'],
  gives: TargetDisk,
  when: writesDisk,
  preflight: true,
  limit: minutes(1),
  explain: ({ disk }) => (disk.device === '' ? 'no disk is named' : disk.device),
  preview: () => [lsblkArgv],
  run: async ({ host, config, signal, note }) => {
    const asked = config.disk.device;
    const real = asked === '' ? '' : ((await host.realPath(asked, signal)) ?? asked);
    const device = chooseDisk(await readBlockDevices(host, signal), { asked, real });
    note('info', `the install disk is ${real}`, {
      asked,
      sizeBytes: device.sizeBytes,
      model: device.model,
      serial: device.serial,
    });
    return {
      path: real,
      asked,
      name: device.kname,
      majorMinor: device.majorMinor,
      sizeBytes: device.sizeBytes,
      sectorBytes: device.sectorBytes,
      type: device.type,
    };
  },
});
