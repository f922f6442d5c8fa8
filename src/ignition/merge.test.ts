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
    'takes an optional scalar from the child if it has one',
    files({ path: '/a', mode: 1, overwrite: true }),
    files({ path: '/a', mode: 0 }),
    files({ path: '/a', mode: 0, overwrite: true }),
  ],
  [
    'merges objects member by member',
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
    'merges entries with the same key in place and appends new ones',
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
    'replaces a file by a link with the same path',
    { storage: { files: [{ path: '/a' }, { path: '/b' }] } },
    { storage: { links: [{ path: '/a', target: '/b' }] } },
    { storage: { files: [{ path: '/b' }], links: [{ path: '/a', target: '/b' }] } },
  ],
  [
    'moves a kernel argument between shouldExist and shouldNotExist',
    { kernelArguments: { shouldExist: ['a', 'b'] } },
    { kernelArguments: { shouldNotExist: ['a'], shouldExist: ['c', 'b'] } },
    { kernelArguments: { shouldExist: ['b', 'c'], shouldNotExist: ['a'] } },
  ],
  [
    'merges lists of strings as sets in the order of the parent',
    user({ groups: ['b', 'a'], sshAuthorizedKeys: ['k1'] }),
    user({ groups: ['c', 'a'], sshAuthorizedKeys: ['k2', 'k1'] }),
    user({ groups: ['b', 'a', 'c'], sshAuthorizedKeys: ['k1', 'k2'] }),
  ],
  [
    'merges openOptions of LUKS as a set, but appends options',
    { storage: { luks: [{ name: 'a', options: ['x'], openOptions: ['x'] }] } },
    { storage: { luks: [{ name: 'a', options: ['x'], openOptions: ['x'] }] } },
    { storage: { luks: [{ name: 'a', options: ['x', 'x'], openOptions: ['x'] }] } },
  ],
  [
    'merges partitions by number, or by label without a number',
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
    'removes a header of the parent that has no value in the child',
    withHeaders(header('a', '1'), header('b', '2')),
    withHeaders(header('a'), header('c', '3')),
    withHeaders(header('b', '2'), header('c', '3')),
  ],
  [
    'merges entries of ignition.config.merge by their source',
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

describe('mergeConfigs', () => {
  it.each(rows)('%s', (...[, parent, child, merged]) => {
    expect(mergeConfigs(configOf(parent), configOf(child))).toEqual(configOf(merged));
  });

  it.each([
    ['3.1.0', '3.4.0', '3.4.0'],
    ['3.4.0', '3.1.0', '3.4.0'],
    ['3.2.0', '3.2.0', '3.2.0'],
  ])('merges spec %s and %s to spec %s', (parent, child, version) => {
    const merged = mergeConfigs(configOf({}, parent), configOf({}, child));
    expect(merged.ignition.version).toBe(version);
  });

  it('keeps members that only one config has, also unknown ones', () => {
    const merged = mergeConfigs(configOf({ x: [1], y: { a: 1 } }), configOf({ y: { b: 2 } }));
    expect(merged).toMatchObject({ x: [1], y: { a: 1, b: 2 } });
  });

  it.each(['__proto__', 'constructor'])('keeps a member named %s', (member) => {
    const odd = parseConfig(`{"ignition":{"version":"3.2.0"},"${member}":{"a":1}}`);
    const plain = configOf({}, '3.2.0');
    for (const merged of [mergeConfigs(odd, plain), mergeConfigs(plain, odd)])
      expect(JSON.stringify(merged)).toContain(`"${member}":{"a":1}`);
  });

  it('refuses a spec that it does not support', () => {
    expect(() => mergeConfigs(configOf({}), configOf({}, '3.6.0'))).toThrow(
      expect.objectContaining({ code: 'ignition.version-unsupported' }),
    );
  });

  it('does not change its arguments', () => {
    const parent = configOf(files({ path: '/a', append: [{ source: 'data:,1' }] }));
    const child = configOf(files({ path: '/a', append: [{ source: 'data:,2' }] }));
    const before = structuredClone([parent, child]);
    mergeConfigs(parent, child);
    expect([parent, child]).toEqual(before);
  });
});
