import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { keyfileProblems, nmstateKeyfiles } from './keyfiles.ts';

const uuid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;
const file = (...lines: readonly string[]): string => ['[connection]', ...lines, ''].join('\n');
const eth0 = file('id=eth0', 'type=ethernet', `uuid=${uuid(1)}`, 'interface-name=eth0');
const bond = file('id = bond0', 'type=bond', 'interface-name=bond0', '[bond]', 'mode=802.3ad');
const port = file('id=eth1', 'type=ethernet', 'controller=bond0', 'port-type=bond');

describe('the problems of keyfiles', () => {
  it.each<readonly [string, Readonly<Record<string, string>>, RegExp | undefined]>([
    [
      'an address',
      { 'eth0.nmconnection': `${eth0}[ipv4]\nmethod=manual\naddress1=192.0.2.5/24\n` },
      undefined,
    ],
    [
      'with comments',
      { 'a.nmconnection': `# by hand\r\n\r\n${eth0.replaceAll('\n', '\r\n')}` },
      undefined,
    ],
    ['a bond', { 'bond0.nmconnection': bond, 'eth1.nmconnection': port }, undefined],
    [
      'a bond by its UUID',
      {
        'bond0.nmconnection': file('id=b', 'type=bond', `uuid=${uuid(2)}`, 'interface-name=bond0'),
        'eth1.nmconnection': file('id=e', 'type=ethernet', `master=${uuid(2)}`, 'slave-type=bond'),
      },
      undefined,
    ],
    ['nothing', {}, /no keyfile/],
    ['another name', { eth0 }, /^eth0: .*\*\.nmconnection/],
    ['a hidden name', { '.eth0.nmconnection': eth0 }, /^\.eth0\.nmconnection: /],
    ['no section', { 'a.nmconnection': 'id=eth0\n' }, /^a\.nmconnection:1: /],
    ['an open section', { 'a.nmconnection': `${eth0}[ipv4\n` }, /^a\.nmconnection:6: /],
    ['a line that is none', { 'a.nmconnection': `${eth0}method manual\n` }, /^a\.nmconnection:6: /],
    ['a byte order mark', { 'a.nmconnection': `\uFEFF${eth0}` }, /^a\.nmconnection:1: /],
    [
      'a no-break space',
      { 'a.nmconnection': eth0.replace('id=', '\u00a0\nid=') },
      /^a\.nmconnection:2: /,
    ],
    ['a key that is none', { 'a.nmconnection': `${eth0}id[=b\n` }, /^a\.nmconnection:6: /],
    ['a key of a language', { 'a.nmconnection': `${eth0} id[de] = b \n` }, undefined],
    ['no connection', { 'a.nmconnection': '[ipv4]\nmethod=auto\n' }, /connection\.type is missing/],
    ['no type', { 'a.nmconnection': file('id=a') }, /connection\.type is missing/],
    [
      'a VLAN of nothing',
      { 'a.nmconnection': file('id=a', 'type=vlan', '[vlan]', 'id=7') },
      /vlan\.parent is missing/,
    ],
    ['a VLAN', { 'a.nmconnection': file('id=a', 'type=vlan', '[vlan]', 'parent=eth0') }, undefined],
    [
      'a VLAN by an address',
      {
        'a.nmconnection': file('id=a', 'type=vlan', '[ethernet]', 'mac-address=52:54:00:00:00:01'),
      },
      undefined,
    ],
    ['no UUID', { 'a.nmconnection': file('id=a', 'type=ethernet', 'uuid=1') }, /uuid is no UUID/],
    [
      'one id twice',
      {
        'a.nmconnection': file('id=a', 'type=ethernet'),
        'b.nmconnection': file('id=a', 'type=wifi'),
      },
      /^a\.nmconnection, b\.nmconnection: the same connection\.id$/,
    ],
    [
      'one UUID twice',
      { 'a.nmconnection': eth0, 'b.nmconnection': eth0.replace('id=eth0', 'id=b') },
      /the same connection\.uuid$/,
    ],
    ['a port alone', { 'eth1.nmconnection': port }, /^eth1\.nmconnection: no keyfile makes bond0/],
  ])('%s', (_, files, problem) => {
    const found = keyfileProblems(new Map(Object.entries(files)));
    expect(found).toEqual(problem === undefined ? [] : [expect.stringMatching(problem)]);
  });

  const ip = (family: string, ...lines: readonly string[]): string =>
    [`${eth0}[${family}]`, ...lines, ''].join('\n');
  const ofPort = (...lines: readonly string[]): string =>
    file('id=eth1', 'type=ethernet', ...lines);

  it.each<readonly [string, string]>([
    [
      file('id=a', 'type=ethernet # wired'),
      'connection.type is no type: a comment begins its line',
    ],
    [file('id=a', 'type="bond"'), 'connection.type is no type'],
    [file('id=a', 'type=bond'), 'connection.interface-name is missing'],
    [file('id=a', '[bond]', 'mode=802.3ad'), 'connection.interface-name is missing'],
    [file('id=', 'type=ethernet'), 'connection.id is missing'],
    ...['enp0s31f6np0.3210', 'eth 0', 'eth/0', ''].map(
      (name) =>
        [
          file('id=a', 'type=ethernet', `interface-name=${name}`),
          'connection.interface-name is no name of an interface',
        ] as const,
    ),
    [
      file('id=a', 'type=vlan', '[vlan]', 'parent=bond0 # uplink'),
      'vlan.parent is neither an interface nor a UUID: a comment begins its line',
    ],
    [ofPort('controller=bond0'), 'connection.port-type is missing beside connection.controller'],
    [ofPort('master=bond0'), 'connection.port-type is missing beside connection.controller'],
    [ofPort('port-type=bond'), 'connection.controller is missing beside connection.port-type'],
    [ofPort('controller=b', 'port-type=bonding'), 'connection.port-type is no type of a port'],
    [ip('ipv4'), 'ipv4.method is missing or no method'],
    [ip('ipv4', 'address1=192.0.2.5/24'), 'ipv4.method is missing or no method'],
    [ip('ipv4', 'method=dhcp'), 'ipv4.method is missing or no method'],
    [
      ip('ipv4', 'method=auto # DHCP'),
      'ipv4.method is missing or no method: a comment begins its line',
    ],
    [ip('ipv6', 'method=static'), 'ipv6.method is missing or no method'],
    ...[
      '',
      'address1=192.0.2.300/24',
      'address1="192.0.2.5/24"',
      'address1=192.0.2.5/24 # static',
      'address1=2001:db8::5/64',
      'ip=192.0.2.5/24',
      'address01=192.0.2.5/24',
      'route1=default,192.0.2.1',
    ].map(
      (line) =>
        [
          ip('ipv4', 'method=manual', line),
          'ipv4.method=manual needs address1=ADDRESS/PREFIX',
        ] as const,
    ),
    [
      ip('ipv6', 'method=manual', 'address1=192.0.2.5/24'),
      'ipv6.method=manual needs address1=ADDRESS/PREFIX',
    ],
    [ip('ipv4', 'method=disabled', 'address1=192.0.2.5/24'), 'ipv4.method=disabled has no address'],
    [
      ip('ipv4', 'method=auto', 'gateway=192.0.2.1'),
      'ipv4.gateway is no address, or has none beside it',
    ],
    [
      ip('ipv4', 'method=manual', 'address1=192.0.2.5/24', 'gateway=192.0.2.1 # gw'),
      'ipv4.gateway is no address, or has none beside it: a comment begins its line',
    ],
  ])('that NetworkManager would not read: %j', (text, problem) => {
    expect(keyfileProblems([['a.nmconnection', text]])).toEqual([`a.nmconnection: ${problem}`]);
  });

  it.each([
    file('id=a', 'type=bond', '[bond]', 'interface-name=bond0'),
    file('id=a', 'type=ovs-bridge', 'interface-name=br-ex-of-all-the-nodes'),
    file('id=a', 'type=vlan', '[vlan]', `parent=${uuid(1)}`),
    file('type=ethernet', 'interface-name=eth0'),
    '[ethernet]\nmtu=9000\n[ipv4]\nmethod=auto\n',
    ip('ipv6', 'method=dhcp'),
    ip('ipv6', 'method=ignore'),
    ip('ipv4', 'method=auto', 'address1=192.0.2.5/24,192.0.2.1'),
    ip('ipv4', 'method=manual', 'route1=192.0.2.0/24'),
    ip('ipv4', 'method=manual', 'addresses1=192.0.2.5;24;192.0.2.1;'),
    ip('ipv4', 'method=manual', 'address=192.0.2.5', 'gateway=192.0.2.1'),
    ip('ipv6', 'method=manual', 'address1=2001:DB8::5/64', 'gateway=2001:db8::1'),
  ])('are none: %j', (text) => {
    expect(keyfileProblems([['a.nmconnection', text]])).toEqual([]);
  });

  it('are none of a port that says by its own section what it is of', () => {
    const own = file('id=e', 'type=ethernet', 'controller=bond0', '[bond-port]', 'prio=5');
    expect(
      keyfileProblems(Object.entries({ 'a.nmconnection': bond, 'b.nmconnection': own })),
    ).toEqual([]);
  });

  it('show no secret of a file', () => {
    const text = '[802-1x]\npassword=planted-secret\nplanted-secret\n';
    expect(keyfileProblems(new Map([['a.nmconnection', text]])).join()).not.toContain('planted');
  });
});

