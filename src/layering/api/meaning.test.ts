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

describe('what Ignition means', () => {
  it.each<[string, Fields, Fields]>([
    ['a compression that is empty', plain, text('data:,a%20b', { compression: '' })],
    ['base64', plain, text(base64(Buffer.from('a b')))],
    ['a media type', plain, text('data:text/plain;charset=utf-8,a%20b')],
    ['gzip', plain, text(base64(gzipSync('a b')), { compression: 'gzip' })],
    ['no content', withFile({}), withFile({ contents: { source: '' } })],
    ['the usual mode', withFile({}), withFile({ mode: 0o644 })],
    ['that it overwrites', withFile({}), withFile({ overwrite: true })],
    ['root', withFile({}), withFile({ user: { id: 0 }, group: { name: 'root' } })],
    ['lists that are empty', plain, { ...plain, passwd: { users: [] }, systemd: {} }],
    [
      'the order of members and of files',
      { storage: { files: [{ path: '/a', mode: 1 }, { path: '/b' }] } },
      { storage: { files: [{ path: '/b' }, { mode: 1, path: '/a' }] } },
    ],
    ['another version', plain, { ...plain, ignition: { version: '3.2.0' } }],
    [
      'the usual mode of a directory',
      { storage: { directories: [{ path: '/d' }] } },
      { storage: { directories: [{ path: '/d', mode: 0o755, overwrite: false }] } },
    ],
    [
      'a link that is not hard',
      { storage: { links: [{ path: '/l', target: '/t' }] } },
      { storage: { links: [{ path: '/l', target: '/t', hard: false, overwrite: false }] } },
    ],
    ['a unit that is not masked', withUnit({}), withUnit({ mask: false, contents: '' })],
    ['a user that exists', withUser({}), withUser({ shouldExist: true, system: false, gecos: '' })],
  ])('is the same with %s', (_, one, other) => {
    expect(meantIgnition(other)).toEqual(meantIgnition(one));
  });

  it.each<[string, Fields, Fields]>([
    ['content', plain, text('data:,a+b')],
    ['bytes that are no text', text('data:,%fe%80'), text('data:,%fd%80')],
    ['a space at the end', plain, text('data:,a%20b%20')],
    ['a mode', withFile({}), withFile({ mode: 0o600 })],
    ['a mode of nothing', withFile({}), withFile({ mode: 0 })],
    ['an owner', withFile({}), withFile({ user: { id: 1000 } })],
    ['that it does not overwrite', withFile({}), withFile({ overwrite: false })],
    ['what is appended', withFile({}), withFile({ append: [{ source: 'data:,a' }] })],
    [
      'the order of what is appended',
      withFile({ append: [{ source: 'data:,a' }, { source: 'data:,b' }] }),
      withFile({ append: [{ source: 'data:,b' }, { source: 'data:,a' }] }),
    ],
    [
      'whether a file is emptied before something is appended',
      withFile({ append: [{ source: 'data:,a' }] }),
      withFile({ append: [{ source: 'data:,a' }], contents: { source: '' } }),
    ],
    ['where content is fetched', text('https://a.test/'), text('https://b.test/')],
    ['a hash that does not fit', plain, text('data:,a%20b', { verification: { hash: sum } })],
    ['a unit that is disabled', withUnit({}), withUnit({ enabled: false })],
    ['a unit that is masked', withUnit({}), withUnit({ mask: true })],
    ['a user that does not exist', withUser({}), withUser({ shouldExist: false })],
  ])('is not the same with %s', (_, one, other) => {
    expect(meantIgnition(other)).not.toEqual(meantIgnition(one));
  });
});

describe('what a MachineConfig means', () => {
  it.each<[string, Fields]>([
    ['members that say nothing', { fips: false, osImageURL: '', kernelArguments: [], config: {} }],
    ['no kernel', { kernelType: '', baseOSExtensionsContainerImage: '' }],
  ])('is the same with %s', (_, spec) => {
    expect(meantSpec(spec)).toEqual({});
  });

  it.each<[string, Fields, Fields]>([
    ['kernel', { kernelType: 'realtime' }, {}],
    ['FIPS', { fips: true }, {}],
    ['order of arguments', { kernelArguments: ['a', 'b'] }, { kernelArguments: ['b', 'a'] }],
    ['number of arguments', { kernelArguments: ['a', 'a'] }, { kernelArguments: ['a'] }],
    ['image', { osImageURL: 'r.test/a:1' }, { osImageURL: 'r.test/a:2' }],
  ])('is not the same with another %s', (_, one, other) => {
    expect(meantSpec(one)).not.toEqual(meantSpec(other));
  });
});
