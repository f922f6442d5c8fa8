import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../../test/support/cluster-objects.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory, installingHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import {
  alternativeNames,
  keyPair,
  pkcs10,
  signingRequestObject,
} from '../../../test/support/kubelet-request.ts';
import { runInstallation } from '../../../test/support/run-installation.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import type { RequestPurpose } from '../../cluster/csr/read-request.ts';
import { certificateSigningRequests, configMaps, events, nodes } from '../../kube/kinds.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { InstallationView, InstallingHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { recordData, recordRef } from '../../steps/cluster/left-record.ts';

const host = (name: string, change: Partial<InstallingHost> = {}) =>
  installingHost({ id: `id-${name}`, name, addresses: ['192.0.2.7'], ...change });

/** The service left before the first request to it. */
const away: InstallationView = {
  lastError: inventoryFailure('inventory.unreachable', 'no route to host'),
};

/** An API server that lists the names of the objects that are read again. */
function readKube() {
  const kube = fakeKube();
  const { get } = kube;
  const read: string[] = [];
  return Object.assign(kube, {
    read,
    get: (...given: Parameters<typeof get>) => {
      read.push(given[0].name);
      return get(...given);
    },
  });
}

const failing = (code: 'kube.busy' | 'kube.denied', status: number) => (): never => {
  throw kubeFailure(code, 'it fails', { context: { status } });
};

interface World {
  readonly kube?: FakeKube;
  readonly hosts?: readonly InstallingHost[];
  readonly isAgentBased?: boolean;
  /** By default, the service answers with the hosts. */
  readonly says?: InstallationView;
}

const machines = { networks: ['192.0.2.0/24'], vips: [] };

function setUp({ kube = fakeKube(), hosts, isAgentBased = false, says }: World = {}) {
  const clock = fakeClock({ auto: false });
  const known = fakeInventory({ hosts: hosts ?? [host('m0')] });
  const inventory: typeof known = {
    ...known,
    follow: (seen, signal) => known.follow((view) => seen(says ?? view), signal),
  };
  const { stop } = runInstallation(['approve-requests'], {
    kube,
    clock,
    inventory,
    config: { cluster: { controlPlaneCount: 3 } },
    cluster: { isAgentBased, platform: 'baremetal', machines },
  });
  const put = async (
    purpose: RequestPurpose,
    {
      name = `csr-${purpose}`,
      node = 'm0',
      keys = keyPair(),
      status = {},
      address = '192.0.2.7',
      created = -minutes(60),
    } = {},
  ) => {
    const names = purpose === 'serving' ? alternativeNames(node, address) : [];
    const subject = `O=system:nodes, CN=system:node:${node}`;
    const pem = await pkcs10({ subject, names, keys: await keys });
    const spec = purpose === 'serving' ? { username: `system:node:${node}` } : {};
    const object = signingRequestObject(purpose, pem, { name, spec, status });
    const creationTimestamp = new Date(created).toISOString();
    kube.put(certificateSigningRequests, {
      ...object,
      metadata: { ...object.metadata, creationTimestamp },
    });
    await clock.advance(seconds(1));
  };
  const join = (name: string, role = 'master', addresses = ['192.0.2.7']) =>
    kube.put(nodes, nodeObject({ name, role, addresses }));
  const approvals = () =>
    kube.writes.flatMap(({ subresource, name }) => (subresource === 'approval' ? [name] : []));
  return { approvals, clock, inventory: known, join, kube, put, stop };
}

const condition = (type: string) => ({ conditions: [{ type, status: 'True' }] });

