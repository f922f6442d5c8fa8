import { describe, expect, it } from 'vitest';
import { hostOf, reachableAddresses, withPort } from './addresses.ts';

const address = (local: string, prefixlen: number, more = {}) => ({
  local,
  prefixlen,
  family: local.includes(':') ? 'inet6' : 'inet',
  ...more,
});
const interfaces = JSON.stringify([
  { ifname: 'cni-podman0', addr_info: [address('10.88.0.1', 16)] },
  {
    ifname: 'ens3',
    addr_info: [
      address('192.0.2.5', 32),
      address('2001:db8::2', 64),
      address('192.0.2.2', 24),
      address('2001:db8::3', 64, { temporary: true }),
      address('2001:db8::4', 64, { deprecated: true }),
    ],
  },
]);
const route = JSON.stringify([{ dst: 'default', dev: 'ens3' }]);

describe('reachableAddresses', () => {
  it('begins with an address that stays, on a device that leads everywhere', () => {
    expect(reachableAddresses(interfaces, [route, '[]'])).toEqual([
      '192.0.2.2',
      '2001:db8::2',
      '192.0.2.5',
      '2001:db8::3',
    ]);
  });

  it.each([
    ['takes all where no route is known', interfaces, ['', ''], '10.88.0.1'],
    ['finds none in nothing', '', [''], undefined],
  ])('%s', (...[, text, routes, first]) => {
    expect(reachableAddresses(text, routes)[0]).toBe(first);
  });
});

it.each([
  ['192.0.2.2', '192.0.2.2:22626'],
  ['2001:db8::2', '[2001:db8::2]:22626'],
])('writes %s with a port and back', (host, text) => {
  expect(withPort(host, 22_626)).toBe(text);
  expect(hostOf(text)).toBe(host);
});
