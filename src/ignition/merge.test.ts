import fc from '../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';

import { mergeConfigs } from './merge.ts';
import { parseConfig } from './parse.ts';
import type { Config } from './types.ts';

type Sections = Record<string, unknown>;

const configOf = ({ ignition, ...sections }: Sections, version = '3.5.0'): Config =>
  parseConfig(JSON.stringify({ ignition: { version, ...(ignition as object) }, ...sections }));

const files = (...entries: object[]): Sections => ({ storage: { files: entries } });
const header = (name: string, value?: string): object => ({ name, value });
const withHeaders = (...httpHeaders: object[]): Sections =>
  files({ path: '/a', contents: { source: 'http://h', httpHeaders } });
const user = (members: object): Sections => ({ passwd: { users: [{ name: 'core', ...members }] } });

const rows: [rule: string, parent: Sections, child: Sections, merged: Sections][] = [
  [
    'an optional scalar is the child’s if it is there',
    files({ path: '/a', mode: 1, overwrite: true }),
    files({ path: '/a', mode: 0 }),
    files({ path: '/a', mode: 0, overwrite: true }),
  ],
  [
    'objects merge member by member',
    { ignition: { timeouts: { httpTotal: 1 }, proxy: { httpProxy: 'http://a' } } },
    { ignition: { timeouts: { httpResponseHeaders: 2 } } },
    {
      ignition: {
        timeouts: { httpResponseHeaders: 2, httpTotal: 1 },
        proxy: { httpProxy: 'http://a' },
      },
    },
  ],
  [
    'entries with the same key merge in place, new ones follow',
    { systemd: { units: [{ name: 'a.service', enabled: true }, { name: 'b.service' }] } },
    { systemd: { units: [{ name: 'c.service' }, { name: 'a.service', mask: true }] } },
    {
      systemd: {
        units: [
          { name: 'a.service', enabled: true, mask: true },
          { name: 'b.service' },
          { name: 'c.service' },
        ],
      },
    },
  ],
  [
    'entries are not matched by their position',
    files({ path: '/a', mode: 1 }),
    files({ path: '/b', mode: 2 }),
    files({ path: '/a', mode: 1 }, { path: '/b', mode: 2 }),
  ],
  [
    'a link takes the place of a file with its path',
    { storage: { files: [{ path: '/a' }, { path: '/b' }] } },
    { storage: { links: [{ path: '/a', target: '/b' }] } },
    { storage: { files: [{ path: '/b' }], links: [{ path: '/a', target: '/b' }] } },
  ],
  [
    'a directory takes the place of a link with its path',
    { storage: { links: [{ path: '/a', target: '/b' }] } },
    { storage: { directories: [{ path: '/a' }] } },
    { storage: { directories: [{ path: '/a' }], links: [] } },
  ],
  [
    'a kernel argument is wanted or unwanted',
    { kernelArguments: { shouldExist: ['a', 'b'] } },
    { kernelArguments: { shouldNotExist: ['a'], shouldExist: ['c', 'b'] } },
    { kernelArguments: { shouldExist: ['b', 'c'], shouldNotExist: ['a'] } },
  ],
  [
    'lists of strings are sets, the parent’s order first',
    user({ groups: ['b', 'a'], sshAuthorizedKeys: ['k1'] }),
    user({ groups: ['c', 'a'], sshAuthorizedKeys: ['k2', 'k1'] }),
    user({ groups: ['b', 'a', 'c'], sshAuthorizedKeys: ['k1', 'k2'] }),
  ],
  [
    'what is appended to a file is concatenated',
    files({ path: '/a', append: [{ source: 'data:,1' }] }),
    files({ path: '/a', append: [{ source: 'data:,1' }] }),
    files({ path: '/a', append: [{ source: 'data:,1' }, { source: 'data:,1' }] }),
  ],
  [
    'options of a filesystem are concatenated',
    { storage: { filesystems: [{ device: '/d', options: ['-f'], mountOptions: ['ro'] }] } },
    { storage: { filesystems: [{ device: '/d', options: ['-f'], mountOptions: ['ro'] }] } },
    {
      storage: {
        filesystems: [{ device: '/d', options: ['-f', '-f'], mountOptions: ['ro', 'ro'] }],
      },
    },
  ],
  [
    'options to open an encrypted device are a set, options to make it are not',
    { storage: { luks: [{ name: 'a', options: ['x'], openOptions: ['x'] }] } },
    { storage: { luks: [{ name: 'a', options: ['x'], openOptions: ['x'] }] } },
    { storage: { luks: [{ name: 'a', options: ['x', 'x'], openOptions: ['x'] }] } },
  ],
  [
    'partitions merge by number, and by label without one',
    { storage: { disks: [{ device: '/d', partitions: [{ number: 1 }, { label: 'a' }] }] } },
    {
      storage: {
        disks: [
          {
            device: '/d',
            partitions: [
              { label: 'a', sizeMiB: 1 },
              { number: 1, label: 'b' },
            ],
          },
        ],
      },
    },
    {
      storage: {
        disks: [
          {
            device: '/d',
            partitions: [
              { number: 1, label: 'b' },
              { label: 'a', sizeMiB: 1 },
            ],
          },
        ],
      },
    },
  ],
  [
    'a header without a value removes the parent’s',
    withHeaders(header('a', '1'), header('b', '2')),
    withHeaders(header('a'), header('c', '3')),
    withHeaders(header('b', '2'), header('c', '3')),
  ],
  [
    'a header without a value stays where there is nothing to remove',
    withHeaders(),
    withHeaders(header('a')),
    withHeaders(header('a')),
  ],
  [
    'configs to merge are known by their source',
    { ignition: { config: { merge: [{ source: 'data:,1' }] } } },
    {
      ignition: {
        config: { merge: [{ source: 'data:,1', compression: '' }, { source: 'data:,2' }] },
      },
    },
    {
      ignition: {
        config: { merge: [{ source: 'data:,1', compression: '' }, { source: 'data:,2' }] },
      },
    },
  ],
  [
    'tang servers are known by their address',
    { storage: { luks: [{ name: 'a', clevis: { tang: [{ url: 'http://a' }] } }] } },
    {
      storage: { luks: [{ name: 'a', clevis: { tang: [{ url: 'http://a', thumbprint: 't' }] } }] },
    },
    {
      storage: { luks: [{ name: 'a', clevis: { tang: [{ url: 'http://a', thumbprint: 't' }] } }] },
    },
  ],
];