describe('approving certificate requests', () => {
  it('approves the client request of a joining host and the serving request of its node', async () => {
    const { approvals, join, kube, put } = setUp();
    await put('client');
    expect(approvals()).toEqual(['csr-client']);
    join('m0');
    await put('serving');
    expect(approvals()).toEqual(['csr-client', 'csr-serving']);
    const [request] = kube.objectsOf(certificateSigningRequests);
    expect(request?.['status']).toEqual({
      conditions: [
        {
          type: 'Approved',
          status: 'True',
          reason: 'NodeCSRApprove',
          message: 'This CSR was approved by the assisted-installer-controller',
          lastUpdateTime: expect.any(String) as string,
        },
      ],
    });
  });

  it('approves a serving request once its node exists', async () => {
    const { approvals, clock, join, put } = setUp();
    await put('serving');
    expect(approvals()).toEqual([]);
    join('m0');
    await clock.advance(seconds(1));
    expect(approvals()).toEqual(['csr-serving']);
  });

  it('approves further keys of a host until its node exists', async () => {
    const { approvals, kube, put } = setUp();
    await put('client', { name: 'first' });
    await put('client', { name: 'again' });
    kube.drop({ kind: certificateSigningRequests, name: 'first' });
    await put('client', { name: 'third' });
    expect(approvals()).toEqual(['first', 'again', 'third']);
  });

  it('approves the request of a host that the inventory adds, in any case', async () => {
    const { approvals, clock, inventory, put } = setUp({ hosts: [] });
    await put('client');
    expect(approvals()).toEqual([]);
    inventory.set({ hosts: [host('M0')] });
    await clock.advance(seconds(1));
    expect(approvals()).toEqual(['csr-client']);
  });

  it.each(['Denied', 'Failed', 'Approved'])('ignores a request that is %s', async (type) => {
    const kube = readKube();
    const { approvals, clock, join, put } = setUp({ kube });
    await put('client', { status: condition(type) });
    join('m0');
    await clock.advance(minutes(1));
    expect([kube.read, approvals(), kube.objectsOf(events)]).toEqual([[], [], []]);
  });

  it('reads no request again that it must not approve or has approved', async () => {
    const kube = readKube();
    kube.before('replace', () => void kube.holdViews());
    const { clock, inventory, put } = setUp({ kube });
    await put('client', { name: 'unknown', node: 'x1' });
    expect(kube.read).toEqual([]);
    await put('client');
    inventory.set({ hosts: [host('m0')] });
    await clock.advance(minutes(1));
    expect(kube.read).toEqual(['csr-client', 'm0']);
    expect(kube.objectsOf(events).map(({ metadata }) => metadata.name)).toEqual([
      'certificate-requests-left.unknown-host',
    ]);
  });

  it.each<[string, (request: KubeObject) => KubeObject | undefined]>([
    ['recreated', (found) => ({ ...found, metadata: { ...found.metadata, uid: 'another' } })],
    ['denied', (found) => ({ ...found, status: condition('Denied') })],
    ['approved', (found) => ({ ...found, status: condition('Approved') })],
    ['deleted', () => undefined],
  ])('does not approve a request that was %s, which no watch shows yet', async (_, changed) => {
    const inner = fakeKube();
    let reads = 0;
    const kube: FakeKube = {
      ...inner,
      get: async (ref, signal) => {
        reads += 1;
        const found = await inner.get(ref, signal);
        return found && changed(found);
      },
    };
    const { approvals, put, stop } = setUp({ kube });
    await put('client');
    expect(reads).toBeGreaterThan(0);
    expect(approvals()).toEqual([]);
    expect((await stop()).notes).toEqual([]);
  });

  it.each<[string, (world: ReturnType<typeof setUp>) => void]>([
    [
      'its host has left the inventory',
      ({ inventory }) => {
        inventory.set({ hosts: [] });
      },
    ],
    [
      'its host has joined',
      ({ inventory }) => {
        inventory.set({ hosts: [host('m0', { stage: 'Joined' })] });
      },
    ],
    ['its node was created, which no watch shows yet', () => undefined],
  ])('does not approve a request when %s', async (what, change) => {
    const inner = fakeKube();
    const read = Promise.withResolvers<undefined>();
    let reads = 0;
    const kube: FakeKube = {
      ...inner,
      get: async (ref, signal) => {
        if (ref.kind !== nodes) return inner.get(ref, signal);
        reads += 1;
        await read.promise;
        return what.includes('node') ? nodeObject({ name: 'm0' }) : undefined;
      },
    };
    const world = setUp({ kube });
    await world.put('client');
    expect(reads).toBe(1);
    change(world);
    read.resolve(undefined);
    await world.clock.advance(minutes(1));
    expect(world.approvals()).toEqual([]);
    await world.stop();
  });

  it('creates an event when approving is forbidden, and approves once the role is corrected', async () => {
    let asked = 0;
    let isAllowed = false;
    const kube = fakeKube();
    const { replace } = kube;
    Object.assign(kube, {
      replace: (...given: Parameters<typeof replace>) => {
        asked += 1;
        const refusal = kubeFailure('kube.denied', 'signer', { context: { status: 403 } });
        return isAllowed ? replace(...given) : Promise.reject(refusal);
      },
    });
    const { approvals, clock, put, stop } = setUp({ kube });
    await put('client');
    await clock.advance(minutes(5));
    expect(asked).toBeLessThan(16);
    expect(kube.objectsOf(events).map(({ metadata }) => metadata.name)).toEqual([
      'certificate-requests-left.forbidden',
    ]);
    isAllowed = true;
    await clock.advance(seconds(30));
    expect(approvals()).toEqual(['csr-client']);
    expect((await stop()).notes).toContain('warn: certificate requests of m0: trying again');
  });

  it('approves once a busy API server answers, without an event', async () => {
    const kube = fakeKube();
    for (let times = 0; times < 4; times += 1) kube.before('replace', failing('kube.busy', 429));
    const { approvals, clock, put } = setUp({ kube });
    await put('client');
    await clock.advance(seconds(10));
    expect(approvals()).toEqual([]);
    await clock.advance(seconds(10));
    expect(approvals()).toEqual(['csr-client']);
    expect(kube.objectsOf(events)).toEqual([]);
  });
});

