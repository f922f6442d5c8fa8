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
    'a link takes the place of a file with its path',
    { storage: { files: [{ path: '/a' }, { path: '/b' }] } },
    { storage: { links: [{ path: '/a', target: '/b' }] } },
    { storage: { files: [{ path: '/b' }], links: [{ path: '/a', target: '/b' }] } },
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
