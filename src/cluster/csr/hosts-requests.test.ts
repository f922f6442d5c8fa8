import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../../test/support/cluster-objects.ts';
import { inventoryHost } from '../../../test/support/fake-inventory.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { hostIndexOf } from '../host-index.ts';
import { type KnownCluster, pendingCause } from './hosts-requests.ts';
import type { KubeletClaim } from './read-request.ts';

const host = (change: Partial<InventoryHost> = {}) =>
  inventoryHost({
    id: `id-${change.name ?? 'm0'}`,
    name: 'm0',
    addresses: ['192.0.2.7', '2001:db8::7'],
    ...change,
  });

const findIn = (...hosts: readonly InventoryHost[]): KnownCluster['hosts'] => hostIndexOf(hosts);

const nodes = (...names: readonly string[]): KnownCluster['nodes'] =>
  names.map((name) => nodeObject({ name, addresses: ['192.0.2.7', '192.0.2.8'] }));

const cluster = (change: Partial<KnownCluster> = {}): KnownCluster => ({
  hosts: findIn(host()),
  nodes: nodes(),
  ...change,
});

const serving = (...addresses: readonly string[]): Partial<KubeletClaim> => ({
  purpose: 'serving',
  addresses,
});

/** `approve`, or the cause of the refusal. */
function decided(change: Partial<KubeletClaim>, seen: Partial<KnownCluster>): string {
  const claim: KubeletClaim = { purpose: 'client', node: 'm0', addresses: [], ...change };
  const known = cluster(seen);
  const node = known.nodes.find(({ metadata }) => metadata.name === claim.node);
  return pendingCause(claim, node, known) ?? 'approve';
}

const nameOnly = (status: string) => ({ hosts: findIn(host({ addresses: [], status })) });
const unknown = { hosts: undefined };

describe('a client request', () => {
  it.each<[string, string, Partial<KubeletClaim>, Partial<KnownCluster>]>([
    ['a host that is being installed', 'approve', {}, {}],
    [
      'a failed host that comes up late',
      'approve',
      {},
      { hosts: findIn(host({ status: 'error' })) },
    ],
    ['a name that belongs to no host', 'unknown-host', { node: 'm1' }, {}],
    ['an existing node', 'joined', {}, { nodes: nodes('m0') }],
    ['a host at stage Joined', 'joined', {}, { hosts: findIn(host({ stage: 'Joined' })) }],
    ['a host at stage Done', 'joined', {}, { hosts: findIn(host({ stage: 'Done' })) }],
    [
      'a host with status installed',
      'joined',
      {},
      { hosts: findIn(host({ status: 'installed' })) },
    ],
    [
      'a host without addresses that is being installed',
      'approve',
      {},
      nameOnly('installing-in-progress'),
    ],
    ['a failed host without addresses', 'not-installing', {}, nameOnly('error')],
    [
      'a host without addresses that is not ready to install',
      'not-installing',
      {},
      nameOnly('insufficient'),
    ],
    ...['known', 'cancelled', 'resetting', 'discovering'].map(
      (status): [string, string, object, object] => [
        `a host that is not being installed (${status})`,
        'not-installing',
        {},
        { hosts: findIn(host({ status })) },
      ],
    ),
    [
      'a host that waits for user action',
      'approve',
      {},
      { hosts: findIn(host({ status: 'installing-pending-user-action' })) },
    ],
    ['a cluster without an inventory', 'no-inventory', {}, unknown],
    [
      'an awaited name in a cluster without an inventory',
      'approve',
      {},
      { ...unknown, isAwaited: (name) => name === 'm0' },
    ],
    [
      'another name in a cluster without an inventory',
      'no-inventory',
      { node: 'm9' },
      { ...unknown, isAwaited: (name) => name === 'm0' },
    ],
  ])('for %s: %s', (...[, expected, claim, known]) => {
    expect(decided(claim, known)).toBe(expected);
  });
});