describe('the keyfiles that nmstatectl prints', () => {
  it.each([
    [
      "---\nNetworkManager:\n- - a.nmconnection\n  - '[connection]\n\n    id=a\n\n    '\n",
      '[connection]\nid=a\n',
    ],
    [
      'NetworkManager:\n- - a.nmconnection\n  - |\n    [connection]\n    id=a\n',
      '[connection]\nid=a\n',
    ],
  ])('are read of %j', (printed, text) => {
    expect(nmstateKeyfiles(printed)).toEqual([['a.nmconnection', text]]);
  });

  it('are read of what nmstatectl 2.2.62 printed for a bond and a VLAN', () => {
    const log = new URL('../../mocks/logs/nmstatectl/bond-vlan.txt', import.meta.url);
    const files = nmstateKeyfiles(readFileSync(log, 'utf8'));
    expect(files?.map(([name]) => name.replace('.nmconnection', ''))).toEqual([
      'bond0',
      'eno1',
      'eno2',
      'bond0.110',
    ]);
    expect(new Map(files).get('eno2.nmconnection')).toMatch(/^\[connection\]\n.*^master=bond0$/ms);
    expect(keyfileProblems(files ?? [])).toEqual([]);
  });

  it('may be none', () => {
    expect(nmstateKeyfiles('---\nNetworkManager: []\n')).toEqual([]);
  });

  it('may be two of one name, which is a problem', () => {
    const printed = ['eno1', 'eno2'].map((name) => [
      'uplink.nmconnection',
      file('id=uplink', 'type=ethernet', `interface-name=${name}`),
    ]);
    const files = nmstateKeyfiles(JSON.stringify({ NetworkManager: printed })) ?? [];
    expect(keyfileProblems(files)).toEqual([
      'uplink.nmconnection, uplink.nmconnection: the same connection.id',
    ]);
  });

  it.each([
    '',
    '{}',
    'a: [',
    'NetworkManager: x',
    'NetworkManager: [[a]]',
    'NetworkManager: [[a, 1]]',
  ])('are not read of %j', (printed) => {
    expect(nmstateKeyfiles(printed)).toBeUndefined();
  });
});
