// Keyfiles for an installation, verified by the real `nmcli --offline` as on the live host.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { networkManager } from '../../scripts/parts/scripted.ts';
import { localHost } from '../../src/adapters/host/local-host.ts';
import { Config } from '../../src/config/schema.ts';
import { checkKeyfiles } from '../../src/steps/image/network.ts';
import { createTestFolder } from '../guest/rig/test-folder.ts';
import { networkManagerOnPath } from './network-manager.ts';

const folder = createTestFolder('keyfiles');
let PATH = '';
beforeAll(async () => {
  await ensureParts([networkManager]);
  PATH = networkManagerOnPath(folder.path);
}, 600_000);
afterAll(() => {
  folder[Symbol.dispose]();
});

let count = 0;

/**
 * Checks keyfiles as the installation does before it changes the disk; resolves with the warnings.
 */
async function check(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const net = join(folder.path, `net${(count += 1)}`);
  mkdirSync(net);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(net, name), text);
    chmodSync(join(net, name), 0o600);
  }
  const notes: string[] = [];
  await checkKeyfiles({
    host: localHost({ environment: { PATH } }),
    config: Config.parse({ network: { keyfiles: net } }),
    signal: new AbortController().signal,
    hide: () => undefined,
    note: (level, message) => notes.push(`${level}: ${message}`),
  });
  return notes;
}

const eno1 = '[connection]\nid=a\ntype=ethernet\ninterface-name=eno1\n';
const v4 = (...lines: readonly string[]): string =>
  `${eno1}[ipv4]\nmethod=manual\n${lines.join('\n')}\n`;
const vlan = '[connection]\nid=v\ntype=vlan\ninterface-name=eno1.7\n[vlan]\nparent=eno1\n';

it.each([
  ['a netmask', v4('address1=192.0.2.21/255.255.255.0,192.0.2.1'), 'at least an address'],
  ['two in one', v4('addresses=192.0.2.21/24;192.0.2.22/24;'), 'at least an address'],
  ['a gateway behind a blank', v4('address1=192.0.2.21/24 192.0.2.1'), 'at least an address'],
  ['no address', v4('address1='), 'at least an address'],
  ['a gateway of IPv6', v4('address1=192.0.2.21/24,2001:db8::1'), 'gateway is invalid'],
  ['no method', `${eno1}[ipv4]\naddress1=192.0.2.21/24\n`, 'ipv4.method: property is missing'],
  [
    'a type with a comment',
    '[connection]\nid=a\ntype=ethernet # wired\n',
    'invalid connection type',
  ],
  [
    'a bond without its name',
    '[connection]\nid=a\ntype=bond\n',
    'interface-name: property is missing',
  ],
  ['a VLAN of nothing', vlan.replace('parent=eno1', 'id=7'), 'vlan.parent'],
  ['a VLAN beyond 4094', `${vlan}id=4095\n`, 'vlan.id: the vlan id must be'],
  [
    'a route with via',
    v4('address1=192.0.2.21/24', 'route1=198.51.100.0/24 via 192.0.2.254'),
    'ipv4.route1',
  ],
  ['DNS servers with a comma', v4('address1=192.0.2.21/24', 'dns=192.0.2.2,192.0.2.3'), 'ipv4.dns'],
  ['a DNS server that is none', v4('address1=192.0.2.21/24', 'dns=192.0.2.300;'), 'ipv4.dns'],
  ['a prefix of 33', v4('address1=192.0.2.21/33'), 'ipv4.address1'],
  [
    'a second address that is none',
    v4('address1=192.0.2.21/24', 'address2=192.0.2.22/24;192.0.2.1/24'),
    'ipv4.address2',
  ],
  [
    'a hardware address that is none',
    `${eno1}[ethernet]\nmac-address=52:54:00:00:01\n`,
    'ethernet.mac-address',
  ],
  ['a VLAN without its id', vlan, 'vlan.id'],
  ['a VLAN whose id is none', `${vlan}id=seven\n`, 'vlan.id'],
])('are refused with %s', async (_, text, what) => {
  await expect(check({ 'a.nmconnection': text })).rejects.toMatchObject({
    code: 'network.bad-keyfile',
    message: expect.stringContaining(what) as string,
  });
});

it.each([
  [
    'an address, a gateway, a route',
    v4('address1=192.0.2.21/24,192.0.2.1', 'route1=198.51.100.0/24,192.0.2.254,100'),
  ],
  [
    'what older versions wrote',
    v4('addresses1=192.0.2.5;24;192.0.2.1;', 'routes1=10.1.0.0;16;192.0.2.1;0'),
  ],
  [
    'a gateway of its own and a route to it',
    v4('address=192.0.2.5', 'gateway=192.0.2.1', 'route=0.0.0.0/0,0.0.0.0'),
  ],
  [
    'DNS servers',
    v4('address1=192.0.2.5/24', 'dns=192.0.2.2;192.0.2.2;192.0.2.3', 'dns-search=a.example;'),
  ],
  [
    'IPv6 in another spelling',
    `${eno1}[ipv6]\nmethod=manual\naddress1=2001:DB8::0005/64,fe80::1\nroute1=2001:db8:1::/48,::,5\ndns=2001:DB8::53\n`,
  ],
  [
    'a hardware address',
    `${eno1}[802-3-ethernet]\nmac-address=52:54:00:ab:CD:01\ncloned-mac-address=preserve\n`,
  ],
  ['a VLAN', `${vlan}id=7\n`],
  ['VLAN 0', `${vlan}id=0\n`],
  [
    'a rule of routing',
    v4('address1=192.0.2.5/24', 'routing-rule1=priority 5 from 192.0.2.3 table 6'),
  ],
])('are taken with %s', async (_, text) => {
  expect(await check({ 'a.nmconnection': text })).toEqual([]);
});

it('have no secret in a refusal', async () => {
  const text = `${eno1}[802-1x]\neap=peap\npassword=planted-secret\n[ipv4]\nmethod=planted\n`;
  await expect(check({ 'a.nmconnection': text })).rejects.toMatchObject({
    message: expect.not.stringContaining('planted-secret') as string,
  });
});
