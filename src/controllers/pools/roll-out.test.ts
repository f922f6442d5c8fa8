import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runPools } from '../../../test/support/run-pools.ts';
import {
  deployments,
  etcds,
  events,
  machineConfigPools,
  machineConfigs,
  nodes,
  pods,
} from '../../kube/kinds.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { seconds } from '../../model/duration.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';

const label = (role: string): string => `node-role.kubernetes.io/${role}`;
const pool = (name: string, role = name): KubeObject => ({
  metadata: { name },
  spec: {
    configuration: { name: 'r2' },
    nodeSelector: { matchLabels: { [label(role)]: '' } },
    maxUnavailable: 3,
  },
});
const node = (name: string, ...roles: readonly string[]): KubeObject => ({
  metadata: {
    name,
    labels: Object.fromEntries(roles.map((role) => [label(role), ''])),
    annotations: {
      [nodeKeys.state]: 'Done',
      [nodeKeys.desiredConfig]: 'r1',
      [nodeKeys.currentConfig]: 'r1',
    },
  },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});

function setUp(pools: readonly KubeObject[], members: readonly KubeObject[]) {
  const kube = fakeKube();
  for (const one of pools) kube.put(machineConfigPools, one);
  for (const one of members) kube.put(nodes, one);
  const clock = fakeClock({ auto: false });
  const stop = new AbortController();
  onTestFinished(() => stop.abort(new Error('stop')));
  const start = (port: Kube = kube, signal = stop.signal) =>
    runPools('roll-out', { kube: port, clock, signal });
  const advance = async (count = 5): Promise<void> => {
    for (let passed = 0; passed < count; passed += 1) {
      await clock.advance(seconds(2));
      await settle();
    }
  };
  /** All writes but events. */
  const changes = () => kube.writes.filter(({ kind }) => kind !== 'events');
  const chosen = (): readonly string[] =>
    kube
      .objectsOf(nodes)
      .filter(({ metadata }) => metadata.annotations?.[nodeKeys.desiredConfig] === 'r2')
      .map(({ metadata }) => metadata.name);
  /** Acts like an agent at its end. */
  const finish = (name: string): void => {
    const object = kube.objectsOf(nodes).find(({ metadata }) => metadata.name === name);
    if (object === undefined) throw new Error(`there is no node ${name}`);
    const annotations = { ...object.metadata.annotations, [nodeKeys.currentConfig]: 'r2' };
    kube.put(nodes, { ...object, metadata: { ...object.metadata, annotations } });
  };
  return { kube, clock, stop, start, advance, changes, chosen, finish };
}

const masters = ['m0', 'm1', 'm2'].map((name) => node(name, 'master'));
const member = (name: string, isReady: boolean): KubeObject => ({
  metadata: { name: `etcd-${name}`, namespace: 'openshift-etcd', labels: { app: 'etcd' } },
  spec: { nodeName: name },
  status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});

const isAtWork = (all: readonly KubeObject[], name: string): boolean =>
  all.some(
    ({ metadata }) =>
      metadata.name === name && metadata.annotations?.[nodeKeys.currentConfig] !== 'r2',
  );

