import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../../test/support/cluster-objects.ts';
import { inventoryHost } from '../../../test/support/fake-inventory.ts';
import { pkcs10, signingRequestObject } from '../../../test/support/kubelet-request.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import {
  decideRequests,
  type KnownCluster,
  leftTally,
  type OpenRequest,
  requestBook,
} from './hosts-requests.ts';
import { type ReadRequest, readRequest } from './read-request.ts';
import type { KubeletClaim } from './verify.ts';

const host = (change: Partial<InventoryHost> = {}) =>
  inventoryHost({ name: 'm0', addresses: ['192.0.2.7', '2001:db8::7'], ...change });

const findIn = (...hosts: readonly InventoryHost[]): KnownCluster['hosts'] => ({
  named: (name) => hosts.find((one) => one.name === name),
  at: (address) => hosts.find(({ addresses }) => addresses.includes(address)),
});

const nodes = (...names: readonly string[]): KnownCluster['nodes'] =>
  new Map(names.map((name) => [name, nodeObject({ name, addresses: ['192.0.2.7', '192.0.2.8'] })]));

const cluster = (change: Partial<KnownCluster> = {}): KnownCluster => ({
  hosts: findIn(host()),
  nodes: nodes(),
  keys: new Map(),
  mastersToCome: 0,
  ...change,
});

const metadataOf = (change: Partial<OpenRequest['metadata']> = {}): OpenRequest['metadata'] => ({
  ...{ uid: 'u1', name: 'csr-1', creationTimestamp: '2026-11-23T08:00:00Z' },
  ...change,
});

const request = (claim: Partial<KubeletClaim>, change: Partial<OpenRequest> = {}): OpenRequest => ({
  metadata: metadataOf(),
  claim: { purpose: 'client', node: 'm0', key: 'k1', addresses: [], ...claim },
  ...change,
});

const serving = (...addresses: readonly string[]): Partial<KubeletClaim> => ({
  purpose: 'serving',
  addresses,
});

/** `approve`, or the cause why not. */
function decided(claim: Partial<KubeletClaim>, known: Partial<KnownCluster> = {}): string {
  const causes: string[] = [];
  const approve = decideRequests([request(claim)], cluster(known), (_, cause) => {
    causes.push(cause);
  });
  return approve.length === 1 ? 'approve' : (causes[0] ?? 'nothing');
}

const nameOnly = (status: string) => ({ hosts: findIn(host({ addresses: [], status })) });
const unknown = { hosts: undefined };

