import { describe, expect, it } from 'vitest';
import { parseMachineConfig, parseValidConfig, renderConfig } from './parse.ts';

const spec2 = (members: object, version = '2.2.0') => ({ ignition: { version }, ...members });
const read = (config: object): unknown =>
  JSON.parse(renderConfig(parseValidConfig(JSON.stringify(config), parseMachineConfig).config));
const root = { filesystem: 'root' };
const content = (text: string) => ({ source: `data:,${text}` });
const files = (...all: object[]) => ({
  storage: { files: all.map((file) => ({ ...root, ...file })) },
});
const units = (...all: object[]) => ({ systemd: { units: all } });
const users = (...all: object[]) => ({ passwd: { users: all } });

/** By what the operator's `ParseAndConvertConfig` makes of each. */
describe('Ignition of spec 2 in a MachineConfig', () => {
  it.each<[string, object, object]>([
    [
      'a file, which overwrites',
      files({ path: '/etc/a', mode: 420, contents: content('a') }),
      {
        storage: {
          files: [{ path: '/etc/a', mode: 420, overwrite: true, contents: content('a') }],
        },
      },
    ],
    [
      'a file without content as an empty one',
      files({ path: '/a', overwrite: false }),
      { storage: { files: [{ path: '/a', overwrite: false, contents: { source: '' } }] } },
    ],
    [
      'a file that is appended to',
      files({ path: '/a', append: true, contents: content('a') }),
      { storage: { files: [{ path: '/a', overwrite: false, append: [content('a')] }] } },
    ],
    [
      'the last of two files of one path, the last path first',
      files(
        { path: '/a', contents: content('1') },
        { path: '/b', contents: content('2') },
        { path: '/a', contents: content('3') },
      ),
      {
        storage: {
          files: [
            { path: '/a', overwrite: true, contents: content('3') },
            { path: '/b', overwrite: true, contents: content('2') },
          ],
        },
      },
    ],
    [
      'a path in its simplest form, on whichever filesystem',
      { storage: { directories: [{ filesystem: 'data', path: '/a/../b//c/', mode: 493 }] } },
      { storage: { directories: [{ path: '/b/c', mode: 493 }] } },
    ],
    [
      'enable and enabled, of which the latter counts',
      units(
        { name: 'a.service', enable: true },
        { name: 'b.service', enable: true, enabled: false },
      ),
      {
        systemd: {
          units: [
            { name: 'b.service', enabled: false },
            { name: 'a.service', enabled: true },
          ],
        },
      },
    ],
    [
      'units of one name with the drop-ins of both',
      units(
        {
          name: 'a.service',
          contents: '[Unit]',
          dropins: [{ name: '1.conf', contents: '[A]' }, { name: '2.conf' }],
        },
        { name: 'a.service', mask: false, dropins: [{ name: '1.conf', contents: '[B]' }] },
      ),
      {
        systemd: {
          units: [
            {
              name: 'a.service',
              dropins: [{ name: '1.conf', contents: '[B]' }, { name: '2.conf' }],
            },
          ],
        },
      },
    ],
    [
      'core with all keys, each once, and what the last entry says else',
      users(
        { name: 'core', passwordHash: 'x', sshAuthorizedKeys: ['a', 'b'] },
        { name: 'core', gecos: '', create: { uid: 7 }, sshAuthorizedKeys: ['c', 'a'] },
      ),
      { passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['c', 'a', 'b'] }] } },
    ],
    [
      'one config that is appended, and the time limits',
      {
        ignition: {
          version: '2.2.0',
          config: { append: [{ source: 'http://a.test' }] },
          timeouts: { httpTotal: 0 },
        },
      },
      {
        ignition: {
          version: '3.0.0',
          config: { merge: [{ source: 'http://a.test' }] },
          timeouts: { httpTotal: 0 },
        },
      },
    ],
    [
      'the root filesystem, of which nothing is made',
      {
        storage: { filesystems: [{ name: 'root', mount: { device: '/dev/sda4', format: 'xfs' } }] },
      },
      {},
    ],
    [
      'arrays of disks',
      {
        storage: {
          raid: [{ name: 'r', level: 'raid1', devices: ['/dev/sda', '/dev/sdb'], spares: 0 }],
        },
      },
      { storage: { raid: [{ name: 'r', level: 'raid1', devices: ['/dev/sda', '/dev/sdb'] }] } },
    ],
  ])('keeps %s', (_, members, expected) => {
    expect(read(spec2(members))).toEqual({ ignition: { version: '3.0.0' }, ...expected });
  });

  it.each<[string, object]>([
    ['2.0.0', { user: { id: 0 }, group: { id: 0 }, mode: 0 }],
    ['2.1.0', { mode: 0 }],
    ['2.2.0', {}],
  ])('reads what %s leaves out as that spec means it', (version, more) => {
    const file = { path: '/a', overwrite: true, contents: { source: '' }, ...more };
    expect(read(spec2(files({ path: '/a' }), version))).toMatchObject({
      storage: { files: [file] },
    });
  });

  it.each<[string, object, string]>([
    ['units of networkd', { networkd: { units: [{ name: 'a.network' }] } }, 'spec-2'],
    [
      'partitions',
      { storage: { disks: [{ device: '/dev/sda', partitions: [{ number: 1 }] }] } },
      'spec-2',
    ],
    [
      'another filesystem',
      { storage: { filesystems: [{ name: 'data', path: '/data' }] } },
      'spec-2',
    ],
    ['another user than core', users({ name: 'admin' }), 'spec-2'],
    ['a user in two forms', users({ name: 'core', uid: 1, create: {} }), 'spec-2'],
    [
      'two configs that are appended',
      {
        ignition: {
          version: '2.2.0',
          config: { append: [{ source: 'http://a.test' }, { source: 'http://b.test' }] },
        },
      },
      'spec-2',
    ],
    ['a path without a filesystem', { storage: { files: [{ path: '/a' }] } }, 'spec-2'],
    ['a path from nowhere', files({ path: 'a' }), 'spec-2'],
    [
      'a file that is appended to and overwritten',
      files({ path: '/a', append: true, overwrite: true }),
      'spec-2',
    ],
    [
      'a path that begins like a link',
      {
        storage: {
          links: [{ ...root, path: '/a', target: '/b' }],
          files: [{ ...root, path: '/ab' }],
        },
      },
      'spec-2',
    ],
    [
      'a file and a directory of one path',
      { storage: { directories: [{ ...root, path: '/a' }], files: [{ ...root, path: '/a/' }] } },
      'invalid',
    ],
    ['a mode that is a text', files({ path: '/a', mode: '0644' }), 'invalid'],
  ])('refuses %s', (_, members, code) => {
    const call = () => parseMachineConfig(JSON.stringify(spec2(members)));
    expect(call).toThrow(expect.objectContaining({ code: `ignition.${code}` }));
  });

  it.each(['1.0.0', '2.0.0-dev', '2.2.1', '2.3.0', '2.4.0-experimental'])(
    'refuses %s, which the operator does not know',
    (version) => {
      const call = () => parseMachineConfig(JSON.stringify(spec2({}, version)));
      expect(call).toThrow(expect.objectContaining({ code: 'ignition.spec-2' }));
    },
  );
});
