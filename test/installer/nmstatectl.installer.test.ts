// The real nmstatectl generates keyfiles that the agent and NetworkManager can read.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { networkManager } from '../../scripts/parts/scripted.ts';
import { nmstatectl } from '../../scripts/parts/nmstatectl.ts';
import { partFolder } from '../../scripts/parts/part.ts';
import { localHost } from '../../src/adapters/host/local-host.ts';
import { Config } from '../../src/config/schema.ts';
import type { Secret } from '../../src/model/secret.ts';
import type { Host } from '../../src/ports/host.ts';
import { readNmstate } from '../../src/steps/image/network.ts';
import { blocksOf } from '../guides/guide.ts';
import { createTestFolder, type TestFolder } from '../guest/rig/test-folder.ts';
import { networkManagerOnPath } from './network-manager.ts';

let folder: TestFolder;
let host: Host;

beforeAll(async () => {
  await ensureParts([networkManager, nmstatectl]);
  folder = createTestFolder('nmstatectl');
  const PATH = `${join(partFolder(nmstatectl), 'bin')}:${networkManagerOnPath(folder.path)}`;
  host = localHost({ environment: { PATH } });
}, 600_000);
afterAll(() => {
  folder[Symbol.dispose]();
});

const guide = readFileSync(new URL('../../docs/guides/static-network.md', import.meta.url), 'utf8');
const ofGuide = blocksOf(guide).find(({ path }) => path === 'nmstate.yaml')?.text ?? '';
const dhcp = { state: 'up', ipv4: { enabled: true, dhcp: true } };
const eno1 = { name: 'eno1', type: 'ethernet', ...dhcp };
const bond = `
interfaces:
  - name: bond0
    type: bond
    state: up
    link-aggregation: { mode: 802.3ad, port: [eno1, eno2], options: { miimon: '100' } }
    ipv4: { enabled: false }
    ipv6: { enabled: false }
  - name: bond0.110
    type: vlan
    state: up
    vlan: { base-iface: bond0, id: 110 }
    ipv4: { enabled: true, dhcp: false, address: [{ ip: 192.0.2.21, prefix-length: 24 }] }
    ipv6: { enabled: true, dhcp: false, autoconf: false, address: [{ ip: '2001:db8::21', prefix-length: 64 }] }
dns-resolver: { config: { search: [example.com], server: [192.0.2.53, '2001:db8::53'] } }
routes:
  config:
    - { destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0.110 }
    - { destination: '::/0', next-hop-address: '2001:db8::1', next-hop-interface: bond0.110 }
`;

/** States that nmstatectl or NetworkManager refuses, with the error. */
const states: readonly (readonly [string, string | undefined, RegExp])[] = [
  [
    'one profile for two interfaces',
    JSON.stringify({
      interfaces: ['eno1', 'eno2'].map((name) => ({ ...eno1, name, 'profile-name': 'uplink' })),
    }),
    /: uplink\.nmconnection, uplink\.nmconnection: the same file$/,
  ],
  [
    'a profile with a slash',
    JSON.stringify({ interfaces: [{ ...eno1, 'profile-name': 'a/b' }] }),
    /: a\/b\.nmconnection: NetworkManager reads only \*\.nmconnection$/,
  ],
  [
    'a VLAN without a parent, which NetworkManager refuses',
    JSON.stringify({ interfaces: [{ ...eno1, name: 'eno1.7', type: 'vlan' }] }),
    /: eno1\.7\.nmconnection: vlan\.parent: property is not specified/,
  ],
  ['no interface', 'interfaces: []\n', /: there is no keyfile$/],
  ['invalid YAML', 'interfaces: [', /exit code 1: Provide file is not valid NetworkState/],
  ['no file', undefined, /exit code 1: std::io::Error: No such file or directory/],
];

describe('nmstatectl', () => {
  it.each(states)('reports the error: %s', async (_, state, error) => {
    await expect(readState(state)).rejects.toMatchObject({
      code: 'network.bad-nmstate',
      message: expect.stringMatching(error) as string,
    });
  });

  it('warns about values that it changes or ignores', async () => {
    const notes: string[] = [];
    const state = {
      hostname: { config: 'a.example.com' },
      interfaces: [{ ...eno1, type: 'ethernett' }],
    };
    await readState(JSON.stringify(state), {
      note: (level, message) => notes.push(`${level}: ${message.replace(/.*?: /, '')}`),
    });
    expect(notes).toEqual([
      'warn: Unsupported interface type ethernett',
      'warn: Setting unknown type interface eno1 to ethernet',
      'warn: Cannot store hostname configuration to keyfile of NetworkManager, please edit /etc/hostname manually',
    ]);
  });

  it('prints a password of the wrong type in its error, which is masked', async () => {
    const password = { '802.1x': { identity: 'a', 'private-key-password': 20261128 } };
    const state = JSON.stringify({ interfaces: [{ ...eno1, ...password }] });
    const hidden: string[] = [];
    await expect(
      readState(state, { hide: (secret) => hidden.push(secret.reveal()) }),
    ).rejects.toMatchObject({
      code: 'network.bad-nmstate',
      message: expect.stringContaining('`20261128`') as string,
    });
    expect(hidden).toEqual(['20261128']);
  });
});

