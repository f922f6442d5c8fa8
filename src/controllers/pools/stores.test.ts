import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import {
  deployments,
  events,
  leases,
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
  pods,
} from '../../kube/kinds.ts';
import type { Informer } from '../../kube/informer.ts';
import { leaseObserver } from '../../layering/roll-out/ownership.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import {
  controllerApp,
  operatorOf,
  poolEvent,
  poolStores,
  type PoolView,
  readView,
  storedView,
  watchPools,
} from './stores.ts';

const namespace = 'openshift-machine-config-operator';
const label = (role: string): string => `node-role.kubernetes.io/${role}`;
const pool = (name: string, role = name, spec: object = {}): KubeObject => ({
  metadata: { name },
  spec: { nodeSelector: { matchLabels: { [label(role)]: '' } }, ...spec },
});
const node = (name: string, roles: string, ready: object = {}): KubeObject => ({
  metadata: {
    name,
    labels: Object.fromEntries(roles.split(' ').map((role) => [label(role), ''])),
  },
  status: { conditions: [{ type: 'Ready', status: 'True', ...ready }] },
});
const osConfig = (name: string): KubeObject => ({ metadata: { name } });
const build = (name: string, of: string): KubeObject => ({
  metadata: { name },
  spec: { machineOSConfig: { name: of } },
});
const pod = (name: string, nodeName: string, kind?: string, owner = 'machine-config-daemon') => ({
  metadata: {
    name,
    namespace,
    ...(kind && { ownerReferences: [{ kind, name: owner, controller: true }] }),
  },
  spec: { nodeName },
});

const all = ['arbiter', 'gpu', 'infra', 'master', 'worker'];
const abort = (): AbortSignal => {
  const stop = new AbortController();
  onTestFinished(() => stop.abort(new Error('stop')));
  return stop.signal;
};

type Runs = Pick<Informer, 'run'>;

/** A cluster with all kinds of pools and nodes, its stores, and the keys that changes add. */
function setUp() {
  const kube = fakeKube();
  for (const name of all) kube.put(machineConfigPools, pool(name));
  for (const [name, roles] of Object.entries({
    a0: 'arbiter',
    both: 'infra gpu worker',
    c0: 'infra control-plane',
    i0: 'infra worker',
    m0: 'master worker infra gpu',
    w0: 'worker',
  }))
    kube.put(nodes, node(name, roles));
  for (const name of ['infra', 'worker']) {
    kube.put(machineOSConfigs, osConfig(name));
    kube.put(machineOSBuilds, build(`build-of-${name}`, name));
  }
  kube.put(pods, pod('daemon', 'w0', 'DaemonSet'));
  const clock = fakeClock({ auto: false });
  const stores = poolStores({ kube, clock, namespace });
  const added: string[] = [];
  watchPools(stores, (key) => void added.push(key));
  const signal = abort();
  for (const { run } of Object.values<Runs | readonly Runs[]>({ ...stores }).flat())
    void run(signal);
  added.length = 0;
  return { kube, clock, stores, signal, added };
}

const namesOf = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ metadata: { name } }) => name).toSorted();

/** Names of the pool, of its MachineOSConfig and builds, and of nodes. */
const shown = ({ snapshot, doubled, members }: PoolView) => ({
  of: [snapshot.machineConfigPool, snapshot.osConfig, ...snapshot.builds].map(
    (one) => one?.metadata.name,
  ),
  nodes: namesOf(snapshot.nodes),
  doubled,
  members: members && namesOf(members),
});

describe('a pool in the stores and by fresh requests', () => {
  const members = ['a0', 'c0', 'm0'];
  const roles = ['master', 'control-plane', 'arbiter'].map(label);
  it.each<[string, ReturnType<typeof shown>, readonly (string | undefined)[]]>([
    [
      'master',
      { of: ['master', undefined], nodes: ['m0'], doubled: [], members },
      [`${label('master')}=`, ...roles],
    ],
    [
      'infra',
      {
        of: ['infra', 'infra', 'build-of-infra'],
        nodes: ['c0', 'i0'],
        doubled: ['both'],
        members,
      },
      [`${label('infra')}=`, ...roles],
    ],
    [
      'gpu',
      { of: ['gpu', undefined], nodes: ['both'], doubled: ['both'], members: undefined },
      [`${label('gpu')}=`],
    ],
    [
      'worker',
      {
        of: ['worker', 'worker', 'build-of-worker'],
        nodes: ['w0'],
        doubled: [],
        members: undefined,
      },
      [`${label('worker')}=`],
    ],
    ['gone', { of: [undefined, undefined], nodes: [], doubled: [], members: undefined }, []],
  ])('%s', async (name, expected, selectors) => {
    const { kube, stores, signal } = setUp();
    const list = vi.spyOn(kube, 'list');
    expect(shown(storedView(name, stores))).toEqual(expected);
    expect(shown(await readView({ kube }, name, signal))).toEqual(expected);
    const asked = list.mock.calls.flatMap(([{ kind, labelSelector }]) =>
      kind === nodes ? [labelSelector] : [],
    );
    expect(asked).toEqual(selectors);
  });

  it('has a node from the moment that its selector matches', () => {
    const { kube, stores } = setUp();
    const reindexed = vi.spyOn(stores.nodes, 'reindex');
    kube.put(nodes, node('w0', 'worker late'));
    const where = () =>
      ['worker', 'late', 'gpu'].filter((name) =>
        namesOf(storedView(name, stores).snapshot.nodes).includes('w0'),
      );
    kube.put(machineConfigPools, pool('worker', 'worker', { paused: true }));
    expect([where(), reindexed.mock.calls]).toEqual([['worker'], []]);
    kube.put(machineConfigPools, pool('late'));
    expect(where()).toEqual(['late']);
    kube.put(machineConfigPools, pool('gpu', 'late'));
    expect(storedView('late', stores).doubled).toEqual(['w0']);
    kube.drop({ kind: machineConfigPools, name: 'late' });
    expect([where(), storedView('gpu', stores).doubled]).toEqual([['gpu'], []]);
  });
});