describe('a client request', () => {
  it.each<[string, string, Partial<KubeletClaim>, Partial<KnownCluster>]>([
    ['a host that is to join', 'approve', {}, {}],
    ['a host that is to join, of its first key', 'approve', {}, { keys: new Map([['m0', 'k1']]) }],
    ['a host that is to join, of another key', 'other-key', {}, { keys: new Map([['m0', 'k0']]) }],
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
    ['one of them that a master is to be', 'approve', {}, { ...unknown, mastersToCome: 1 }],
    [
      'one more than masters are to come',
      'no-inventory',
      {},
      { ...unknown, mastersToCome: 1, keys: new Map([['m2', 'k2']]) },
    ],
    [
      'the one that was approved before',
      'approve',
      {},
      { ...unknown, mastersToCome: 1, keys: new Map([['m0', 'k1']]) },
    ],
    [
      'the last master, once the others are there',
      'approve',
      {},
      { ...unknown, mastersToCome: 1, keys: new Map([['m2', 'k2']]), nodes: nodes('m2') },
    ],
  ])('for %s: %s', (...[, expected, claim, known]) => {
    expect(decided(claim, known)).toBe(expected);
  });

  it('of a second key is left beside the first, the older one', () => {
    const older = request({ key: 'k1' }, { metadata: metadataOf({ name: 'csr-z' }) });
    const newer = request(
      { key: 'k2' },
      { metadata: metadataOf({ uid: 'u2', creationTimestamp: '2026-11-23T08:00:01Z' }) },
    );
    const left: string[] = [];
    const approve = decideRequests([newer, older], cluster(), ({ metadata: { uid } }, cause) => {
      left.push(`${uid}: ${cause}`);
    });
    expect(approve).toEqual([older]);
    expect(left).toEqual(['u2: other-key']);
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
      'a node of another name at the address of a host',
      'approve',
      { ...serving('192.0.2.7'), node: 'localhost' },
      { nodes: nodes('localhost') },
    ],
    [
      'a node of another name at the address of a host whose node is there',
      'unknown-host',
      { ...serving('192.0.2.7'), node: 'other' },
      { nodes: nodes('other', 'm0') },
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
  const at = (name: string, ...addresses: readonly string[]) =>
    [name, nodeObject({ name, addresses })] as const;
  const own = ['192.0.2.7', '192.0.2.8', '192.0.2.5', '198.51.100.8', '2001:db8::8'];
  const known = (change: Partial<KnownCluster> = {}): Partial<KnownCluster> => ({
    nodes: new Map([at('m0', ...own), at('m1', '192.0.2.9')]),
    hosts: findIn(host(), host({ name: 'm1', addresses: ['192.0.2.9', '192.0.2.10'] })),
    machines,
    ...change,
  });

  it.each<[string, string, Partial<KubeletClaim>, Partial<KnownCluster>]>([
    ['of a network of machines', 'approve', serving('192.0.2.7', '192.0.2.8'), known()],
    ['that took the place of the other', 'approve', serving('192.0.2.8'), known()],
    ['of IPv6, in another spelling', 'approve', serving('2001:DB8:0::8'), known()],
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
      known({ nodes: new Map([at('m0', '192.0.2.10')]) }),
    ],
    [
      'that another node reports',
      'names',
      serving('192.0.2.8'),
      known({ nodes: new Map([at('m0', ...own), at('m1', '192.0.2.8')]) }),
    ],
    [
      'of a node that has not the name of its host',
      'names',
      { ...serving('192.0.2.8'), node: 'localhost' },
      known({ nodes: new Map([at('localhost', ...own)]) }),
    ],
    ['of no host', 'unknown-host', serving('192.0.2.8'), known({ hosts: findIn() })],
    ['of no node', 'not-joined', serving('192.0.2.8'), known({ nodes: new Map() })],
  ])('%s: %s', (...[, expected, claim, cluster]) => {
    expect(decided(claim, cluster)).toBe(expected);
  });
});

describe('the tally of requests that are left', () => {
  const left = (count: number) => ({
    uid: `u${count}`,
    name: `csr-${count}`,
    cause: 'unknown-host' as const,
  });

  it('counts a request once, after half a minute', () => {
    const tally = leftTally();
    for (const now of [0, 10, 29]) tally.add(left(1), seconds(now));
    expect(tally.due(seconds(29))).toEqual([]);
    for (const now of [30, 31, 32]) tally.add(left(1), seconds(now));
    expect(tally.due(seconds(32))).toEqual([{ cause: 'unknown-host', count: 1, names: ['csr-1'] }]);
  });

  it('forgets one that was answered in time', () => {
    const tally = leftTally();
    tally.add(left(1), 0);
    tally.forget('u1');
    tally.add(left(1), seconds(30));
    expect(tally.due(seconds(30))).toEqual([]);
  });

  it('forgets those that are gone', () => {
    const tally = leftTally();
    for (const count of [1, 2]) tally.add(left(count), 0);
    tally.keepOnly(new Set(['u2']));
    for (const count of [1, 2]) tally.add(left(count), seconds(30));
    expect(tally.due(seconds(30))).toMatchObject([{ count: 1, names: ['csr-2'] }]);
  });

  it('reports once a minute at most, and only what has grown', () => {
    const tally = leftTally();
    const add = (count: number, now: number) => {
      for (let one = 1; one <= count; one += 1) tally.add(left(one), now);
    };
    add(7, 0);
    add(7, seconds(30));
    const [first] = tally.due(seconds(30));
    expect(first).toMatchObject({ count: 7, names: ['csr-1', 'csr-2', 'csr-3', 'csr-4', 'csr-5'] });
    tally.reported(first!, seconds(30));
    expect(tally.due(minutes(10))).toEqual([]);
    add(8, minutes(10));
    add(8, minutes(10.5));
    expect(tally.due(minutes(10.5))).toMatchObject([{ count: 8 }]);
  });
});

describe('the book of requests', () => {
  const made = async (
    name: string,
    { second = 0, type = '', node = 'm0' }: { second?: number; type?: string; node?: string } = {},
  ): Promise<ReadRequest> => {
    const pem = await pkcs10({ subject: `O=system:nodes, CN=system:node:${node}` });
    const status = type === '' ? {} : { conditions: [{ type, status: 'True' }] };
    const object = signingRequestObject('client', pem, { name, status });
    const creationTimestamp = new Date(seconds(second)).toISOString();
    return readRequest({ ...object, metadata: { ...object.metadata, creationTimestamp } });
  };

  it('has what waits and could be approved open, and knows the first key of each node', async () => {
    const requests = await Promise.all([
      made('late', { type: 'Approved', second: 9 }),
      made('first', { type: 'Approved', second: 1 }),
      made('other', { type: 'Approved', node: 'm1' }),
      made('denied', { type: 'Denied', node: 'm2' }),
      made('waits', { node: 'm3' }),
    ]);
    const book = requestBook(leftTally());
    expect(book.open(requests, 0).map(({ metadata: { name } }) => name)).toEqual(['waits']);
    expect(book.keys()).toEqual(
      new Map([
        ['m0', requests[1].claim!.key],
        ['m1', requests[2].claim!.key],
      ]),
    );
    expect(book.open([], minutes(1))).toEqual([]);
    expect([...book.keys().keys()].sort()).toEqual(['m0', 'm1']);
  });

  it('knows what this process did before the API server shows it', async () => {
    const tally = leftTally();
    const book = requestBook(tally);
    const requests = [await made('csr')];
    const [open] = book.open(requests, 0);
    book.set(open!, { state: 'approved' });
    expect(book.open(requests, 0)).toEqual([]);
    expect([...book.keys().keys()]).toEqual(['m0']);
    book.set(open!, { state: 'pending' });
    expect(book.keys().size).toBe(0);
    expect(book.open(requests, 0)).toHaveLength(1);
    book.set(open!, { state: 'pending', cause: 'forbidden' });
    for (const now of [0, seconds(30)]) expect(book.open(requests, now)).toEqual([]);
    expect(tally.due(seconds(30))).toMatchObject([{ cause: 'forbidden', count: 1 }]);
  });

  it('forgets what it did about a request that is gone', async () => {
    const book = requestBook(leftTally());
    const requests = [await made('csr')];
    const [open] = book.open(requests, 0);
    book.set(open!, { state: 'denied' });
    book.keepOnly([]);
    expect(book.open(requests, minutes(1))).toHaveLength(1);
  });
});