describe('a serving request for an address that the inventory does not have', () => {
  const both = ['192.0.2.7', '192.0.2.77'];

  it('is approved once the node reports the address', async () => {
    const { approvals, clock, join, put } = setUp();
    join('m0');
    await put('serving', { address: '192.0.2.77' });
    expect(approvals()).toEqual([]);
    join('m0', 'master', both);
    await clock.advance(seconds(1));
    expect(approvals()).toEqual(['csr-serving']);
  });

  it.each<[string, (node: KubeObject) => KubeObject | undefined]>([
    [
      'the node has been replaced',
      (node) => ({ ...node, metadata: { ...node.metadata, uid: 'other' } }),
    ],
    [
      'the node has lost the address',
      (node) => ({
        ...nodeObject({ name: 'm0', addresses: ['192.0.2.7'] }),
        metadata: node.metadata,
      }),
    ],
    ['the node is gone', () => undefined],
  ])('is not approved when %s', async (_, changed) => {
    const inner = fakeKube();
    let isChanged = true;
    const kube: FakeKube = {
      ...inner,
      get: async (ref, signal) => {
        const found = await inner.get(ref, signal);
        return isChanged && found !== undefined && ref.kind === nodes ? changed(found) : found;
      },
    };
    const { approvals, clock, join, put } = setUp({ kube });
    join('m0', 'master', both);
    await put('serving', { address: '192.0.2.77' });
    await clock.advance(seconds(20));
    expect(approvals()).toEqual([]);
    isChanged = false;
    await clock.advance(seconds(20));
    expect(approvals()).toEqual(['csr-serving']);
  });

  it('that stays pending is reported in an event with the command to approve it', async () => {
    const { clock, join, kube, put } = setUp();
    join('m0', 'master', ['192.0.2.7', '198.51.100.7']);
    await put('serving', { address: '198.51.100.7' });
    await clock.advance(minutes(1));
    expect(kube.objectsOf(events)).toMatchObject([
      {
        metadata: { name: 'certificate-requests-left.names' },
        message: expect.stringMatching(/csr-serving.*oc adm certificate approve/) as string,
      },
    ]);
  });
});

describe('without the service', () => {
  it('approves only as many masters as are missing', async () => {
    const { approvals, join, kube, put } = setUp({ isAgentBased: true, says: away });
    const status = condition('Approved');
    const others = { name: 'others', spec: { signerName: 'example.com/signer' }, status };
    kube.put(certificateSigningRequests, signingRequestObject('client', '', others));
    join('m1', 'master', ['192.0.2.8']);
    join('m2', 'master', ['192.0.2.9']);
    join('w0', 'worker', ['192.0.2.10']);
    await put('client', { name: 'joined', node: 'm1', status });
    await put('client');
    await put('client', { name: 'one-too-many', node: 'm9' });
    expect(approvals()).toEqual(['csr-client']);
    join('m0');
    await put('serving');
    expect(approvals()).toEqual(['csr-client', 'csr-serving']);
  });

  it('counts an approval before its start against the missing masters', async () => {
    const { approvals, join, put } = setUp({ isAgentBased: true, says: away });
    join('m1');
    join('m2');
    await put('client', { status: condition('Approved') });
    await put('client', { name: 'one-too-many', node: 'm9' });
    await put('client', { name: 'again' });
    expect(approvals()).toEqual(['again']);
  });

  it('does not count a forbidden approval against the missing masters', async () => {
    const kube = fakeKube();
    for (let times = 0; times < 2; times += 1) kube.before('replace', failing('kube.denied', 403));
    const { approvals, join, put } = setUp({ kube, isAgentBased: true, says: away });
    join('m1');
    join('m2');
    await put('client');
    kube.drop({ kind: certificateSigningRequests, name: 'csr-client' });
    await put('client', { name: 'next', node: 'm9' });
    expect(approvals()).toEqual(['next']);
  });

  it('counts an approval in flight against the missing masters', async () => {
    const inner = fakeKube();
    const sent = Promise.withResolvers<undefined>();
    const kube: FakeKube = {
      ...inner,
      replace: async (...given) => {
        await sent.promise;
        return inner.replace(...given);
      },
    };
    const { approvals, clock, join, put } = setUp({ kube, isAgentBased: true, says: away });
    join('m1');
    join('m2');
    await put('client');
    await put('client', { name: 'one-too-many', node: 'm9' });
    sent.resolve(undefined);
    await clock.advance(minutes(1));
    expect(approvals()).toEqual(['csr-client']);
  });

  it('approves the hosts in the record of the bootstrap host, and no others', async () => {
    const kube = fakeKube().put(configMaps, {
      metadata: { name: recordRef.name, namespace: 'assisted-installer' },
      data: recordData({
        node: 'm0',
        addresses: ['192.0.2.7'],
        role: 'master',
        isEtcdOverridden: false,
        hosts: [
          { name: 'm1', addresses: [], stage: 'Done' },
          { name: 'w0', addresses: ['192.0.2.9'], stage: 'Rebooting' },
        ],
      }),
    });
    const { approvals, join, put } = setUp({ kube, isAgentBased: true, says: away });
    join('m2');
    await put('client', { name: 'forged', node: 'm9' });
    await put('client', { name: 'joined', node: 'm1' });
    expect(approvals()).toEqual([]);
    await put('client');
    await put('client', { name: 'worker', node: 'w0' });
    expect(approvals()).toEqual(['csr-client', 'worker']);
  });

  it.each<[string, World]>([
    ['is away, but will return', { says: away }],
    ['has neither responded nor failed', { isAgentBased: true, says: {} }],
  ])('approves nothing while the service %s', async (_, world) => {
    const { approvals, join, put } = setUp(world);
    join('m0');
    await put('serving');
    await put('client', { node: 'm1' });
    expect(approvals()).toEqual([]);
  });
});