describe('merging two configs', () => {
  it.each(rows)('%s', (...[, parent, child, merged]) => {
    expect(mergeConfigs(configOf(parent), configOf(child))).toEqual(configOf(merged));
  });

  it.each([
    ['3.1.0', '3.4.0', '3.4.0'],
    ['3.4.0', '3.1.0', '3.4.0'],
    ['3.2.0', '3.2.0', '3.2.0'],
  ])('of spec %s and %s gives spec %s', (parent, child, version) => {
    const merged = mergeConfigs(configOf({}, parent), configOf({}, child));
    expect(merged.ignition.version).toBe(version);
  });

  it('keeps what only one of them has, even what is not known', () => {
    const merged = mergeConfigs(configOf({ x: [1], y: { a: 1 } }), configOf({ y: { b: 2 } }));
    expect(merged).toMatchObject({ x: [1], y: { a: 1, b: 2 } });
  });

  it.each(['__proto__', 'constructor'])('keeps a member %s as any other', (member) => {
    const odd = parseConfig(`{"ignition":{"version":"3.2.0"},"${member}":{"a":1}}`);
    const plain = configOf({}, '3.2.0');
    for (const merged of [mergeConfigs(odd, plain), mergeConfigs(plain, odd)])
      expect(JSON.stringify(merged)).toContain(`"${member}":{"a":1}`);
  });

  it('is refused for a spec whose lists are not known', () => {
    expect(() => mergeConfigs(configOf({}), configOf({}, '3.6.0'))).toThrow(
      expect.objectContaining({ code: 'ignition.version-unsupported' }),
    );
  });

  it('changes neither of the two', () => {
    const parent = configOf(files({ path: '/a', append: [{ source: 'data:,1' }] }));
    const child = configOf(files({ path: '/a', append: [{ source: 'data:,2' }] }));
    const before = structuredClone([parent, child]);
    mergeConfigs(parent, child);
    expect([parent, child]).toEqual(before);
  });
});

const name = fc.constantFrom('a', 'b', 'c');
const names = fc.uniqueArray(name);
const byKey = <T>(entry: fc.Arbitrary<T>, key: keyof T): fc.Arbitrary<T[]> =>
  fc.uniqueArray(entry, { selector: (value) => value[key], maxLength: 3 });

/** Configs without lists that share their keys, and without headers: the rest is associative. */
const anyConfig = fc
  .record(
    {
      files: byKey(
        fc.record(
          {
            path: name.map((path) => `/${path}`),
            mode: fc.nat(0o777),
            append: fc.array(fc.record({ source: name.map((text) => `data:,${text}`) })),
            user: fc.record({ id: fc.nat(9), name }, { requiredKeys: [] }),
          },
          { requiredKeys: ['path'] },
        ),
        'path',
      ),
      units: byKey(
        fc.record({ name, enabled: fc.boolean(), contents: name }, { requiredKeys: ['name'] }),
        'name',
      ),
      users: byKey(
        fc.record({ name, groups: names, uid: fc.nat(9) }, { requiredKeys: ['name'] }),
        'name',
      ),
    },
    { requiredKeys: [] },
  )
  .map((lists) =>
    configOf({
      storage: { files: lists.files },
      systemd: { units: lists.units },
      passwd: { users: lists.users },
    }),
  );

const nothing = configOf({});

describe('merging any configs', () => {
  it('with an empty one changes nothing', () => {
    fc.assert(
      fc.property(anyConfig, (config) => {
        expect(mergeConfigs(config, nothing)).toEqual(config);
        expect(mergeConfigs(nothing, config)).toEqual(config);
      }),
    );
  });

  it('gives the same however three of them are taken together', () => {
    fc.assert(
      fc.property(anyConfig, anyConfig, anyConfig, (one, two, three) => {
        expect(mergeConfigs(mergeConfigs(one, two), three)).toEqual(
          mergeConfigs(one, mergeConfigs(two, three)),
        );
      }),
    );
  });

  it('lets every scalar of the child win', () => {
    fc.assert(
      fc.property(anyConfig, anyConfig, (parent, child) => {
        const merged = mergeConfigs(parent, child);
        for (const unit of child.systemd?.units ?? []) {
          const found = merged.systemd?.units?.find((candidate) => candidate.name === unit.name);
          expect(found).toMatchObject(unit);
        }
      }),
    );
  });
});
