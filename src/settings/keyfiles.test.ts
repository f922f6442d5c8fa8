import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { droppedKeys, keyfileProblems, nmstateKeyfiles } from './keyfiles.ts';

const uuid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;
const file = (...lines: readonly string[]): string => ['[connection]', ...lines, ''].join('\n');
const eth0 = file('id=eth0', 'type=ethernet', `uuid=${uuid(1)}`, 'interface-name=eth0');
const bond = file('id = bond0', 'type=bond', 'interface-name=bond0', '[bond]', 'mode=802.3ad');
const port = file('id=eth1', 'type=ethernet', 'controller=bond0', 'port-type=bond');

describe('keyfileProblems', () => {
  it.each<readonly [string, Readonly<Record<string, string>>, RegExp | undefined]>([
    [
      'an address',
      { 'eth0.nmconnection': `${eth0}[ipv4]\nmethod=manual\naddress1=192.0.2.5/24\n` },
      undefined,
    ],
    [
      'comments and CRLF line breaks',
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
    ['no keyfiles', {}, /no keyfile/],
    ['a name without its extension', { eth0 }, /^eth0: .*\*\.nmconnection/],
    ['a hidden name', { '.eth0.nmconnection': eth0 }, /^\.eth0\.nmconnection: /],
    ['no section', { 'a.nmconnection': 'id=eth0\n' }, /^a\.nmconnection:1: /],
    [
      'a section that is not closed',
      { 'a.nmconnection': `${eth0}[ipv4\n` },
      /^a\.nmconnection:6: /,
    ],
    ['an invalid line', { 'a.nmconnection': `${eth0}method manual\n` }, /^a\.nmconnection:6: /],
    ['a byte order mark', { 'a.nmconnection': `\uFEFF${eth0}` }, /^a\.nmconnection:1: /],
    [
      'a no-break space',
      { 'a.nmconnection': eth0.replace('id=', '\u00a0\nid=') },
      /^a\.nmconnection:2: /,
    ],
    ['an invalid key', { 'a.nmconnection': `${eth0}id[=b\n` }, /^a\.nmconnection:6: /],
    ['a localized key', { 'a.nmconnection': `${eth0} id[de] = b \n` }, undefined],
    [
      'a key with two values',
      { 'a.nmconnection': `${eth0}[ipv4]\naddress1=192.0.2.5/24\naddress1=192.0.2.6/24\n` },
      /^a\.nmconnection:8: ipv4\.address1 is there twice$/,
    ],
    ['a key with one value twice', { 'a.nmconnection': `${eth0}id=eth0\n` }, undefined],
    [
      'a duplicate UUID',
      { 'a.nmconnection': eth0, 'b.nmconnection': eth0.replace('id=eth0', 'id=b') },
      /the same connection\.uuid$/,
    ],
    [
      'a port without its controller',
      { 'eth1.nmconnection': port },
      /^eth1\.nmconnection: no keyfile makes bond0/,
    ],
  ])('checks %s', (_, files, problem) => {
    const found = keyfileProblems(new Map(Object.entries(files)));
    expect(found).toEqual(problem === undefined ? [] : [expect.stringMatching(problem)]);
  });

  it('does not quote secrets of a file', () => {
    const text = '[802-1x]\npassword=planted-secret\nplanted-secret\n';
    const problems = keyfileProblems(new Map([['a.nmconnection', text]]));
    expect(problems).toEqual([expect.stringMatching(/^a\.nmconnection:3: /)]);
    expect(problems.join()).not.toContain('planted');
  });
});

describe('nmstateKeyfiles', () => {
  it.each([
    [
      "---\nNetworkManager:\n- - a.nmconnection\n  - '[connection]\n\n    id=a\n\n    '\n",
      '[connection]\nid=a\n',
    ],
    [
      'NetworkManager:\n- - a.nmconnection\n  - |\n    [connection]\n    id=a\n',
      '[connection]\nid=a\n',
    ],
  ])('parses %j', (printed, text) => {
    expect(nmstateKeyfiles(printed)).toEqual([['a.nmconnection', text]]);
  });

  it('parses the output of nmstatectl 2.2.62 for a bond and a VLAN', () => {
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

  it('returns an empty list when there are no keyfiles', () => {
    expect(nmstateKeyfiles('---\nNetworkManager: []\n')).toEqual([]);
  });

  it('keeps two keyfiles with the same name, which keyfileProblems reports', () => {
    const printed = ['eno1', 'eno2'].map((name) => [
      'uplink.nmconnection',
      file('id=uplink', 'type=ethernet', `interface-name=${name}`),
    ]);
    const files = nmstateKeyfiles(JSON.stringify({ NetworkManager: printed })) ?? [];
    expect(keyfileProblems(files)).toEqual([
      'uplink.nmconnection, uplink.nmconnection: the same file',
    ]);
  });

  it.each([
    '',
    '{}',
    'a: [',
    'NetworkManager: x',
    'NetworkManager: [[a]]',
    'NetworkManager: [[a, 1]]',
  ])('returns undefined for %j', (printed) => {
    expect(nmstateKeyfiles(printed)).toBeUndefined();
  });
});

describe('droppedKeys', () => {
  const vlan = (id: string): string => `${file('type=vlan')}[vlan]\nparent=eth0\nid=${id}\n`;
  const given = (...lines: readonly string[]): string => `${eth0}[ipv4]\n${lines.join('\n')}\n`;

  it.each<readonly [string, string, readonly string[]]>([
    [given('address1=192.0.2.5/33'), given('address1=192.0.2.5/24'), ['ipv4.address1']],
    [given('address1=192.0.2.5'), given('address1=192.0.2.5/24'), []],
    [
      given('addresses1=192.0.2.5;24;192.0.2.1;'),
      given('address1=192.0.2.5/24', 'gateway=192.0.2.1'),
      [],
    ],
    [given('dns=192.0.2.1', 'gateway=192.0.2.1'), given('gateway=192.0.2.1'), ['ipv4.dns']],
    [
      given('route1=10.0.0.0/8,192.0.2.1', 'gateway=192.0.2.1'),
      given('gateway=192.0.2.1'),
      ['ipv4.route1'],
    ],
    [
      given('route1=10.0.0.0/8,192.0.2.1', 'route1_options=table:100'),
      given('route1=10.0.0.0/8,192.0.2.1'),
      ['ipv4.route1_options'],
    ],
    [
      given('route1=10.0.0.0/8', 'route1_options=mtu=1400,table=100,bogus=1,cwnd=9'),
      given('route1=10.0.0.0/8', 'route1_options=mtu=1400,table=100'),
      ['ipv4.route1_options'],
    ],
    [
      given('route2=10.0.0.0/8', 'route2_options=table=100', 'route3_options=table=100'),
      given('route1=10.0.0.0/8', 'route1_options=table=100'),
      ['ipv4.route3_options'],
    ],
    [
      given('routes5=10.0.0.0/8', 'routes5_options=,table= 0100,lock-mtu=Yes,mtu=1,onlink=1,'),
      given('route1=10.0.0.0/8', 'route1_options=lock-mtu=true,mtu=1,onlink=true,table=100'),
      [],
    ],
    [
      given('routing-rule1=from 192.0.2.0/24 table 100', 'routing-rule2=priority 0x5 table 7'),
      given('routing-rule1=priority 5 from 0.0.0.0/0 table 7'),
      ['ipv4.routing-rule1'],
    ],
    [
      given('routing-rule1=priority 5 from all table 7', 'routing-rule2=priority 5 table isp'),
      given('routing-rule1=priority 5 from 0.0.0.0/0 table 7'),
      ['ipv4.routing-rule1', 'ipv4.routing-rule2'],
    ],
    [
      given('routing-rule0=pref 010 to 192.0.2.0/24 lookup main', 'routing-rule=', 'route-table=0'),
      given('routing-rule1=priority 8 to 192.0.2.0/24 table 254'),
      [],
    ],
    [
      given('routing-rule1=priority 5 table 7').replace('ipv4', 'ipv6'),
      given('routing-rule1=priority 5 from 0.0.0.0/0 table 7'),
      ['ipv6.routing-rule1'],
    ],
    [given('route-table=main'), given(), ['ipv4.route-table']],
    [given('route-table=0x64'), given('route-table=100'), []],
    [
      `${eth0}[802-3-ethernet]\nmac-address=52:54:00:AB:00:01\n`,
      `${eth0}[ethernet]\nmac-address=52:54:00:ab:00:01\n`,
      [],
    ],
    [`${eth0}[ethernet]\nmac-address=52\n`, eth0, []],
    [`${eth0}[ethernet]\nmac-address=52:54\n`, eth0, ['ethernet.mac-address']],
    [
      `${eth0}[ethernet]\nmac-address=52-54-0-ab-0-1\n`,
      `${eth0}[ethernet]\nmac-address=52:54:00:AB:00:01\n`,
      [],
    ],
    [`${eth0}[infiniband]\nmac-address=80:00:zz\n`, eth0, ['infiniband.mac-address']],
    [`${eth0}[bridge]\nmac-address=52:54:zz\n`, eth0, ['bridge.mac-address']],
    [`${eth0}[bridge-port]\nvlans=1-5 pvid,7\n`, given(), ['bridge-port.vlans']],
    // What NetworkManager 1.42.4 writes of each.
    [`${eth0}[bond]\nmode=lacp\n`, `${eth0}[bond]\nmode=balance-rr\n`, ['bond.mode']],
    [`${eth0}[bond]\nmode=4\n`, `${eth0}[bond]\nmode=802.3ad\n`, []],
    [
      `${eth0}[bond]\nmode=802.3ad\nmin_link=1\n`,
      `${eth0}[bond]\nmode=802.3ad\n`,
      ['bond.min_link'],
    ],
    [`${eth0}[bond]\ninterface-name=eth0\n`, `${eth0}[bond]\nmode=balance-rr\n`, []],
    [vlan('0110'), vlan('72'), ['vlan.id']],
    [vlan('5000'), `${file('type=vlan')}[vlan]\nparent=eth0\n`, ['vlan.id']],
    [vlan(''), `${file('type=vlan')}[vlan]\nparent=eth0\n`, ['vlan.id']],
    [vlan('0x6e'), vlan('110'), []],
    [`${eth0}[ethernet]\nmtu=9000 # jumbo\n`, `${eth0}[ethernet]\n`, ['ethernet.mtu']],
    [`${eth0}[ethernet]\nmtu=99999999999\n`, `${eth0}[ethernet]\n`, ['ethernet.mtu']],
    [`${eth0}[ethernet]\nmtu=0\nwake-on-lan=1\n`, `${eth0}[ethernet]\n`, []],
    [`${eth0}[wired]\nmtu=9000\n`, `${eth0}[ethernet]\n`, ['wired.mtu']],
    [`${eth0}[IPv4]\nmethod=manual\n`, given('method=auto'), ['IPv4.method']],
    [given('never-default=yes', 'may-fail=true'), given(), ['ipv4.never-default']],
    [given('never-default=yes'), '', []],
    [given('route-metric=0100'), given('route-metric=64'), ['ipv4.route-metric']],
    [given('adress2=192.0.2.6/24'), given(), ['ipv4.adress2']],
    [given('method=disabled', 'dns-search=;'), eth0, []],
    // A port: nmcli of RHEL 8 writes the default.
    [`${port}[ipv6]\naddr-gen-mode=stable-privacy\nmtu=1400\n`, port, []],
    [
      given('address1=192.0.2.5/24,192.0.2.1', 'never-default=true'),
      given('address1=192.0.2.5/24', 'never-default=true'),
      [],
    ],
    [
      given('addresses1=192.0.2.5;24;192.0.2.1', 'gateway=192.0.2.1', 'never-default=1'),
      given('address1=192.0.2.5/24', 'never-default=true'),
      [],
    ],
    [
      given('address1=192.0.2.5/33,192.0.2.1', 'never-default=true'),
      given('never-default=true'),
      ['ipv4.address1'],
    ],
    [
      `${eth0}[ethernet]\nmac-address-blacklist=52:54:00:ab:00:01\n`,
      `${eth0}[ethernet]\nmac-address-denylist=52:54:00:AB:00:01;\n`,
      [],
    ],
    [`${eth0}[ethernet]\nduplex=full\n`, `${eth0}[ethernet]\n`, []],
    [
      `${eth0}[bond]\nmode=802.3ad\ntlb_dynamic_lb=1\npackets_per_slave=1\narp_validate=all\n`,
      `${eth0}[bond]\nmode=802.3ad\n`,
      [],
    ],
    [
      file('controller=bond0', 'port-type=bond'),
      file(),
      ['connection.controller', 'connection.port-type'],
    ],
    [file('master=bond0'), file('controller=bond0'), []],
    [`${eth0}[bridge]\nvlans=7, 3-4,\n`, `${eth0}[bridge]\nvlans=3-4,7\n`, []],
  ])('compares %j with %j', (wanted, read, dropped) => {
    expect(droppedKeys(wanted, read)).toEqual(dropped);
  });
});