describe('requests that are not approved', () => {
  it('are counted in one event per cause', async () => {
    const { clock, kube, put, stop } = setUp();
    await put('client', { name: 'a', node: 'x1' });
    await put('client', { name: 'b', node: 'x2' });
    await clock.advance(seconds(8));
    expect(kube.objectsOf(events)).toMatchObject([{ count: 2 }]);
    await put('client', { name: 'c', node: 'x3' });
    await clock.advance(seconds(58));
    expect(kube.objectsOf(events)).toMatchObject([{ count: 2 }]);
    await clock.advance(seconds(1));
    const written = kube.objectsOf(events);
    expect(written).toHaveLength(1);
    expect(written[0]).toMatchObject({
      metadata: {
        name: 'certificate-requests-left.unknown-host',
        namespace: 'assisted-installer',
      },
      involvedObject: { name: 'assisted-installer-controller' },
      reason: 'CertificateRequestsLeft',
      type: 'Warning',
      count: 3,
      message:
        'Certificate requests that are not approved, as no host of this cluster has the name: a, b, c',
    });
    expect((await stop()).notes).toContain(
      'warn: certificate requests not approved: no host of this cluster has the name',
    );
  });

  it('are counted at the age of 30 seconds', async () => {
    const { clock, kube, put } = setUp();
    await clock.advance(seconds(10));
    await put('client', { node: 'x1', created: seconds(10) });
    await clock.advance(seconds(28));
    expect(kube.objectsOf(events)).toEqual([]);
    await clock.advance(seconds(1));
    expect(kube.objectsOf(events)).toMatchObject([{ count: 1 }]);
  });

  it.each([
    ['is made again, as the API server was busy', failing('kube.busy', 429), 2],
    ['is not made again, as a role forbids it', failing('kube.denied', 403), 1],
  ] as const)('are counted in an event that %s', async (_, fail, count) => {
    const { clock, kube, put, stop } = setUp();
    await put('client', { name: 'a', node: 'x1' });
    await clock.advance(seconds(10));
    kube.before('create', fail);
    await put('client', { name: 'b', node: 'x2' });
    await clock.advance(minutes(2));
    expect(kube.objectsOf(events)).toMatchObject([{ count }]);
    const again = 'warn: certificate requests that are not approved: trying again';
    expect((await stop()).notes.includes(again)).toBe(count === 2);
  });

  it('are named up to five in an event', async () => {
    const { clock, kube, put } = setUp();
    for (const node of ['a', 'b', 'c', 'd', 'e', 'f']) await put('client', { name: node, node });
    await clock.advance(minutes(1));
    expect(kube.objectsOf(events)).toMatchObject([
      { count: 6, message: expect.stringMatching(/: a, b, c, d, e$/) as string },
    ]);
  });

  it('are listed in one sanitized and truncated line', async () => {
    const { clock, kube, put } = setUp();
    await put('client', { name: `a\n\u001b[2Jb${'c'.repeat(300_000)}`, node: 'x1' });
    await clock.advance(minutes(1));
    const [event] = kube.objectsOf(events);
    expect(event?.['message']).toMatch(/: a bc{90,100}…$/);
  });
});
