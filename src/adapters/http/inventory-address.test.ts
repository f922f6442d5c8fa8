import { describe, expect, it } from 'vitest';
import { inventoryAddress } from './inventory-address.ts';

describe('an address of the inventory service', () => {
  it.each<[string, string | undefined]>([
    ['192.168.126.10/24', '192.168.126.10'],
    ['192.168.126.10', '192.168.126.10'],
    ['2001:DB8:0:0:1::0001/64', '2001:db8::1:0:0:1'],
    ['fd00::5/128', 'fd00::5'],
    ['::ffff:10.0.0.5/96', '10.0.0.5'],
    ['::1', '::1'],
    ['fe80::1%eth0/64', undefined],
    ['192.168.126.010/24', undefined],
    ['192.168.126/24', undefined],
    ['10.0.0.5/x', undefined],
    ['', undefined],
    ['dhcp', undefined],
  ])('%s is %s', (given, expected) => {
    expect(inventoryAddress(given)).toBe(expected);
  });
});
