import { inlined, storage, type ValidationCase } from './case.ts';

const disk = (...partitions: object[]): object =>
  storage({ disks: [{ device: '/dev/sda', partitions }] });
const filesystem = (members: object): object =>
  storage({ filesystems: [{ device: '/dev/sda', ...members }] });
const luks = (members: object): object =>
  storage({ luks: [{ name: 'a', device: '/dev/a', ...members }] });
const clevis = (members: object): object => luks({ clevis: members });
const raid = (members: object): object =>
  storage({ raid: [{ name: 'a', level: 'raid1', devices: ['/dev/a'], ...members }] });
const tang = { url: 'http://tang', thumbprint: 'x' };

/** Disks, filesystems, arrays, encryption. */
export const devices: readonly ValidationCase[] = [
  { name: 'disk without a device', config: storage({ disks: [{}] }), rules: ['device-required'] },
  {
    name: 'partition number twice',
    config: disk({ number: 1 }, { number: 1 }),
    rules: ['partition-number-twice', 'duplicate-entry'],
  },
  {
    name: 'partition label twice',
    config: disk({ number: 1, label: 'a' }, { number: 2, label: 'a' }),
    rules: ['partition-label-twice'],
  },
  {
    name: 'overlapping partitions',
    config: disk({ number: 1, startMiB: 1, sizeMiB: 10 }, { number: 2, startMiB: 10, sizeMiB: 1 }),
    rules: ['partition-overlap'],
  },
  {
    name: 'partition of a negative size before another',
    config: disk(
      { number: 1, startMiB: 200, sizeMiB: -1 },
      { number: 2, startMiB: 200, sizeMiB: 10 },
    ),
    rules: ['partition-overlap'],
  },
  {
    name: 'partitions side by side',
    config: disk({ number: 1, startMiB: 1, sizeMiB: 9 }, { number: 2, startMiB: 10, sizeMiB: 0 }),
  },
  {
    name: 'absent partition beside a new one',
    config: disk({ number: 1, shouldExist: false }, { label: 'a' }),
    rules: ['partition-zero-and-absent'],
  },
  {
    name: 'absent partition with a size',
    config: disk({ number: 1, shouldExist: false, sizeMiB: 0 }),
    rules: ['partition-absent-with-others'],
  },
  { name: 'partition without number and label', config: disk({}), rules: ['partition-unnamed'] },
  {
    name: 'long partition label',
    config: disk({ label: 'x'.repeat(37) }),
    rules: ['label-too-long'],
  },
  { name: 'colon in a partition label', config: disk({ label: 'a:b' }), rules: ['label-colon'] },
  { name: 'broken GUID', config: disk({ number: 1, guid: 'x' }), rules: ['guid-malformed'] },
  { name: 'unknown filesystem', config: filesystem({ format: 'ext3' }), rules: ['format-unknown'] },
  {
    name: 'format none in spec 3.2',
    config: filesystem({ format: 'none' }),
    minor: 2,
    rules: ['format-unknown'],
  },
  {
    name: 'path without a format',
    config: filesystem({ path: '/var' }),
    rules: ['format-required'],
  },
  {
    name: 'label without a format',
    config: filesystem({ label: 'a' }),
    rules: ['format-required', 'label-needs-format'],
  },
  {
    name: 'long label for xfs',
    config: filesystem({ format: 'xfs', label: 'x'.repeat(13) }),
    rules: ['label-too-long'],
  },
  {
    name: 'filesystem over partitions',
    config: storage({
      disks: [{ device: '/dev/sda', partitions: [{ number: 1 }] }],
      filesystems: [{ device: '/dev/sda' }],
    }),
    rules: ['filesystem-on-partitions'],
  },
  {
    name: 'filesystem on a wiped disk',
    config: storage({
      disks: [{ device: '/dev/sda', wipeTable: true }],
      filesystems: [{ device: '/dev/sda' }],
    }),
    rules: ['filesystem-wiped'],
  },
  { name: 'array without a level', config: raid({ level: '' }), rules: ['raid-level-required'] },
  {
    name: 'array of an unknown level',
    config: raid({ level: 'raid7' }),
    rules: ['raid-level-unknown'],
  },
  {
    name: 'array without devices',
    config: raid({ devices: [] }),
    rules: ['raid-devices-required'],
  },
  {
    name: 'spares without redundancy',
    config: raid({ level: 'raid0', spares: 1 }),
    rules: ['raid-no-spares'],
  },
  {
    name: 'slash in an encrypted device',
    config: luks({ name: 'a/b' }),
    rules: ['luks-name-slash'],
  },
  {
    name: 'key file from nowhere',
    config: luks({ keyFile: { source: 'x:y' } }),
    rules: ['luks-key-file', 'url-scheme'],
  },
  {
    name: 'custom pin with tang',
    config: clevis({ custom: { pin: 'sss', config: '{}' }, tang: [tang] }),
    rules: ['clevis-custom-with-others'],
  },
  {
    name: 'empty custom pin with tang in spec 3.2',
    config: clevis({ custom: {}, tang: [tang] }),
    minor: 2,
    rules: ['clevis-custom-with-others'],
  },
  {
    name: 'custom configuration without a pin',
    config: clevis({ custom: { config: '{}' } }),
    rules: ['clevis-pin-required'],
  },
  {
    name: 'unknown pin',
    config: clevis({ custom: { pin: 'x', config: '{}' } }),
    rules: ['clevis-pin-unknown'],
  },
  {
    name: 'pin without a configuration',
    config: clevis({ custom: { pin: 'sss' } }),
    rules: ['clevis-config-required'],
  },
  {
    name: 'tang without a thumbprint',
    config: clevis({ tang: [{ url: 'http://a' }] }),
    rules: ['tang-thumbprint-required'],
  },
  {
    name: 'tang with a broken advertisement',
    config: clevis({ tang: [{ ...tang, advertisement: '{' }] }),
    minor: 4,
    rules: ['tang-advertisement'],
  },
  {
    name: 'cex with clevis',
    config: luks({ cex: { enabled: true }, clevis: { tpm2: true } }),
    minor: 5,
    rules: ['cex-with-clevis'],
  },
  {
    name: 'cex with a key file',
    config: luks({ cex: { enabled: true }, keyFile: inlined }),
    minor: 5,
    rules: ['cex-with-key-file'],
  },
];