describe('roll out', () => {
  it('changes one master at a time', async () => {
    const { kube, start, advance, chosen, finish } = setUp([pool('master')], masters);
    void start();
    await advance();
    expect(chosen()).toEqual(['m0']);
    finish('m0');
    await advance();
    expect(chosen()).toEqual(['m0', 'm1']);
    finish('m1');
    await advance();
    finish('m2');
    await advance();
    expect(chosen()).toEqual(['m0', 'm1', 'm2']);
    const [, ...changed] = kube.objectsOf(events);
    expect(changed).toHaveLength(3);
    expect(changed[0]).toMatchObject({
      reason: 'SetDesiredConfigAndOSImage',
      message: 'node m0 is to have MachineConfig r2',
    });
  });

  it('does not change a second master while the watch is stale', async () => {
    const { kube, start, advance, chosen } = setUp([pool('master')], masters);
    const late: Kube = {
      ...kube,
      follow: (selection, seen, signal) => {
        if (selection.kind !== nodes) return kube.follow(selection, seen, signal);
        seen({ isSynced: true, objects: masters, changes: [] });
        return kube.follow({ kind: etcds }, () => undefined, signal);
      },
    };
    void start(late);
    await advance(20);
    expect(chosen()).toEqual(['m0']);
  });

  it('retries a node after a conflict', async () => {
    const { kube, stop, start, advance, chosen } = setUp([pool('worker')], [node('w0', 'worker')]);
    let isFirst = true;
    const busy: Kube = {
      ...kube,
      patch: (ref, patch, signal) => {
        if (isFirst) kube.put(nodes, { ...node('w0', 'worker'), spec: { unschedulable: false } });
        isFirst = false;
        return kube.patch(ref, patch, signal);
      },
    };
    const ended = start(busy);
    await advance();
    expect(chosen()).toEqual(['w0']);
    stop.abort(new Error('stop'));
    expect((await ended).notes.slice(1)).toEqual([
      'info: roll-out of pool worker: trying again',
      'info: pool worker: node w0 is to have MachineConfig r2',
    ]);
  });

  it('changes no master while an etcd member is not healthy', async () => {
    const { kube, start, advance, chosen } = setUp([pool('master')], masters);
    kube.put(pods, member('m0', true)).put(pods, member('m1', false)).put(pods, member('m2', true));
    void start();
    await advance();
    expect(chosen()).toEqual([]);
    kube.put(pods, member('m1', true));
    kube.put(etcds, { metadata: { name: 'cluster' } });
    await advance(20);
    expect(chosen()).toEqual(['m0']);
  });

  describe('of two masters and an arbiter', () => {
    const pools = [pool('master'), pool('arbiter')];
    const members = [node('m0', 'master'), node('m1', 'master'), node('a0', 'arbiter')];

    it('changes one at a time', async () => {
      const { kube, start, advance, chosen, finish } = setUp(pools, members);
      void start();
      await advance();
      expect(chosen()).toHaveLength(1);
      for (let changed = 1; changed < 3; changed += 1) {
        finish(chosen().find((name) => isAtWork(kube.objectsOf(nodes), name)) ?? '');
        await advance(10);
        expect(chosen()).toHaveLength(changed + 1);
      }
    });

    it.each(['m0', 'm1', 'a0'])(
      'changes none while the member on %s is not Ready',
      async (name) => {
        const { kube, start, advance, chosen } = setUp(pools, members);
        kube.put(etcds, { metadata: { name: 'cluster' } });
        for (const one of ['m0', 'm1', 'a0']) kube.put(pods, member(one, one !== name));
        void start();
        await advance();
        expect(chosen()).toEqual([]);
      },
    );
  });

  it('changes none of two masters while one etcd member is not Ready', async () => {
    const two = masters.slice(0, 2);
    const { kube, start, advance, chosen } = setUp([pool('master')], two);
    kube.put(etcds, { metadata: { name: 'cluster' } });
    kube.put(pods, member('m0', true)).put(pods, member('m1', false));
    void start();
    await advance();
    expect(chosen()).toEqual([]);
    kube.put(pods, member('m1', true));
    await advance(20);
    expect(chosen()).toEqual(['m0']);
  });

  it.each<[string, boolean, readonly boolean[], boolean]>([
    ['shows neither etcd nor its pods', false, [], true],
    ['shows pods of etcd alone', false, [true, false], false],
    ['shows etcd without pods', true, [], false],
  ])('of a cluster that %s changes a master: %#', async (...given) => {
    const [, hasEtcd, health, isChanged] = given;
    const { kube, start, advance, chosen } = setUp([pool('master')], masters);
    if (hasEtcd) kube.put(etcds, { metadata: { name: 'cluster' } });
    for (const [at, isHealthy] of health.entries()) kube.put(pods, member(`m${at}`, isHealthy));
    void start();
    await advance();
    expect(chosen()).toEqual(isChanged ? ['m0'] : []);
  });

  it.each<[string, boolean, readonly boolean[], boolean]>([
    ['its own member alone is not Ready', true, [false, true, true], true],
    ['its own member is Ready, and another is not', true, [true, false, true], false],
    ['the other members have no quorum', true, [false, true, false], false],
    ['it is not degraded', false, [false, true, true], false],
  ])('gives a degraded master a target that helps it, only if %s', async (...given) => {
    const [, isDegraded, health, isChanged] = given;
    const [first, ...others] = masters;
    if (first === undefined) throw new Error('no masters');
    const state = { [nodeKeys.state]: isDegraded ? 'Degraded' : 'Done' };
    const annotations = { ...first.metadata.annotations, ...state };
    const broken = { ...first, metadata: { ...first.metadata, annotations } };
    const { kube, start, advance, chosen } = setUp([pool('master')], [broken, ...others]);
    const message = 'etcd member m0 is unhealthy';
    const status = { conditions: [{ type: 'EtcdMembersDegraded', status: 'True', message }] };
    kube.put(etcds, { metadata: { name: 'cluster' }, status });
    for (const [at, isHealthy] of health.entries()) kube.put(pods, member(`m${at}`, isHealthy));
    void start();
    await advance();
    expect(chosen()).toEqual(isChanged ? ['m0'] : []);
  });

  it('changes the only master, whatever its etcd member is', async () => {
    const { kube, start, advance, chosen } = setUp([pool('master')], masters.slice(0, 1));
    kube.put(etcds, { metadata: { name: 'cluster' } }).put(pods, member('m0', false));
    void start();
    await advance();
    expect(chosen()).toEqual(['m0']);
  });

  it.each<[string, number, readonly boolean[], boolean]>([
    ['all five', 5, [true, true, true, true, true], true],
    ['four of five', 5, [true, true, true, true, false], true],
    ['three of five', 5, [true, true, true, false, false], false],
    ['three of five, the pods of two gone', 5, [true, true, true], false],
    ['all four', 4, [true, true, true, true], true],
    ['three of four', 4, [true, true, true, false], false],
  ])('changes a master with %s etcd members only if a quorum remains', async (...given) => {
    const [, count, health, isChanged] = given;
    const names = Array.from({ length: count }, (_, at) => `m${at}`);
    const { kube, start, advance, chosen } = setUp(
      [pool('master')],
      names.map((name) => node(name, 'master')),
    );
    kube.put(etcds, { metadata: { name: 'cluster' } });
    for (const [at, isHealthy] of health.entries()) kube.put(pods, member(`m${at}`, isHealthy));
    void start();
    await advance();
    expect(chosen()).toEqual(isChanged ? ['m0'] : []);
  });

  it.each<[string, Partial<KubeObject['metadata']>, object]>([
    ['is paused', {}, { paused: true }],
    ['is being deleted', { deletionTimestamp: '2026-01-01T00:00:00Z' }, {}],
  ])('does not change further nodes once the pool %s', async (_, metadata, spec) => {
    const { kube, stop, start, advance, chosen, finish } = setUp([pool('master')], masters);
    const ended = start();
    await advance();
    const { metadata: named, spec: old } = pool('master');
    kube.put(machineConfigPools, {
      metadata: { ...named, ...metadata },
      spec: { ...(old as object), ...spec },
    });
    finish('m0');
    await advance();
    expect(chosen()).toEqual(['m0']);
    stop.abort(new Error('stop'));
    const status = expect.stringContaining('pool master: the pool is') as string;
    expect((await ended).events).toContainEqual(
      expect.objectContaining({ type: 'wait.updated', status }),
    );
  });

  it('decides about a pool again and again until the pool is removed', async () => {
    const { kube, clock, start, advance } = setUp([pool('worker')], []);
    void start();
    await advance();
    expect(clock.sleeping()).toBe(1);
    kube.drop({ kind: machineConfigPools, name: 'worker' });
    await advance(20);
    expect(clock.sleeping()).toBe(0);
  });

  it('reports who runs a pool again when it was deleted meanwhile', async () => {
    const { kube, stop, start, advance } = setUp([pool('worker')], [node('w0', 'worker')]);
    const ended = start();
    await advance();
    kube.drop({ kind: machineConfigPools, name: 'worker' });
    await advance();
    kube.put(machineConfigPools, pool('worker'));
    await advance();
    stop.abort(new Error('stop'));
    const owner = 'info: pool worker: bootwright node controller runs this pool';
    expect((await ended).notes.filter((note) => note === owner)).toHaveLength(2);
  });

  it('continues with the next node when one is deleted during its change', async () => {
    const { kube, start, advance, chosen } = setUp([pool('master')], masters);
    void start();
    await advance();
    kube.drop({ kind: nodes, name: 'm0' });
    await advance();
    expect(chosen()).toEqual(['m1']);
  });

  it('does not change a node that two custom pools select, and reports it', async () => {
    const both = [pool('infra'), pool('gpu'), pool('worker')];
    const { stop, start, advance, changes } = setUp(both, [node('w0', 'infra', 'gpu', 'worker')]);
    const ended = start();
    await advance();
    expect(changes()).toEqual([]);
    stop.abort(new Error('stop'));
    const reason = 'w0 in two pools: change their labels';
    expect((await ended).events).toContainEqual(
      expect.objectContaining({
        type: 'wait.updated',
        status: `pool gpu: ${reason}; pool infra: ${reason}`,
      }),
    );
  });

  it('does not change a node when the operator has just been deployed', async () => {
    const { kube, start, advance, changes } = setUp([pool('worker')], [node('w0', 'worker')]);
    const name = 'machine-config-controller';
    let reads = 0;
    const back: Kube = {
      ...kube,
      get: (ref) => {
        if (ref.name === name) reads += 1;
        return Promise.resolve(ref.name === name ? { metadata: { name } } : undefined);
      },
    };
    void start(back);
    await advance(20);
    expect(reads).toBeGreaterThan(0);
    expect(changes()).toEqual([]);
  });

  it('does not change a pool of the operator, and reports once who runs each pool', async () => {
    const pools = [pool('master'), pool('worker')];
    const { kube, stop, start, advance, changes } = setUp(pools, masters);
    const namespace = 'assisted-installer';
    const ownerReferences = [
      { kind: 'DaemonSet', name: 'machine-config-daemon', controller: true },
    ];
    const metadata = { name: 'mcd', namespace, ownerReferences };
    kube.put(pods, { metadata, spec: { nodeName: 'm2' } });
    const ended = start();
    await advance();
    const operator = { name: 'machine-config-controller', namespace };
    kube.put(deployments, { metadata: operator, spec: { replicas: 1 } });
    await advance();
    kube.put(deployments, { metadata: { ...operator, labels: {} }, spec: { replicas: 1 } });
    await advance();
    expect(changes()).toEqual([]);
    stop.abort(new Error('stop'));
    const messages = [
      'hands off: DaemonSet machine-config-daemon has pod mcd on node m2',
      'bootwright node controller runs this pool',
      'hands off: Deployment machine-config-controller is there',
    ];
    expect(
      kube
        .objectsOf(events)
        .map((event) => event['message'])
        .toSorted(),
    ).toEqual(messages.toSorted());
    expect((await ended).notes).toEqual(
      messages.map((text, at) => `info: pool ${at === 0 ? 'master' : 'worker'}: ${text}`),
    );
  });

  it('assigns a pool of another OS stream only its own configuration, and writes neither pools nor MachineConfigs', async () => {
    const [{ metadata, spec }] = [pool('worker')];
    const selector = { machineConfigSelector: { matchLabels: { role: 'worker' } } };
    const ofStream = { osImageStream: { name: 'rhel-10' }, configuration: { name: 'rendered-10' } };
    const { kube, clock, stop, advance } = setUp(
      [{ metadata, spec: { ...(spec as object), ...selector, ...ofStream } }],
      [node('w0', 'worker')],
    );
    // Objects of an earlier operator: the image of the default stream, and MachineConfigs that have
    // changed since.
    kube.put(
      { ...machineConfigs, plural: 'controllerconfigs' },
      {
        metadata: { name: 'machine-config-controller' },
        spec: { baseOSContainerImage: 'r.test/rhel-9' },
      },
    );
    kube.put(machineConfigs, {
      metadata: { name: '50-new', labels: { role: 'worker' } },
      spec: {},
    });
    void runPools(undefined, { kube, clock, signal: stop.signal });
    await advance();
    const [changed] = kube.objectsOf(nodes);
    expect(changed?.metadata.annotations).toMatchObject({
      [nodeKeys.desiredConfig]: 'rendered-10',
    });
    expect(changed?.metadata.annotations?.[nodeKeys.desiredImage]).toBeUndefined();
    expect(kube.writes.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual([
      'create events',
      'patch nodes',
      'create events',
    ]);
  });
});
