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
const route = 'route1=198.51.100.0/24,192.0.2.254';
const infiniband = '[connection]\nid=i\ntype=infiniband\n[infiniband]\ntransport-mode=datagram\n';
const bridge = '[connection]\nid=b\ntype=bridge\ninterface-name=br0\n[bridge]\n';
const bond = '[connection]\nid=b\ntype=bond\ninterface-name=bond0\n[bond]\n';
const vlan = '[connection]\nid=v\ntype=vlan\ninterface-name=eno1.7\n[vlan]\nparent=eno1\n';

it.each([
  ['a netmask', v4('address1=192.0.2.21/255.255.255.0,192.0.2.1'), 'at least an address'],
  [
    'a type with a comment',
    '[connection]\nid=a\ntype=ethernet # wired\n',
    'invalid connection type',
  ],
  ['a VLAN without a parent', vlan.replace('parent=eno1', 'id=7'), 'vlan.parent'],
  ['route options with a colon', v4(route, 'route1_options=table:100'), 'ipv4.route1_options'],
  [
    'route options of which it knows the first',
    v4(route, 'route1_options=table=100,via=192.0.2.1,mtu=1400'),
    'ipv4.route1_options',
  ],
  [
    'a routing rule without a priority',
    v4(
      route,
      'routing-rule1=from 192.0.2.0/24 table 100',
      'routing-rule2=priority 6 from all table 100',
    ),
    'takes ipv4.routing-rule1 in part',
  ],
  ['a table by its name', v4(route, 'route-table=main'), 'ipv4.route-table'],
  [
    'a short hardware address of InfiniBand',
    `${infiniband}mac-address=80:00:zz\n`,
    'infiniband.mac-address',
  ],
  ['a range of VLANs as PVID', `${bridge}vlans=1-5 pvid,7\n`, 'bridge.vlans'],
  ['a VLAN with a leading zero', `${vlan}id=0110\n`, 'vlan.id'],
  ['a VLAN above 4094', `${vlan}id=5000\n`, 'vlan.id'],
  ['a mode that no bond has', `${bond}mode=lacp\n`, 'bond.mode'],
  ['an option that no bond has', `${bond}mode=802.3ad\nmin_link=1\n`, 'bond.min_link'],
  ['an MTU with a comment', `${eno1}[ethernet]\nmtu=9000 # jumbo\n`, 'ethernet.mtu'],
  ['yes for true', v4('address1=192.0.2.21/24', 'never-default=yes'), 'ipv4.never-default'],
  ['a misspelt key', v4('address1=192.0.2.21/24', 'adress2=192.0.2.22/24'), 'ipv4.adress2'],
  ['a misspelt section', `${eno1}[IPv4]\nmethod=manual\n`, 'IPv4.method'],
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
    'IPv6 in non-canonical form',
    `${eno1}[ipv6]\nmethod=manual\naddress1=2001:DB8::0005/64,fe80::1\nroute1=2001:db8:1::/48,::,5\ndns=2001:DB8::53\n`,
  ],
  ['a VLAN', `${vlan}id=7\n`],
  [
    'route options in other spelling and order',
    v4(
      'route5=198.51.101.0/24,192.0.2.254',
      'route5_options=,table= 0100,onlink=1,lock-mtu=Yes,mtu=1400,src=192.0.2.21,tos=16,weight=5,',
      route,
      'route1_options=type=unicast,scope=0,cwnd=+20,quickack=off',
      'routes2=203.0.113.0/24',
      'routes2_options=table=0',
    ),
  ],
  [
    'options of an IPv6 route',
    `${eno1}[ipv6]\nmethod=auto\nroute1=2001:DB8:1::/48,2001:DB8::0001\nroute1_options=src=2001:DB8::0005,from=2001:DB8::/32\n`,
  ],
  [
    'routing rules in other spelling and order',
    v4(
      route,
      'routing-rule7=priority 0x10 from 192.0.2.0/24 lookup main',
      'routing-rule2=not pref 010 to 10.0.0.0/8 fwmark 0x5/7 iif eno1 blackhole',
      'routing-rule=priority 5 from all table 100 suppress_prefixlength 0',
      'routing-rule0=priority 5 from all table 100 suppress_prefixlength 0',
      'route-table=0x64',
    ),
  ],
  ['hardware addresses in other spelling', `${eno1}[ethernet]\nmac-address=52-54-0-ab-0-1\n`],
  [
    'defaults, numbers and booleans in other spelling',
    `${eno1}[ethernet]\nmtu=0x2328\nwake-on-lan=1\n[ipv4]\nmethod=auto\nmay-fail=1\nroute-metric=-1\nignore-auto-dns=1\ndns-search=\n`,
  ],
  ['the number of a mode', `${bond}mode=4\nmiimon=100\n`],
  [
    'the older place of a name',
    `${bond.replace('interface-name=bond0\n', '')}interface-name=bond0\n`,
  ],
  ['VLANs of a bridge in another order', `${bridge}vlans=7 untagged pvid, 3-4,\n`],
  [
    'a gateway that never-default leaves out',
    v4('address1=192.0.2.21/24,192.0.2.1', 'never-default=true'),
  ],
  ['a duplex mode without a speed', `${eno1}[ethernet]\nduplex=full\n`],
  [
    'options of other modes of a bond',
    `${bond}mode=802.3ad\nmiimon=100\ntlb_dynamic_lb=1\npackets_per_slave=1\narp_validate=all\n`,
  ],
])('are accepted with %s', async (_, text) => {
  expect(await check({ 'a.nmconnection': text })).toEqual([]);
});

it('are accepted with the defaults that nmcli of RHEL 8 writes for a port', async () => {
  const port = `${eno1}master=bond0\nslave-type=bond\n[ethernet]\nmac-address-blacklist=\n`;
  const ip =
    '[ipv4]\ndns-search=\nmethod=auto\n[ipv6]\naddr-gen-mode=stable-privacy\nmethod=auto\n';
  const files = { 'a.nmconnection': `${port}${ip}`, 'b.nmconnection': `${bond}mode=802.3ad\n` };
  expect(await check(files)).toEqual([]);
});

it('have their secrets masked in a refusal', async () => {
  const text = `${eno1}[802-1x]\neap=peap\npassword=planted-secret\n[ipv4]\nmethod=planted\n`;
  await expect(check({ 'a.nmconnection': text })).rejects.toMatchObject({
    message: expect.not.stringContaining('planted-secret') as string,
  });
});