describe('the pools that are looked at again', () => {
  it.each<[string, (kube: FakeKube) => unknown, readonly string[]]>([
    [
      'a heartbeat',
      (kube) => kube.put(nodes, node('w0', 'worker', { lastHeartbeatTime: 'now' })),
      [],
    ],
    [
      'a node that is not Ready',
      (kube) => kube.put(nodes, node('w0', 'worker', { status: 'False' })),
      ['worker'],
    ],
    [
      'a node that moves to another pool',
      (kube) => kube.put(nodes, node('w0', 'gpu')),
      ['gpu', 'worker'],
    ],
    ['a deleted node', (kube) => kube.drop({ kind: nodes, name: 'w0' }), ['worker']],
    [
      'a node with a member of etcd',
      (kube) => kube.put(nodes, node('m0', 'master', { status: 'False' })),
      all,
    ],
    [
      'a node that gets a member of etcd',
      (kube) => kube.put(nodes, node('w0', 'worker control-plane')),
      all,
    ],
    ['a deleted pool', (kube) => kube.drop({ kind: machineConfigPools, name: 'gpu' }), all],
    ['a new MachineOSConfig', (kube) => kube.put(machineOSConfigs, osConfig('gpu')), ['gpu']],
    [
      'a deleted MachineOSConfig',
      (kube) => kube.drop({ kind: machineOSConfigs, name: 'infra' }),
      ['infra'],
    ],
    ['a new build', (kube) => kube.put(machineOSBuilds, build('b', 'gpu')), ['gpu']],
    [
      'a deleted build',
      (kube) => kube.drop({ kind: machineOSBuilds, name: 'build-of-infra' }),
      ['infra'],
    ],
    [
      'a pod of a DaemonSet',
      (kube) => kube.put(pods, pod('d', 'i0', 'DaemonSet')),
      ['infra', 'worker'],
    ],
    [
      'a deleted pod of a DaemonSet',
      (kube) => kube.drop({ kind: pods, namespace, name: 'daemon' }),
      ['worker'],
    ],
    ['a pod of a DaemonSet on no node', (kube) => kube.put(pods, pod('d', 'x', 'DaemonSet')), []],
    ['a pod of a ReplicaSet', (kube) => kube.put(pods, pod('c', 'w0', 'ReplicaSet')), all],
    ['a pod without an owner', (kube) => kube.put(pods, pod('c', 'w0')), all],
    [
      'a Deployment of the operator',
      (kube) => kube.put(deployments, { metadata: { name: 'machine-os-builder', namespace } }),
      all,
    ],
    [
      'a lease of the operator',
      (kube) => kube.put(leases, { metadata: { name: 'machine-os-builder', namespace } }),
      all,
    ],
  ])('after %s', (_, change, expected) => {
    const { kube, added } = setUp();
    change(kube);
    expect([...new Set(added)].toSorted()).toEqual(expected);
  });
});

it('the operator runs a pool while a pod of its controller is left', () => {
  const { kube, clock, stores } = setUp();
  const scope = { clock, observed: leaseObserver(clock) };
  expect(operatorOf([], stores, scope)).toBeUndefined();
  kube.put(pods, pod('left', 'm0', 'ReplicaSet', 'machine-config-controller-1'));
  expect(operatorOf([], stores, scope)).toBe('its pod left is at work');
});

describe('an event of a pool', () => {
  const make = async (signal: AbortSignal, kube = fakeKube()) => {
    const notes: unknown[] = [];
    const clock = fakeClock();
    const note = (...given: readonly unknown[]): void => void notes.push(given);
    const scope = { kube, clock, namespace, note, observed: leaseObserver(clock) };
    const event = { type: 'Normal', reason: 'PoolOwner', message: 'of us' } as const;
    await poolEvent(scope, 'worker', event, signal);
    return { notes, made: kube.objectsOf(events) };
  };

  it('names the pool, its source, and is named as the API server allows', async () => {
    expect((await make(abort())).made).toMatchObject([
      {
        metadata: { name: expect.stringMatching(/^worker\.[a-z0-9.]+$/) as string },
        involvedObject: { kind: 'MachineConfigPool', name: 'worker' },
        source: { component: controllerApp },
      },
    ]);
  });

  it('that fails is logged, and at a stop its reason is thrown', async () => {
    const failing = fakeKube().lastError(kubeFailure('kube.busy', 'wait'));
    expect((await make(abort(), failing)).notes).toEqual([
      [
        'info',
        'an event of MachineConfigPool worker could not be made',
        { code: 'kube.busy', reason: 'wait' },
      ],
    ]);
    await expect(make(AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });
});
