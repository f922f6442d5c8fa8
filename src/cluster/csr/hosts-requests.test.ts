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
    ['a host that is to join', 'approve', {}, {}],
    [
      'a host that failed, and comes up late',
      'approve',
      {},
      { hosts: findIn(host({ status: 'error' })) },
    ],
    ['a name of no host', 'unknown-host', { node: 'm1' }, {}],
    ['a node that is there', 'joined', {}, { nodes: nodes('m0') }],
    ['a host that has joined before', 'joined', {}, { hosts: findIn(host({ stage: 'Joined' })) }],
    ['a host that was Done before', 'joined', {}, { hosts: findIn(host({ stage: 'Done' })) }],
    ['a host that is installed', 'joined', {}, { hosts: findIn(host({ status: 'installed' })) }],
    ['a name that is being installed', 'approve', {}, nameOnly('installing-in-progress')],
    ['a name whose host failed', 'not-installing', {}, nameOnly('error')],
    ['a name that waits for its installation', 'not-installing', {}, nameOnly('insufficient')],
    ...['known', 'cancelled', 'resetting', 'discovering'].map(
      (status): [string, string, object, object] => [
        `a host that nobody installs (${status})`,
        'not-installing',
        {},
        { hosts: findIn(host({ status })) },
      ],
    ),
    [
      'a host that a person has to help',
      'approve',
      {},
      { hosts: findIn(host({ status: 'installing-pending-user-action' })) },
    ],
    ['a cluster of unknown hosts', 'no-inventory', {}, unknown],
    [
      'one of them that is awaited',
      'approve',
      {},
      { ...unknown, isAwaited: (name) => name === 'm0' },
    ],
    [
      'one of them that is not',
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
    ['an address of node and host', 'approve', serving('192.0.2.7'), { nodes: nodes('m0') }],
    ['no node yet', 'not-joined', serving('192.0.2.7'), {}],
    ['an address of the node alone', 'names', serving('192.0.2.8'), { nodes: nodes('m0') }],
    ['an address of the host alone', 'names', serving('2001:db8::7'), { nodes: nodes('m0') }],
    ['a foreign address too', 'names', serving('192.0.2.7', '192.0.2.1'), { nodes: nodes('m0') }],
    [
      'a node of another name at the address of a host that has not joined',
      'unknown-host',
      { ...serving('192.0.2.7'), node: 'localhost' },
      { nodes: nodes('localhost') },
    ],
    [
      'a node of another name at the address of a host whose node is there',
      'unknown-host',
      { ...serving('192.0.2.7'), node: 'other' },
      { nodes: nodes('other', 'm0') },
    ],
    ...['M0', 'm0.example.com', ''].map(
      (name): [string, string, Partial<KubeletClaim>, Partial<KnownCluster>] => [
        `a node that says that the address of host ${name}, which has not joined, is its own`,
        'unknown-host',
        { ...serving('192.0.2.7'), node: 'thief' },
        { hosts: findIn(host({ name })), nodes: nodes('thief') },
      ],
    ),
    ...['M1', 'm1', ''].flatMap((name) =>
      [nodes('m0'), nodes('m0', 'm1')].map(
        (there): [string, string, Partial<KubeletClaim>, Partial<KnownCluster>] => [
          `an address of host ${name} too, which ${there.length > 1 ? 'has' : 'has not'} joined`,
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
      'an address that the inventory has for two hosts',
      'names',
      serving('192.0.2.7'),
      { hosts: findIn(host(), host({ name: 'm1' })), nodes: nodes('m0') },
    ],
    [
      'the name of a host in capitals, and its addresses',
      'approve',
      serving('192.0.2.7'),
      { hosts: findIn(host({ name: 'M0' })), nodes: nodes('m0') },
    ],
    [
      'a host without known addresses, and an address for the API',
      'names',
      serving('192.0.2.8'),
      {
        nodes: nodes('m0'),
        ...nameOnly('installing-in-progress'),
        machines: { networks: [], vips: ['192.0.2.8'] },
      },
    ],
    [
      'a node of no host',
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
    ['unknown hosts', 'approve', serving('192.0.2.8'), { nodes: nodes('m0'), ...unknown }],
    ['unknown hosts, foreign', 'names', serving('192.0.2.1'), { nodes: nodes('m0'), ...unknown }],
  ])('with %s: %s', (...[, expected, claim, known]) => {
    expect(decided(claim, known)).toBe(expected);
  });
});

describe('a serving request for an address that came after the inventory', () => {
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
    ['of a network of machines', 'approve', serving('192.0.2.7', '192.0.2.8'), known()],
    ['that took the place of the other', 'approve', serving('192.0.2.8'), known()],
    ['of IPv6', 'approve', serving('2001:db8::8'), known()],
    [
      'where nobody says where machines are',
      'names',
      serving('192.0.2.8'),
      known({ machines: undefined }),
    ],
    ['outside their networks', 'names', serving('192.0.2.7', '198.51.100.8'), known()],
    ['that the node does not report', 'names', serving('192.0.2.11'), known()],
    ['that moves between machines', 'names', serving('192.0.2.5'), known()],
    [
      'that is in networks of everything',
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
      'of a node that has not the name of its host',
      'unknown-host',
      { ...serving('192.0.2.8'), node: 'localhost' },
      known({ nodes: [at('localhost', ...own)] }),
    ],
    ['of no host', 'unknown-host', serving('192.0.2.8'), known({ hosts: findIn() })],
    ['of no node', 'not-joined', serving('192.0.2.8'), known({ nodes: [] })],
  ])('%s: %s', (...[, expected, claim, cluster]) => {
    expect(decided(claim, cluster)).toBe(expected);
  });
});