describe('a serving request', () => {
  it.each<[string, string, Partial<KubeletClaim>, Partial<KnownCluster>]>([
    ['an address of both node and host', 'approve', serving('192.0.2.7'), { nodes: nodes('m0') }],
    ['no node yet', 'not-joined', serving('192.0.2.7'), {}],
    ['an address of the node only', 'names', serving('192.0.2.8'), { nodes: nodes('m0') }],
    ['an address of the host only', 'names', serving('2001:db8::7'), { nodes: nodes('m0') }],
    [
      'an additional foreign address',
      'names',
      serving('192.0.2.7', '192.0.2.1'),
      { nodes: nodes('m0') },
    ],
    [
      'a node with another name at the address of a host that has not joined',
      'unknown-host',
      { ...serving('192.0.2.7'), node: 'localhost' },
      { nodes: nodes('localhost') },
    ],
    [
      'a node with another name at the address of a host that has joined',
      'unknown-host',
      { ...serving('192.0.2.7'), node: 'other' },
      { nodes: nodes('other', 'm0') },
    ],
    ...['M0', 'm0.example.com', ''].map(
      (name): [string, string, Partial<KubeletClaim>, Partial<KnownCluster>] => [
        `a node that claims the address of host ${name}, which has not joined`,
        'unknown-host',
        { ...serving('192.0.2.7'), node: 'thief' },
        { hosts: findIn(host({ name })), nodes: nodes('thief') },
      ],
    ),
    ...['M1', 'm1', ''].flatMap((name) =>
      [nodes('m0'), nodes('m0', 'm1')].map(
        (there): [string, string, Partial<KubeletClaim>, Partial<KnownCluster>] => [
          `an additional address of host ${name}, which ${there.length > 1 ? 'has' : 'has not'} joined`,
          'names',
          serving('192.0.2.7', '192.0.2.8'),
          {
            hosts: findIn(host(), host({ name, id: 'b', addresses: ['::FFFF:192.0.2.8'] })),
            nodes: there,
            machines: { networks: ['192.0.2.0/24'], vips: [] },
          },
        ],
      ),
    ),
    [
      'an address that two hosts have in the inventory',
      'names',
      serving('192.0.2.7'),
      { hosts: findIn(host(), host({ name: 'm1' })), nodes: nodes('m0') },
    ],
    [
      'the address of a host whose name is in capitals',
      'approve',
      serving('192.0.2.7'),
      { hosts: findIn(host({ name: 'M0' })), nodes: nodes('m0') },
    ],
    [
      'a host without known addresses and the API VIP',
      'names',
      serving('192.0.2.8'),
      {
        nodes: nodes('m0'),
        ...nameOnly('installing-in-progress'),
        machines: { networks: [], vips: ['192.0.2.8'] },
      },
    ],
    [
      'a node without a host',
      'unknown-host',
      serving('192.0.2.7'),
      { nodes: nodes('m0'), hosts: findIn() },
    ],
    [
      'a host without known addresses',
      'approve',
      serving('192.0.2.8'),
      { nodes: nodes('m0'), ...nameOnly('installing-in-progress') },
    ],
    [
      'a host without known addresses that is installed',
      'not-installing',
      serving('192.0.2.8'),
      { nodes: nodes('m0'), ...nameOnly('installed') },
    ],
    [
      'no inventory and an address of the node',
      'approve',
      serving('192.0.2.8'),
      { nodes: nodes('m0'), ...unknown },
    ],
    [
      'no inventory and the API VIP',
      'names',
      serving('192.0.2.8'),
      { nodes: nodes('m0'), ...unknown, machines: { networks: [], vips: ['::ffff:192.0.2.8'] } },
    ],
    [
      'no inventory and an address that another node reports',
      'names',
      serving('192.0.2.8'),
      { nodes: nodes('m0', 'm1'), ...unknown },
    ],
    [
      'no inventory and a foreign address',
      'names',
      serving('192.0.2.1'),
      { nodes: nodes('m0'), ...unknown },
    ],
  ])('with %s: %s', (...[, expected, claim, known]) => {
    expect(decided(claim, known)).toBe(expected);
  });
});

describe('a serving request for an address that the inventory does not have', () => {
  const machines = { networks: ['192.0.2.0/24', '2001:db8::/64'], vips: ['192.0.2.5'] };
  const at = (name: string, ...addresses: readonly string[]) => nodeObject({ name, addresses });
  const own = ['192.0.2.7', '192.0.2.8', '192.0.2.5', '198.51.100.8', '2001:db8::8'];
  const known = (change: Partial<KnownCluster> = {}): Partial<KnownCluster> => ({
    nodes: [at('m0', ...own), at('m1', '192.0.2.9')],
    hosts: findIn(host(), host({ name: 'm1', addresses: ['192.0.2.9', '192.0.2.10'] })),
    machines,
    ...change,
  });

  it.each<[string, string, Partial<KubeletClaim>, Partial<KnownCluster>]>([
    ['in a machine network', 'approve', serving('192.0.2.7', '192.0.2.8'), known()],
    ['that replaces the known address', 'approve', serving('192.0.2.8'), known()],
    ['that is IPv6', 'approve', serving('2001:db8::8'), known()],
    [
      'in a cluster without known machine networks',
      'names',
      serving('192.0.2.8'),
      known({ machines: undefined }),
    ],
    ['outside the machine networks', 'names', serving('192.0.2.7', '198.51.100.8'), known()],
    ['that the node does not report', 'names', serving('192.0.2.11'), known()],
    ['that is a VIP', 'names', serving('192.0.2.5'), known()],
    [
      'in the machine network 0.0.0.0/0',
      'names',
      serving('198.51.100.8'),
      known({ machines: { networks: ['0.0.0.0/0'], vips: [] } }),
    ],
    [
      'that another host has',
      'names',
      serving('192.0.2.10'),
      known({ nodes: [at('m0', '192.0.2.10')] }),
    ],
    [
      'that another node reports',
      'names',
      serving('192.0.2.8'),
      known({ nodes: [at('m0', ...own), at('m1', '192.0.2.8')] }),
    ],
    [
      'of a node whose name differs from its host',
      'unknown-host',
      { ...serving('192.0.2.8'), node: 'localhost' },
      known({ nodes: [at('localhost', ...own)] }),
    ],
    ['without a host', 'unknown-host', serving('192.0.2.8'), known({ hosts: findIn() })],
    ['without a node', 'not-joined', serving('192.0.2.8'), known({ nodes: [] })],
  ])('%s: %s', (...[, expected, claim, cluster]) => {
    expect(decided(claim, cluster)).toBe(expected);
  });
});
