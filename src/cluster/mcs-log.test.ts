import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { addressesAsking, isMcsLog } from './mcs-log.ts';

/** A line as the kubelet writes it, with a timestamp before it. */
const line = (by: string, agent = 'Ignition/2.14.0'): string =>
  `2026-11-21T10:00:00.000000000+00:00 stderr F I1121 10:00:00.000000 1 api.go:109] Pool master requested by ${by} User-Agent:"${agent}" Accept-Header: "application/vnd.coreos.ignition+json;version=3.2.0"\n`;

const v4 = line('192.168.126.12:32780');
const zoned = line('[fe80::5054:ff:fe9a:4739%ens3]:40548');
const named = line('address:"[2620:52:0:1351:67c2:adb3:cfd6:83]:47018"');

describe('addressesAsking', () => {
  it.each([
    ['an IPv4 address', v4, ['192.168.126.12']],
    ['an IPv6 address with a zone', zoned, ['fe80::5054:ff:fe9a:4739']],
    ['an IPv6 address in an address field', named, ['2620:52:0:1351:67c2:adb3:cfd6:83']],
    ['an IPv6 address in another spelling', line('[FD00:0:0::7]:1'), ['fd00::7']],
    ['a client that is not Ignition', line('10.0.0.7:4', 'curl/7'), []],
    ['a host name', line('host.example:4'), []],
    ['an empty log', '', []],
    ['a very long word', `${'a'.repeat(100_000)}:1 User-Agent:"Ignition`, []],
  ])('finds the addresses in %s', (_, text, addresses) => {
    expect(addressesAsking(text)).toEqual(addresses);
  });
});

it('addressesAsking returns addresses that do not keep the log in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heap = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  let written = 'http: TLS handshake error from 192.168.111.5:41234: EOF\n'.repeat(10_000);
  const found = new Set<string>();
  const before = heap();
  for (let host = 100; host < 130; host += 1) {
    written += line(`address:"192.168.126.${host}:32780"`);
    for (const address of addressesAsking(Buffer.from(written).toString('utf8')))
      found.add(address);
  }
  // Thirty times the log is more than fifteen megabytes.
  expect(heap() - before).toBeLessThan(8_000_000);
  expect(found.size).toBe(30);
});

it.each([
  [
    'machine-config-server-abc_openshift-machine-config-operator_machine-config-server-1f.log',
    true,
  ],
  ['bootstrap-machine-config-server.log', true],
  ['machine-config-server.log.1', false],
])('isMcsLog for the file %s: %s', (name, expected) => {
  expect(isMcsLog(name)).toBe(expected);
});
