import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../../test/support/cluster-objects.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import {
  alternativeNames,
  pkcs10,
  signingRequestObject,
} from '../../../test/support/kubelet-request.ts';
import {
  newCluster,
  runInstallation,
  tryInstallationStep,
} from '../../../test/support/run-installation.ts';
import type { RequestPurpose } from '../../cluster/csr/read-request.ts';
import { certificateSigningRequests, nodes } from '../../kube/kinds.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { type LeftRecord, recordObject, recordRef } from '../../steps/cluster/left-record.ts';
import { endOfHost, type HostState, quietTime, waitForBootstrapHost } from './end.ts';
import type { StepScope } from './scope.ts';
import { recordedHosts, recordedInstallation } from './without-service.ts';

const record: LeftRecord = {
  node: 'm0',
  addresses: ['192.0.2.7'],
  role: 'master',
  isEtcdOverridden: false,
};
const node = (name: string, isReady = true): KubeObject =>
  nodeObject({
    name,
    role: 'master',
    addresses: ['192.0.2.7'],
    ...(isReady ? {} : { notReady: 'container network' }),
  });
const status = (state: 'pending' | 'approved' | 'denied') => {
  const type = { approved: 'Approved', denied: 'Denied' } as const;
  return state === 'pending' ? {} : { conditions: [{ type: type[state], status: 'True' }] };
};
const request = (
  state: 'pending' | 'approved' | 'denied',
  purpose: RequestPurpose = 'serving',
  username = 'system:node:m0',
): KubeObject =>
  signingRequestObject(purpose, 'any', {
    name: `csr-${purpose}`,
    spec: { username },
    status: status(state),
  });

const ended = (change: Partial<HostState>) =>
  endOfHost({ record, nodes: [], requests: [], masters: 3, readyFor: 0, ...change });

it('recordedHosts has the bootstrap host once, however the service spells its name', () => {
  const hosts = [
    { name: 'M0', addresses: ['192.0.2.7'] },
    { name: 'M1', addresses: [] },
  ];
  expect(recordedHosts({ ...record, hosts }).map(({ name }) => name)).toEqual(['m0', 'M1']);
});

describe('endOfHost', () => {
  it.each<[Partial<HostState>, string]>([
    [{}, 'm0 has not joined'],
    [{ nodes: [node('m1')] }, 'm0 has not joined'],
    [{ nodes: [node('m0', false)] }, 'm0 has joined and is not Ready'],
    [{ nodes: [node('m0')] }, 'm0 is Ready and waits for a serving certificate'],
    [
      { nodes: [node('m0')], requests: [request('approved', 'client')] },
      'm0 is Ready and waits for a serving certificate',
    ],
    [
      { nodes: [node('m0')], requests: [request('approved', 'serving', 'system:node:m1')] },
      'm0 is Ready and waits for a serving certificate',
    ],
    [
      { nodes: [node('m0')], requests: [request('pending')], readyFor: 10 * quietTime },
      'm0 is Ready and waits for a serving certificate',
    ],
    [
      { nodes: [node('m0')], readyFor: quietTime - 1 },
      'm0 is Ready and waits for a serving certificate',
    ],
    [
      { record: undefined, nodes: [node('m1'), node('m2'), node('m0', false)] },
      'no record of a bootstrap host; 2 of 3 control-plane nodes Ready',
    ],
  ])('waits: %j', (change, missing) => {
    expect(ended(change)).toEqual({ status: expect.stringContaining(missing) as string });
  });

  it.each<[string, Partial<HostState>]>([
    ['Ready with a serving certificate', { nodes: [node('m0')], requests: [request('approved')] }],
    ['Ready for ten minutes', { nodes: [node('m0')], readyFor: quietTime }],
    [
      'Ready for ten minutes, and denied a certificate',
      { nodes: [node('m0')], requests: [request('denied')], readyFor: quietTime },
    ],
    [
      'all control-plane nodes Ready, without a record',
      { record: undefined, nodes: [node('m0'), node('m1'), node('m2')] },
    ],
  ])('ends: %s', (_, change) => {
    expect(ended(change)).toHaveProperty('done');
  });
});

