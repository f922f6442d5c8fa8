import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { meantIgnition, meantSpec } from './meaning.ts';
import type { Fields } from '../../lib/fields.ts';

const withFile = (file: Fields): Fields => ({
  ignition: { version: '3.5.0' },
  storage: { files: [{ path: '/etc/a', ...file }] },
});
const text = (source: string, more: Fields = {}): Fields =>
  withFile({ contents: { source, ...more } });
const base64 = (bytes: Uint8Array): string =>
  `data:;base64,${Buffer.from(bytes).toString('base64')}`;
const withUnit = (unit: Fields): Fields => ({
  systemd: { units: [{ name: 'a.service', ...unit }] },
});
const withUser = (user: Fields): Fields => ({ passwd: { users: [{ name: 'core', ...user }] } });
const plain = text('data:,a%20b');
const sum = 'sha256-c8687a08aa5d6ed2044328fa6a697ab8e96dc34291e8c034ae0bb4e5a1e5f0ec';

describe('meantIgnition', () => {
  it.each<[string, Fields, Fields]>([
    ['an empty compression', plain, text('data:,a%20b', { compression: '' })],
    ['base64', plain, text(base64(Buffer.from('a b')))],
    ['a media type', plain, text('data:text/plain;charset=utf-8,a%20b')],
    ['gzip', plain, text(base64(gzipSync('a b')), { compression: 'gzip' })],
    ['an empty content source', withFile({}), withFile({ contents: { source: '' } })],
    ['the default mode of a file', withFile({}), withFile({ mode: 0o644 })],
    ['overwrite: true', withFile({}), withFile({ overwrite: true })],
    ['root as the owner', withFile({}), withFile({ user: { id: 0 }, group: { name: 'root' } })],
    ['empty lists', plain, { ...plain, passwd: { users: [] }, systemd: {} }],
    [
      'another order of members and files',
      { storage: { files: [{ path: '/a', mode: 1 }, { path: '/b' }] } },
      { storage: { files: [{ path: '/b' }, { mode: 1, path: '/a' }] } },
    ],
    ['another Ignition version', plain, { ...plain, ignition: { version: '3.2.0' } }],
    [
      'the default mode of a directory',
      { storage: { directories: [{ path: '/d' }] } },
      { storage: { directories: [{ path: '/d', mode: 0o755, overwrite: false }] } },
    ],
    [
      'hard: false in a link',
      { storage: { links: [{ path: '/l', target: '/t' }] } },
      { storage: { links: [{ path: '/l', target: '/t', hard: false, overwrite: false }] } },
    ],
    ['mask: false in a unit', withUnit({}), withUnit({ mask: false, contents: '' })],
    [
      'default members of a user',
      withUser({}),
      withUser({ shouldExist: true, system: false, gecos: '' }),
    ],
  ])('is equal with %s', (_, one, other) => {
    expect(meantIgnition(other)).toEqual(meantIgnition(one));
  });

  it.each<[string, Fields, Fields]>([
    ['other content', plain, text('data:,a+b')],
    ['other bytes that are not text', text('data:,%fe%80'), text('data:,%fd%80')],
    ['another mode', withFile({}), withFile({ mode: 0o600 })],
    ['mode 0', withFile({}), withFile({ mode: 0 })],
    ['another owner', withFile({}), withFile({ user: { id: 1000 } })],
    ['overwrite: false', withFile({}), withFile({ overwrite: false })],
    ['appended content', withFile({}), withFile({ append: [{ source: 'data:,a' }] })],
    [
      'another order of appended content',
      withFile({ append: [{ source: 'data:,a' }, { source: 'data:,b' }] }),
      withFile({ append: [{ source: 'data:,b' }, { source: 'data:,a' }] }),
    ],
    [
      'empty contents before appended content',
      withFile({ append: [{ source: 'data:,a' }] }),
      withFile({ append: [{ source: 'data:,a' }], contents: { source: '' } }),
    ],
    ['another URL of the content', text('https://a.test/'), text('https://b.test/')],
    ['a hash that does not match', plain, text('data:,a%20b', { verification: { hash: sum } })],
    ['a disabled unit', withUnit({}), withUnit({ enabled: false })],
    ['a masked unit', withUnit({}), withUnit({ mask: true })],
    ['shouldExist: false in a user', withUser({}), withUser({ shouldExist: false })],
  ])('differs with %s', (_, one, other) => {
    expect(meantIgnition(other)).not.toEqual(meantIgnition(one));
  });
});

describe('meantSpec', () => {
  it.each<[string, Fields]>([
    ['default members', { fips: false, osImageURL: '', kernelArguments: [], config: {} }],
    [
      'an empty kernel type and extensions image',
      { kernelType: '', baseOSExtensionsContainerImage: '' },
    ],
  ])('is empty with %s', (_, spec) => {
    expect(meantSpec(spec)).toEqual({});
  });

  it.each<[string, Fields, Fields]>([
    ['kernel', { kernelType: 'realtime' }, {}],
    ['FIPS', { fips: true }, {}],
    ['order of arguments', { kernelArguments: ['a', 'b'] }, { kernelArguments: ['b', 'a'] }],
    ['number of arguments', { kernelArguments: ['a', 'a'] }, { kernelArguments: ['a'] }],
    ['image', { osImageURL: 'r.test/a:1' }, { osImageURL: 'r.test/a:2' }],
  ])('differs with another %s', (_, one, other) => {
    expect(meantSpec(one)).not.toEqual(meantSpec(other));
  });
});