describe('the keyfiles of nmstatectl', () => {
  it.each<readonly [string, string, Readonly<Record<string, readonly string[]>>]>([
    [
      'a static address, a route and DNS',
      ofGuide,
      {
        eno1: [
          ...['interface-name=eno1', 'type=ethernet', 'method=manual', 'address1=192.0.2.21/24'],
          ...['dns=192.0.2.53;', 'route1=0.0.0.0/0,192.0.2.1,0'],
        ],
      },
    ],
    [
      'a bond, a VLAN, IPv6',
      bond,
      {
        bond0: ['type=bond', 'mode=802.3ad', 'miimon=100', 'method=disabled'],
        eno1: ['type=ethernet', 'controller=bond0', 'port-type=bond'],
        eno2: ['type=ethernet', 'controller=bond0', 'port-type=bond'],
        'bond0.110': [
          ...['type=vlan', 'id=110', 'parent=bond0', 'address1=192.0.2.21/24'],
          ...['dns=192.0.2.53;', 'dns-search=example.com;', 'route1=0.0.0.0/0,192.0.2.1,0'],
          ...['address1=2001:db8::21/64', 'dns=2001:db8::53;', 'route1=::/0,2001:db8::1,1024'],
        ],
      },
    ],
    [
      'a bridge of Open vSwitch',
      JSON.stringify({
        interfaces: [
          { ...eno1, ipv4: { enabled: false } },
          { ...eno1, name: 'br-ex', type: 'ovs-interface' },
          {
            name: 'br-ex',
            type: 'ovs-bridge',
            state: 'up',
            bridge: { port: [{ name: 'eno1' }, { name: 'br-ex' }] },
          },
        ],
      }),
      {
        'br-ex-br': ['type=ovs-bridge'],
        'br-ex-port': ['type=ovs-port', 'controller=br-ex', 'port-type=ovs-bridge'],
        'eno1-port': ['type=ovs-port', 'controller=br-ex', 'port-type=ovs-bridge'],
        'br-ex-if': ['type=ovs-interface', 'controller=br-ex', 'method=auto'],
        eno1: ['type=ethernet', 'controller=eno1', 'port-type=ovs-port'],
      },
    ],
  ])('are read by NetworkManager: %s', async (_, state, expected) => {
    const files = await readState(state);
    expect([...files.keys()].toSorted()).toEqual(
      Object.keys(expected)
        .map((name) => `${name}.nmconnection`)
        .toSorted(),
    );
    for (const [name, lines] of Object.entries(expected)) {
      const read = readByNetworkManager(files.get(`${name}.nmconnection`) ?? '');
      expect(read.split('\n')).toEqual(expect.arrayContaining([...lines]));
    }
  });
});

/**
 * A keyfile after NetworkManager has read, checked and written it, without a daemon and a network.
 */
function readByNetworkManager(keyfile: string): string {
  const modify = ['nmcli', '--offline', 'connection', 'modify', 'connection.autoconnect', 'yes'];
  return execFileSync('chroot', [join(partFolder(networkManager), 'tree'), ...modify], {
    input: keyfile,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

/** Reads the keyfiles of a state as a step does; without a state the file does not exist. */
function readState(
  state: string | undefined,
  how: {
    readonly hide?: (secret: Secret) => void;
    readonly note?: (level: string, message: string) => void;
  } = {},
): Promise<ReadonlyMap<string, string>> {
  const path = join(folder.path, state === undefined ? 'none.yaml' : 'state.yaml');
  if (state !== undefined) writeFileSync(path, state, { mode: 0o600 });
  const config = Config.parse({ network: { nmstate: path } });
  const { signal } = new AbortController();
  return readNmstate({
    hide: () => undefined,
    note: () => undefined,
    ...how,
    host,
    config,
    signal,
  });
}
