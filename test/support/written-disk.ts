import type { ChosenImage } from '../../src/steps/image/facts.ts';
import { fakeClock } from './fake-clock.ts';
import { fakeHost, type FakeHost, rest } from './fake-host.ts';

const target = {
  path: '/dev/sda',
  asked: '/dev/sda',
  name: 'sda',
  majorMinor: '8:0',
  sizeBytes: 120e9,
  sectorBytes: 512,
  type: 'disk',
  serial: '',
  wwn: '',
  byId: [],
};
const path = '/opt/install-dir/worker-h.ign';
const ignition = { path, bytes: 1, sha256: '', origin: 'service', version: '3.2.0' };
const live: ChosenImage = { kind: 'live', because: '' };

/** The facts of a disk to which an image is written. */
export const writeFacts = (image: ChosenImage = live) => ({ disk: target, ignition, image });

const read = (percent: number): string => `Read disk ${percent}.0 MiB/100.0 MiB (${percent}%)\n`;

/** The program that writes the disk: its command line and its output. */
export const writer = {
  argv: (...more: string[]): string[] => [
    'coreos-installer',
    'install',
    '--insecure',
    '-i',
    path,
    ...more,
    '/dev/sda',
  ],
  /** A line about its progress. */
  read,
  /** Its whole output on success. */
  done: `${[3, 7, 12, 100, 100].map(read).join('')}Writing Ignition config\nInstall complete.\n`,
  callOn: (host: FakeHost): FakeHost['calls'][number] | undefined =>
    host.calls.find(({ argv: [program] }) => program === 'coreos-installer'),
};

/** The install disk: the commands after which it does not boot, and its output of lsblk. */
export const disk = {
  zero: ['dd', 'if=/dev/zero', 'of=/dev/sda', 'bs=1M', 'count=1', 'oflag=direct'],
  wipe: ['wipefs', '--all', '--force', '/dev/sda'],
  lsblk: (children: readonly object[] = [], serial = ''): string =>
    JSON.stringify({
      blockdevices: [
        { name: 'sda', kname: 'sda', 'maj:min': '8:0', type: 'disk', serial, children },
      ],
    }),
};

/** A host whose install disk is free; the test defines its writer. */
export const writingHost = (clock = fakeClock()): FakeHost =>
  fakeHost({ clock })
    .on(disk.zero)
    .succeeds()
    .on(disk.wipe)
    .succeeds()
    .on(['lsblk', rest])
    .prints(disk.lsblk());

/** The commands that ran, except reads of the disk. */
export const ran = (host: FakeHost): FakeHost['ran'] =>
  host.ran.filter(([program = '']) => program !== 'lsblk');