function setUp(kube: FakeKube, { replicas = 3, count = 3 } = {}) {
  const clock = fakeClock({ auto: false });
  const config = { cluster: { controlPlaneCount: count } };
  const cluster = newCluster({ controlPlaneReplicas: replicas });
  const wait = (scope: StepScope) => waitForBootstrapHost(scope, cluster);
  return { clock, ended: tryInstallationStep(wait, { kube, clock, config }) };
}

describe('controller/wait-for-bootstrap-host', () => {
  it('waits for the record and for the node of the bootstrap host', async () => {
    const kube = fakeKube().put(nodes, node('m1')).put(nodes, node('m2'));
    const { clock, ended: end } = setUp(kube);
    await clock.advance(minutes(1));
    kube.put(recordRef.kind, recordObject(record));
    await clock.advance(minutes(1));
    kube.put(nodes, node('m0'));
    await clock.advance(minutes(11));
    const { failure, statuses, notes } = await end;
    expect(failure).toBeUndefined();
    expect(statuses).toEqual([
      'no record of a bootstrap host; 2 of 3 control-plane nodes Ready',
      'm0 has not joined',
      'm0 is Ready and waits for a serving certificate',
    ]);
    expect(notes.at(-1)).toBe('info: node m0 is Ready');
  });

  it.each([
    ['five by the install-config', { replicas: 5, count: 3 }, 5],
    ['five by the settings', { replicas: 0, count: 5 }, 5],
    ['three by default', { replicas: 0, count: 0 }, 3],
  ])('waits for the number of control-plane nodes: %s', async (_, said, masters) => {
    const two = ['m1', 'm2'].reduce((made, name) => made.put(nodes, node(name)), fakeKube());
    const { clock, ended: end } = setUp(two, said);
    await clock.advance(hours(24));
    expect((await end).statuses).toEqual([
      `no record of a bootstrap host; 2 of ${masters} control-plane nodes Ready`,
    ]);
  });

  it('continues with a warning after a day without the host', async () => {
    const { clock, ended: end } = setUp(fakeKube().put(recordRef.kind, recordObject(record)));
    await clock.advance(hours(24));
    const { failure, notes } = await end;
    expect(failure).toBeUndefined();
    expect(notes.at(-1)).toMatch(/^warn: the bootstrap host has not joined/);
  });
});

describe('the installation from the record', () => {
  const approved = async (left: KubeObject | undefined): Promise<readonly string[]> => {
    const clock = fakeClock({ auto: false });
    const kube = fakeKube();
    if (left !== undefined) kube.put(recordRef.kind, left);
    for (const name of ['m0', 'm9']) {
      const subject = `O=system:nodes, CN=system:node:${name}`;
      const client = signingRequestObject('client', await pkcs10({ subject }), {
        name: `client-${name}`,
      });
      kube.put(certificateSigningRequests, client);
    }
    const serving = async (name: string, address: string): Promise<void> => {
      const subject = 'O=system:nodes, CN=system:node:m0';
      const pem = await pkcs10({ subject, names: alternativeNames('m0', address) });
      const spec = { username: 'system:node:m0' };
      kube.put(certificateSigningRequests, signingRequestObject('serving', pem, { name, spec }));
    };
    const { stop } = runInstallation(['approve-requests'], {
      kube,
      clock,
      config: { service: {} },
      inventory: { ...fakeInventory(), ...recordedInstallation(kube) },
    });
    await clock.advance(seconds(30));
    kube.put(nodes, node('m0', false));
    await serving('serving', '192.0.2.7');
    await serving('forged', '192.0.2.9');
    await clock.advance(seconds(30));
    await stop();
    return kube.writes.flatMap(({ subresource, name }) =>
      subresource === 'approval' ? [name ?? ''] : [],
    );
  };

  it('gets the requests of the recorded host approved, and no others', async () => {
    expect(await approved(recordObject(record))).toEqual(['client-m0', 'serving']);
  });

  it.each<[string, KubeObject | undefined]>([
    ['without a record', undefined],
    ['with an unreadable record', { ...recordObject(record), data: { format: '9' } }],
  ])('gets no requests approved %s', async (_, left) => {
    expect(await approved(left)).toEqual([]);
  });
});
