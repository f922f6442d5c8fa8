import { expect, it, describe } from 'vitest';
import {
  addressReadFrom,
  canonicalAddress,
  hostInUrl,
  isWithin,
  listenAddressOf,
} from './address.ts';

it.each([
  ['192.168.126.12', '192.168.126.12'],
  ['2620:52:0:1351:67C2:ADB3:cfd6:83', '2620:52:0:1351:67c2:adb3:cfd6:83'],
  ['2620:0052:0000:1351:67c2:adb3:cfd6:0083', '2620:52:0:1351:67c2:adb3:cfd6:83'],
  ['fe80:0:0:0:5054:ff:fe9a:4739', 'fe80::5054:ff:fe9a:4739'],
  ['fe80::5054:ff:fe9a:4739%ens3', 'fe80::5054:ff:fe9a:4739'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['0:0:0:0:0:ffff:c0a8:7e0c', '192.168.126.12'],
  ['::1', '::1'],
])('normalizes %s to %s', (text, canonical) => {
  expect(canonicalAddress(text)).toBe(canonical);
});

it.each([
  '',
  '10.0.0',
  '10.0.0.256',
  '10.0.0.01',
  'host.example',
  '1:2',
  'fe80::1]/x?[::',
  '10.0.0.1:80',
  ':::',
])('rejects %j as an address', (text) => {
  expect(canonicalAddress(text)).toBeUndefined();
});

it.each([
  [true, '192.0.2.255', '192.0.2.0/24'],
  [true, '192.0.2.129', '192.0.2.128/25'],
  [true, '2001:DB8:0::5', '2001:db8::/64'],
  [true, '::ffff:192.0.2.1', '192.0.2.0/24'],
  [true, '192.0.2.1', '192.0.2.1/32'],
  [false, '192.0.3.0', '192.0.2.0/24'],
  [false, '192.0.2.127', '192.0.2.128/25'],
  [false, '2001:db8:0:1::5', '2001:db8::/64'],
  [false, '192.0.2.1', '2001:db8::/1'],
  ...['192.0.2.0', '192.0.2.0/33', '0.0.0.0/0', 'x/24', '192.0.2.0/24/24x', '/1', ''].map(
    (network) => [false, '192.0.2.1', network] as [boolean, string, string],
  ),
  [false, 'x', '192.0.2.0/24'],
])('returns %s for address %s in network %s', (expected, address, network) => {
  expect(isWithin(address, [network])).toBe(expected);
});

it.each([
  ['inventory.example', 'inventory.example'],
  ['192.0.2.7', '192.0.2.7'],
  ['2001:db8::', '[2001:db8::]'],
  ['[2001:db8::7]:8443', '[2001:db8::7]:8443'],
  ['inventory.example:8443', 'inventory.example:8443'],
])('writes %s into a URL as %s', (host, written) => {
  expect(hostInUrl(host)).toBe(written);
});

it.each([
  ['http://192.168.010.005:8090', '192.168.8.5'],
  ['http://10.1:8090', '10.0.0.1'],
  ['http://u:p@3232235777:3128', '192.168.1.1'],
  ['https://0xa.0.0.1/path', '10.0.0.1'],
  ['http://192.168.10.5:8090', undefined],
  ['http://192.168.10.5.', undefined],
  ['http://[::ffff:192.0.2.1]', undefined],
  ['http://10.example', undefined],
  ['10.1', undefined],
])('reads from the URL %s the address %s', (url, address) => {
  expect(addressReadFrom(url)).toBe(address);
});

describe('listenAddressOf', () => {
  it.each([
    [':9110', { port: 9110 }],
    ['127.0.0.1:9110', { host: '127.0.0.1', port: 9110 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
  ])('parses %s', (text, address) => {
    expect(listenAddressOf(text)).toEqual(address);
  });

  it.each(['', '9110', 'localhost', '::1:9110', 'host:65536', 'host:09', 'http://host:1', 'a b:1'])(
    'rejects %j',
    (text) => {
      expect(listenAddressOf(text)).toBeUndefined();
    },
  );
});
