import { file, ignition, storage, unit, type ValidationCase } from './case.ts';

const inlined = { source: 'data:,x' };
const sha256 = `sha256-${'0'.repeat(64)}`;
const content = (contents: object): object => file({ contents });
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

/** What only the first boot refuses: disks, accounts of fetching, units. Every rule of `lint-rules.ts` at least once. */
export const lintCases: readonly (Omit<ValidationCase, 'rules'> & {
  readonly rules?: readonly string[];
})[] = [
  { name: 'disk without a device', config: storage({ disks: [{}] }), rules: ['device-path'] },
  {
    name: 'partition number twice',
    config: disk({ number: 1 }, { number: 1 }),
    rules: ['duplicate-entry'],
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
    rules: ['format-required'],
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
  { name: 'array without a level', config: raid({ level: '' }), rules: ['raid-level'] },
  {
    name: 'array of an unknown level',
    config: raid({ level: 'raid7' }),
    rules: ['raid-level'],
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
    rules: ['url-scheme'],
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
    rules: ['clevis-pin'],
  },
  {
    name: 'unknown pin',
    config: clevis({ custom: { pin: 'x', config: '{}' } }),
    rules: ['clevis-pin'],
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
    rules: ['cex-with-others'],
  },
  {
    name: 'cex with a key file',
    config: luks({ cex: { enabled: true }, keyFile: inlined }),
    minor: 5,
    rules: ['cex-with-others'],
  },
  { name: 'scheme file', config: content({ source: 'file:///a' }), rules: ['url-scheme'] },
  {
    name: 'bucket of gs in spec 3.1',
    config: content({ source: 'gs://a/b' }),
    minor: 1,
    rules: ['url-scheme'],
  },
  { name: 'bucket of gs in spec 3.2', config: content({ source: 'gs://a/b' }), minor: 2 },
  { name: 'ARN in spec 3.4', config: content({ source: 'arn:aws:s3:::a/b' }), minor: 4 },
  {
    name: 'ARN in spec 3.3',
    config: content({ source: 'arn:aws:s3:::a/b' }),
    rules: ['url-scheme'],
  },
  { name: 'compression gzip', config: content({ ...inlined, compression: 'gzip' }) },
  {
    name: 'compression xz',
    config: content({ ...inlined, compression: 'xz' }),
    rules: ['compression-unknown'],
  },
  { name: 'hash', config: content({ ...inlined, verification: { hash: sha256 } }) },
  {
    name: 'sha256 in spec 3.0',
    config: content({ ...inlined, verification: { hash: sha256 } }),
    minor: 0,
    rules: ['hash-invalid'],
  },
  {
    name: 'hash without a source',
    config: content({ verification: { hash: sha256 } }),
    rules: ['hash-without-source'],
  },
  {
    name: 'hash md5',
    config: content({ ...inlined, verification: { hash: 'md5-0' } }),
    rules: ['hash-invalid'],
  },
  {
    name: 'hash of the wrong length',
    config: content({ ...inlined, verification: { hash: 'sha256-0' } }),
    rules: ['hash-invalid'],
  },
  {
    name: 'hash without a function',
    config: content({ ...inlined, verification: { hash: 'x' } }),
    rules: ['hash-invalid'],
  },
  {
    name: 'merge without a source',
    config: ignition({ config: { merge: [{}] } }),
    rules: ['source-required'],
  },
  {
    name: 'merge without a source in spec 3.0',
    config: ignition({ config: { merge: [{}] } }),
    minor: 0,
  },
  {
    name: 'authority without a source',
    config: ignition({ security: { tls: { certificateAuthorities: [{}] } } }),
    rules: ['source-required'],
  },
  {
    name: 'headers of a data URL',
    config: content({ ...inlined, httpHeaders: [{ name: 'a', value: 'b' }] }),
    rules: ['headers-need-http'],
  },
  {
    name: 'header without a name or with an empty value',
    config: content({ source: 'http://h', httpHeaders: [{ name: '' }, { name: 'a', value: '' }] }),
    rules: ['header-empty', 'header-empty'],
  },
  {
    name: 'proxy over ftp',
    config: ignition({ proxy: { httpProxy: 'ftp://h' } }),
    rules: ['proxy-scheme'],
  },
  { name: 'negative mode', config: file({ mode: -1 }), rules: ['mode-out-of-range'] },
  { name: 'mode beyond 07777', config: file({ mode: 4096 }), rules: ['mode-out-of-range'] },
  {
    name: 'overwriting without a source',
    config: file({ overwrite: true }),
    rules: ['overwrite-without-source'],
  },
  { name: 'overwriting with a source', config: file({ overwrite: true, contents: inlined }) },
  {
    name: 'owner by id and name',
    config: file({ user: { id: 1, name: 'a' } }),
    rules: ['owner-id-and-name'],
  },
  { name: 'unit', config: unit({ contents: '[Unit]\nDescription=a\n' }) },
  { name: 'unit name without a suffix', config: unit({ name: 'a' }), rules: ['unit-name'] },
  { name: 'broken unit', config: unit({ contents: '[Unit\n' }), rules: ['unit-syntax'] },
  {
    name: 'broken drop-in',
    config: unit({ dropins: [{ name: 'a.conf', contents: '[A]\nb' }] }),
    rules: ['unit-syntax'],
  },
  {
    name: 'drop-in name without a suffix',
    config: unit({ dropins: [{ name: 'a' }] }),
    rules: ['dropin-name'],
  },
  {
    name: 'enabled without an install section',
    config: unit({ enabled: true, contents: '[Unit]\n' }),
    rules: ['unit-not-installable'],
  },
  {
    name: 'partition around another',
    config: disk({ number: 1, startMiB: 5, sizeMiB: 1 }, { number: 2, startMiB: 1, sizeMiB: 99 }),
    rules: ['partition-overlap'],
  },
  {
    name: 'partitions that sgdisk places',
    config: disk({ number: 1, startMiB: 0, sizeMiB: 9 }, { number: 2, startMiB: 0, sizeMiB: 9 }),
  },
  {
    name: 'long label of few characters',
    config: filesystem({ format: 'vfat', label: 'é'.repeat(6) }),
    rules: ['label-too-long'],
  },
  {
    name: 'relative mount',
    config: filesystem({ format: 'xfs', path: 'var' }),
    rules: ['mount-path'],
  },
  {
    name: 'relative disk',
    config: storage({ disks: [{ device: 'sda' }] }),
    rules: ['device-path'],
  },
  {
    name: 'relative member of an array',
    config: raid({ devices: ['sda'] }),
    rules: ['device-path'],
  },
  {
    name: 'tang by ftp',
    config: clevis({ tang: [{ ...tang, url: 'ftp://a' }] }),
    rules: ['tang-url'],
  },
  {
    name: 'long label of LUKS',
    config: luks({ label: 'x'.repeat(48) }),
    rules: ['label-too-long'],
  },
  { name: 'content without a scheme', config: content({ source: 'a' }), rules: ['url-scheme'] },
];
