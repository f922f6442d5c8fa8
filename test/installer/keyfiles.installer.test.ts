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
  [
    'a type with a comment',
    '[connection]\nid=a\ntype=ethernet # wired\n',
    'invalid connection type',
  ],
  ['a VLAN without a parent', vlan.replace('parent=eno1', 'id=7'), 'vlan.parent'],
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
])('are accepted with %s', async (_, text) => {
  expect(await check({ 'a.nmconnection': text })).toEqual([]);
});

it('have their secrets masked in a refusal', async () => {
  const text = `${eno1}[802-1x]\neap=peap\npassword=planted-secret\n[ipv4]\nmethod=planted\n`;
  await expect(check({ 'a.nmconnection': text })).rejects.toMatchObject({
    message: expect.not.stringContaining('planted-secret') as string,
  });
});
