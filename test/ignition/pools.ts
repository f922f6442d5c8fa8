import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

import { encodeDataUrl } from '../../src/ignition/resource.ts';

/** Values for one member of a config: those that keep it valid, and those that tend to break it. */
export interface Pool {
  readonly sound: readonly unknown[];
  readonly broken?: readonly unknown[];
}

const digest = (algorithm: string): string =>
  `${algorithm}-${createHash(algorithm).update('').digest('hex')}`;

const unit =
  '[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=a.target\n';

const paths: Pool = {
  sound: ['/a', '/b', '/c', '/d', '/e/f', '/g h', '/'],
  broken: ['', 'a', '/a/../b', '/a/', '//a', '/a/b', '/./a', '/etc/systemd/system/a.service'],
};

const devices: Pool = {
  sound: ['/dev/sda', '/dev/sdb', '/dev/sdc'],
  broken: ['', 'sda', '/dev//a'],
};

const labels: Pool = {
  sound: ['root', 'boot', 'x'.repeat(11)],
  broken: [
    '',
    'a:b',
    'x'.repeat(12),
    'x'.repeat(16),
    'x'.repeat(37),
    'é'.repeat(8),
    'y'.repeat(300),
  ],
};

const guids: Pool = {
  sound: ['', '01234567-89AB-CDEF-EDCB-A98765432101', 'abcdef01-89ab-cdef-edcb-a98765432101'],
  broken: ['0', '01234567-89AB-CDEF-EDCB-A9876543210', 'g1234567-89AB-CDEF-EDCB-A98765432101'],
};

const sources: Pool = {
  sound: [
    'data:,a',
    'data:;base64,YQ==',
    'data:,',
    'http://host/a',
    'http://host/b',
    'https://user:pw@host:22623/a%20b?c#d',
    encodeDataUrl(gzipSync('a')),
    's3://bucket/key?versionId=1',
    'tftp://host/a',
  ],
  broken: [
    '',
    'data:,a b',
    'data:;base64,YQ',
    'data:;base64,Y*==',
    'data:text/plain;charset="a b",x',
    'data:font/woff,x',
    'data:,%zz',
    'data:text/plain;a=%zz,x',
    'DATA:,x',
    'gs://bucket/key',
    's3://bucket/key?versionId=',
    'arn:aws:s3:::bucket/key',
    'arn:aws:s3:::bucket',
    'arn:aws:ec2:::bucket/key',
    'arn:aws:s3:us:1:accesspoint/name',
    'file:///a',
    '/a',
    'a:b:c',
    ':a',
    'http://a b/',
    'http://[::1/',
    'http://[::1]:x/',
    'http://h:p/',
    'http://h/%zz',
    'http://h/\u0001',
    'http:opaque',
    'HTTP://host/',
    'http://us er@h/',
  ],
};

const unitText: Pool = {
  sound: ['', unit, '[Unit]\n', '# only a comment\n', '[A]\nb=c \\\n d\n', 'no section'],
  broken: [
    '[Unit',
    '[Unit] x\n',
    '[Unit]\nfoo',
    '[Unit]\nfoo\n',
    '[Unit]\n=x',
    '[A]\nb=\\\n\n# c\\\nd\n[B]\n',
    `[A]\nb=${'x'.repeat(2100)}`,
    '\r[A]\r\nb=c\r\n',
    '[A]\n\u00a0b=c',
  ],
};

const pins = { sound: ['tpm2', 'tang', 'sss'], broken: ['', 'x'] };
const text: Pool = { sound: ['a', 'b', 'c'], broken: [''] };
const names: Pool = { sound: ['a', 'b', 'core'], broken: ['', 'a/b'] };
const sizes: Pool = { sound: [10, 20], broken: [0, 15, -1] };

/** Pools by the name of the shape and the member. */
export const pools: Readonly<Record<string, Pool>> = {
  'Directory.path': paths,
  'File.path': paths,
  'Link.path': paths,
  'Filesystem.path': { sound: ['/var', '/x'], broken: ['', 'a', '/a/'] },
  'File.overwrite': { sound: [false], broken: [true] },
  'Partition.shouldExist': { sound: [true], broken: [false] },
  'Cex.enabled': { sound: [false], broken: [true] },
  'Directory.mode': { sound: [0, 493, 4095], broken: [-1, 4096] },
  'File.mode': { sound: [0, 420, 1024], broken: [-1, 4096, 99999] },
  'Link.target': { sound: ['/a', 'b', '../c'], broken: ['', '/e/f', '..'] },
  'Disk.device': devices,
  'Filesystem.device': devices,
  'Luks.device': devices,
  'Raid.devices': devices,
  'Partition.number': { sound: [0, 1, 2, 3], broken: [-1] },
  'Partition.sizeMiB': sizes,
  'Partition.startMiB': { sound: [0, 100, 200], broken: [1, 5, 105] },
  'Partition.label': labels,
  'Partition.guid': guids,
  'Partition.typeGuid': guids,
  'Filesystem.label': labels,
  'Filesystem.format': {
    sound: ['ext4', 'btrfs', 'xfs', 'vfat', 'swap'],
    broken: ['', 'none', 'ext3', 'constructor'],
  },
  'Luks.label': labels,
  'Luks.name': names,
  'Raid.level': { sound: ['raid1', '5', 'mirror'], broken: ['', 'raid0', 'raid7', 'linear'] },
  'Raid.spares': { sound: [0], broken: [1] },
  'Resource.source': sources,
  'Reference.source': sources,
  'Resource.compression': { sound: ['', 'gzip'], broken: ['xz', 'GZIP'] },
  'Reference.compression': { sound: ['', 'gzip'], broken: ['xz'] },
  'Verification.hash': {
    sound: [digest('sha512')],
    broken: [digest('sha256'), '', 'sha512', 'md5-a', 'sha512-ab', `sha512-${'g'.repeat(128)}`],
  },
  'HttpHeader.name': { sound: ['A', 'B', 'a'], broken: [''] },
  'HttpHeader.value': { sound: ['1', '2'], broken: [''] },
  'Proxy.httpProxy': { sound: ['http://p', 'https://p:1'], broken: ['', 'ftp://p', 'p', ':'] },
  'Proxy.httpsProxy': { sound: ['http://p', 'https://p:1'], broken: ['', 'ftp://p', 'p:1'] },
  'ClevisCustom.pin': pins,
  'Tang.url': { sound: ['http://a', 'https://b'], broken: ['', 'a', 'ftp://a', 'http://[/'] },
  'Tang.advertisement': { sound: ['{}', '[1]'], broken: ['', '{', '{} x'] },
  'Unit.name': {
    sound: ['a.service', 'b.mount', 'a@.service', 'a@b.service'],
    broken: ['', 'a', 'a.conf', '.service', 'a.service/b', 'a.b/c.service'],
  },
  'Unit.contents': unitText,
  'Dropin.contents': unitText,
  'Dropin.name': { sound: ['a.conf', 'b.conf'], broken: ['', 'a', 'a.service'] },
};

/** For members without a pool of their own. */
export const fallback: Readonly<Record<'string' | 'integer' | 'boolean', Pool>> = {
  string: text,
  integer: { sound: [0, 1, 2, 1000] },
  boolean: { sound: [true, false] },
};
