import { describe, expect, it } from 'vitest';
import { inventoryHost } from '../../test/support/fake-inventory.ts';
import { hostIndexOf, hostOf } from './host-index.ts';

const host = (name: string, ...addresses: readonly string[]) =>
  inventoryHost({ id: `id-${name}`, name, addresses });

const hosts = hostIndexOf([
  host('M1.example', '10.0.0.1', '172.17.0.1'),
  host('m2', '10.0.0.2', 'FD00:0:0::2', '172.17.0.1'),
  host('', '10.0.0.3', '10.0.0.3'),
  host('m4'),
]);
const found = (name: string, ...addresses: readonly string[]): string | undefined =>
  hostOf(
    {
      metadata: { name },
      status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
    },
    hosts,
  )?.id;

describe('the host of a node', () => {
  it.each([
    ['by name in any case', 'm1.EXAMPLE', [], 'id-M1.example'],
    ['by name before address', 'm2', ['10.0.0.1'], 'id-m2'],
    ['by address', 'other', ['10.0.0.1'], 'id-M1.example'],
    ['by an address in another spelling', 'other', ['fd00::2'], 'id-m2'],
    [
      'by the last of its addresses that belongs to a host',
      'other',
      ['10.0.0.1', '10.0.0.2', '9.9.9.9'],
      'id-m2',
    ],
    ['by an address that a host lists twice', 'other', ['10.0.0.3'], 'id-'],
    ['not by an address that two hosts share', 'other', ['172.17.0.1'], undefined],
    ['not by a part of an address', 'other', ['10.0.0.11'], undefined],
    ['not by an empty name', '', [], undefined],
  ])('is found %s', (...[, name, addresses, id]) => {
    expect(found(name, ...addresses)).toBe(id);
  });
});

it('finds each of three hosts by each of its three addresses', () => {
  const three = [1, 2, 3].map((h) => host(`h${h}`, `10.0.${h}.1`, `10.0.${h}.2`, `10.0.${h}.3`));
  const index = hostIndexOf(three);
  const names = three.flatMap(({ addresses }) => addresses.map((at) => index.at(at)?.name));
  expect(names).toEqual(['h1', 'h1', 'h1', 'h2', 'h2', 'h2', 'h3', 'h3', 'h3']);
});

it('prefers the host that is being installed to another host with the same name', () => {
  const [own, other] = ['installing-in-progress', 'insufficient'].map((status) =>
    inventoryHost({ id: status, name: 'm0', status }),
  );
  if (own === undefined || other === undefined) throw new TypeError('there are two');
  expect(hostIndexOf([own, other]).named('m0')).toBe(own);
  expect(hostIndexOf([other, own]).named('m0')).toBe(own);
});
