import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runPools } from '../../../test/support/run-pools.ts';
import { deployments, events, machineConfigPools, nodes, pods } from '../../kube/kinds.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { mustLeave } from '../../layering/roll-out/blocked-drain.ts';
import { minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { controllerApp } from './stores.ts';

const role = 'node-role.kubernetes.io/worker';
const pool = {
  metadata: { name: 'worker' },
  spec: { nodeSelector: { matchLabels: { [role]: '' } } },
};
const cordoned = 'bootwright.io/cordoned';

function node(request: string, more: { annotations?: object; spec?: object } = {}): KubeObject {
  const annotations = { [nodeKeys.desiredDrain]: request, ...more.annotations };
  return { metadata: { name: 'w0', labels: { [role]: '' }, annotations }, spec: more.spec ?? {} };
}

const pod = (name: string, metadata: object = {}, more: object = {}): KubeObject => ({
  metadata: { name, namespace: 'shop', ...metadata },
  spec: { nodeName: 'w0' },
  ...more,
});
const podRef = (name: string) => ({ kind: pods, namespace: 'shop', name });
const ofDaemonSet = { ownerReferences: [{ kind: 'DaemonSet', name: 'd', controller: true }] };

function setUp(first: KubeObject) {
  const other = { metadata: { name: 'w1' } };
  const kube = fakeKube().put(machineConfigPools, pool).put(nodes, first).put(nodes, other);
  const clock = fakeClock({ auto: false });
  const stop = new AbortController();
  onTestFinished(() => stop.abort(new Error('stop')));
  const run = (port: Kube = kube, signal = stop.signal) =>
    runPools('drain-nodes', { kube: port, clock, signal });
  const advance = async (minute = 1): Promise<void> => {
    for (let passed = 0; passed < minute * 12; passed += 1) {
      await clock.advance(minutes(1) / 12);
      await settle();
    }
  };
  const now = (): KubeObject | undefined => kube.objectsOf(nodes)[0];
  const applied = (): unknown => now()?.metadata.annotations?.[nodeKeys.lastAppliedDrain];
  /** The agent of the node makes another request. */
  const ask = (request: string): void => {
    const { metadata, ...asking } = now() ?? node('');
    const annotations = { ...metadata.annotations, [nodeKeys.desiredDrain]: request };
    kube.put(nodes, { ...asking, metadata: { ...metadata, annotations } });
  };
  return { kube, clock, stop, run, advance, ask, now, applied };
}

describe('mustLeave', () => {
  it.each<[string, KubeObject, boolean]>([
    [
      'of a deployment',
      pod('p', { ownerReferences: [{ kind: 'ReplicaSet', controller: true }] }),
      true,
    ],
    ['without a controller', pod('p'), true],
    ['of a daemon set', pod('p', ofDaemonSet), false],
    [
      'from a static manifest',
      pod('p', { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
      false,
    ],
    ['that has succeeded', pod('p', {}, { status: { phase: 'Succeeded' } }), false],
    ['that has failed', pod('p', {}, { status: { phase: 'Failed' } }), false],
    ['that is being deleted', pod('p', { deletionTimestamp: 'x' }), true],
  ])('a pod %s', (_, one, expected) => {
    expect(mustLeave(one)).toBe(expected);
  });
});

describe('drain nodes', () => {
  it('cordons, evicts as budgets allow, and confirms the drain once every pod is gone', async () => {
    const { kube, stop, run, advance, now, applied } = setUp(node('drain-a'));
    kube.put(pods, pod('p')).put(pods, pod('agent', ofDaemonSet)).put(pods, pod('q'));
    kube.withBudget('q', 'budget b needs 1');
    const ended = run();
    await advance();
    expect(now()).toMatchObject({ spec: { unschedulable: true } });
    kube.drop(podRef('p'));
    await advance();
    expect(applied()).toBeUndefined();
    kube.withBudget('q', undefined);
    await advance();
    // The pod ends at its own pace.
    expect(applied()).toBeUndefined();
    kube.drop(podRef('q'));
    await advance();
    expect(applied()).toBe('drain-a');
    const evicted = kube.writes.filter(({ verb }) => verb === 'evict').map(({ name }) => name);
    expect(evicted).toEqual(['p', 'q']);
    stop.abort(new Error('stop'));
    expect((await ended).events).toContainEqual(
      expect.objectContaining({
        type: 'wait.updated',
        status: 'node w0 still has shop/q (budget b needs 1)',
      }),
    );
  });

  it('does not evict a pod that was created after the cordon', async () => {
    const { kube, run, advance, applied } = setUp(node('drain-a'));
    kube.put(pods, pod('p'));
    void run();
    await advance();
    kube.drop(podRef('p')).put(pods, pod('again'));
    await advance();
    expect(applied()).toBe('drain-a');
    expect(kube.writes.filter(({ verb }) => verb === 'evict')).toHaveLength(1);
  });

  it('evicts no pods on a single node', async () => {
    const { kube, run, advance, applied } = setUp(node('drain-a'));
    kube.drop({ kind: nodes, name: 'w1' });
    kube.put(pods, pod('p'));
    void run();
    await advance();
    expect(applied()).toBe('drain-a');
    expect(kube.writes.filter(({ verb }) => verb === 'evict')).toEqual([]);
  });

  it('removes the confirmation of an earlier request, and confirms the request again', async () => {
    const before = { [nodeKeys.lastAppliedDrain]: 'uncordon-a' };
    const { kube, run, advance, ask, now, applied } = setUp(
      node('drain-b', { annotations: before }),
    );
    kube.put(pods, pod('q')).withBudget('q', 'budget b needs 1');
    void run();
    await advance();
    expect(applied()).toBeUndefined();
    ask('uncordon-a');
    await advance();
    expect(applied()).toBe('uncordon-a');
    expect(now()?.['spec']).toEqual({});
  });

  it('creates one event when a drain takes more than an hour, despite an outage', async () => {
    const { kube, run, advance, now } = setUp(node('drain-a'));
    kube.put(pods, pod('q')).withBudget('q', 'budget b needs 1');
    void run();
    await advance(30);
    kube.lastError(kubeFailure('kube.unreachable', 'no connection'));
    await advance(1);
    kube.lastError(undefined);
    await advance(28);
    expect(kube.objectsOf(events)).toEqual([]);
    await advance(10);
    expect(kube.objectsOf(events)).toMatchObject([
      { reason: 'FailedToDrain', message: expect.stringContaining('budget b needs 1') as string },
    ]);
    expect(now()).toMatchObject({ spec: { unschedulable: true } });
  });

  it('keeps the cordon of a person when another drain follows without an uncordon', async () => {
    const spec = { unschedulable: true };
    const { run, advance, ask, now, applied } = setUp(node('drain-a', { spec }));
    void run();
    await advance();
    ask('drain-b');
    await advance();
    expect(applied()).toBe('drain-b');
    ask('uncordon-b');
    await advance();
    expect(applied()).toBe('uncordon-b');
    expect(now()).toMatchObject({ spec });
  });

  it('keeps the cordon of a person beside a stale annotation of an earlier drain', async () => {
    const annotations = { [cordoned]: 'true', [nodeKeys.lastAppliedDrain]: 'uncordon-z' };
    const spec = { unschedulable: true };
    const { run, advance, ask, now, applied } = setUp(node('drain-a', { annotations, spec }));
    void run();
    await advance();
    expect(applied()).toBe('drain-a');
    ask('uncordon-a');
    await advance();
    expect(applied()).toBe('uncordon-a');
    expect(now()).toMatchObject({ spec: { unschedulable: true } });
    expect(now()?.metadata.annotations).not.toHaveProperty([cordoned]);
  });

  const own = (): KubeObject => {
    const one = pod('own', { namespace: 'assisted-installer', labels: { app: controllerApp } });
    return { ...one, spec: { nodeName: 'w0', nodeSelector: { [role]: '' } } };
  };
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  it.each<[string, KubeObject, readonly string[]]>([
    [
      'when another node can run it',
      { metadata: { name: 'w1', labels: { [role]: '' } }, status: ready },
      ['own', 'p'],
    ],
    ['and not when no other node is selected', { metadata: { name: 'w1' }, status: ready }, ['p']],
    [
      'and not when the only other node is cordoned',
      {
        metadata: { name: 'w1', labels: { [role]: '' } },
        spec: { unschedulable: true },
        status: ready,
      },
      ['p'],
    ],
    [
      'and not when the only other node is not Ready',
      { metadata: { name: 'w1', labels: { [role]: '' } } },
      ['p'],
    ],
  ])('evicts its own pod only %s', async (...[, other, evicted]) => {
    const { kube, run, advance, applied } = setUp(node('drain-a'));
    kube.put(nodes, other).put(pods, pod('p')).put(pods, own());
    void run();
    await advance();
    const names = kube.writes.filter(({ verb }) => verb === 'evict').map(({ name }) => name);
    expect(names.toSorted()).toEqual(evicted);
    for (const { metadata } of kube.objectsOf(pods)) {
      if (evicted.includes(metadata.name))
        kube.drop({ kind: pods, ...metadata, name: metadata.name });
    }
    await advance();
    expect(applied()).toBe('drain-a');
  });

  it('lists the pods of a node at most once in five seconds, however often nodes change', async () => {
    const { kube, clock, run, advance } = setUp(node('drain-a'));
    kube.put(pods, pod('q')).withBudget('q', 'budget b needs 1');
    let lists = 0;
    const counting: Kube = {
      ...kube,
      list: (selection, signal) => {
        if (selection.fieldSelector !== undefined) lists += 1;
        return kube.list(selection, signal);
      },
    };
    void run(counting);
    await advance();
    lists = 0;
    for (let times = 0; times < 100; times += 1) {
      kube.put(nodes, { metadata: { name: 'w1', labels: { times: `${times}` } } });
      await clock.advance(100);
    }
    expect(lists).toBeLessThanOrEqual(20);
  });

  const taint = { key: 'x', effect: 'PreferNoSchedule' };
  it.each<[string, object, object, object]>([
    ['that it has cordoned', { [cordoned]: 'true' }, { unschedulable: true }, {}],
    [
      'that the operator drained before it left, and removes its taint',
      { [nodeKeys.lastAppliedDrain]: 'drain-a' },
      { unschedulable: true, taints: [{ ...taint, key: 'UpdateInProgress' }, taint] },
      { taints: [taint] },
    ],
    [
      'but not one that a person has cordoned',
      {},
      { unschedulable: true, taints: [taint] },
      { unschedulable: true, taints: [taint] },
    ],
  ])('uncordons a node %s', async (...[, annotations, spec, left]) => {
    const { run, advance, now, applied } = setUp(node('uncordon-a', { annotations, spec }));
    void run();
    await advance();
    expect(applied()).toBe('uncordon-a');
    expect(now()?.['spec']).toEqual(left);
    expect(now()?.metadata.annotations).not.toHaveProperty([cordoned]);
  });

  it.each<[string, (kube: ReturnType<typeof setUp>['kube']) => unknown]>([
    ['is uncordoned', (kube) => kube.put(nodes, node('drain-a'))],
    ['no longer requests it', (kube) => kube.put(nodes, node('uncordon-a'))],
    ['requests another drain', (kube) => kube.put(nodes, node('drain-b'))],
    [
      'requests another drain and is cordoned',
      (kube) => kube.put(nodes, node('drain-b', { spec: { unschedulable: true } })),
    ],
    ['is gone', (kube) => kube.drop({ kind: nodes, name: 'w0' })],
    [
      'has been recreated',
      (kube) => {
        const same = node('drain-a', { spec: { unschedulable: true } });
        kube.put(nodes, { ...same, metadata: { ...same.metadata, uid: 'other' } });
      },
    ],
  ])('evicts nothing from a node that %s before the watch shows it', async (_, change) => {
    const { kube, run, advance } = setUp(node('drain-a'));
    kube.put(pods, pod('p'));
    let isCordoned = false;
    const late: Kube = {
      ...kube,
      patch: async (...given) => {
        const answer = await kube.patch(...given);
        isCordoned = true;
        return answer;
      },
      // The cordoned node is the last event of the watch.
      follow: (selection, seen, signal) =>
        kube.follow(
          selection,
          (view) => {
            if (!isCordoned || selection.kind !== nodes) seen(view);
          },
          signal,
        ),
      list: async (...given) => {
        const listed = await kube.list(...given);
        if (isCordoned) change(kube);
        return listed;
      },
    };
    void run(late);
    await advance();
    expect(isCordoned).toBe(true);
    expect(kube.writes.filter(({ verb }) => verb === 'evict')).toEqual([]);
  });

  it('evicts the other pods when the read before one eviction fails, and that one later', async () => {
    const { kube, run, advance } = setUp(node('drain-a', { spec: { unschedulable: true } }));
    const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
    for (const name of names) kube.put(pods, pod(name));
    let failures = 1;
    const port: Kube = {
      ...kube,
      get: (ref, signal) => {
        if (ref.kind !== nodes || failures === 0) return kube.get(ref, signal);
        failures -= 1;
        return Promise.reject(kubeFailure('kube.unreachable', 'no route'));
      },
    };
    const evicted = () =>
      kube.writes.filter(({ verb }) => verb === 'evict').map((write) => write.name);
    void run(port);
    await settle();
    expect(new Set(evicted())).toEqual(new Set(names.slice(1)));
    await advance();
    expect(new Set(evicted())).toEqual(new Set(names));
  });

  it('waits for a pod that was scheduled while somebody had uncordoned the node', async () => {
    const { kube, run, advance, applied, now } = setUp(node('drain-a'));
    kube.put(pods, pod('p')).withBudget('p', 'budget b needs 1');
    void run();
    await advance();
    const { spec: _, ...uncordoned } = now() ?? node('');
    kube.put(pods, pod('came')).put(nodes, uncordoned);
    await advance();
    kube.withBudget('p', undefined);
    await advance();
    kube.drop(podRef('p'));
    await advance();
    expect(applied()).toBeUndefined();
    kube.drop(podRef('came'));
    await advance();
    expect(applied()).toBe('drain-a');
  });

  it('does not touch nodes of the operator, even before the watch shows it', async () => {
    const { kube, run, advance } = setUp(node('drain-a'));
    const deployment = {
      metadata: { name: 'machine-config-controller', namespace: 'assisted-installer' },
      spec: { replicas: 1 },
    };
    // The watch has not shown the change yet.
    let reads = 0;
    const port: Kube = {
      ...kube,
      get: (ref, signal) => {
        if (ref.kind !== deployments) return kube.get(ref, signal);
        reads += 1;
        return Promise.resolve(deployment);
      },
    };
    kube.put(pods, pod('p'));
    void run(port);
    await advance();
    expect(reads).toBeGreaterThan(0);
    kube.put(deployments, deployment);
    await advance();
    expect(kube.writes).toEqual([]);
  });

  it('uncordons after a drain that the operator left unconfirmed', async () => {
    const name = 'machine-config-controller';
    const spec = { unschedulable: true };
    const { kube, run, advance, ask, now, applied } = setUp(node('drain-a', { spec }));
    kube.put(deployments, { metadata: { name, namespace: 'assisted-installer' } });
    void run();
    await advance();
    expect(applied()).toBeUndefined();
    kube.drop({ kind: deployments, namespace: 'assisted-installer', name });
    await advance();
    expect(applied()).toBe('drain-a');
    ask('uncordon-a');
    await advance();
    expect(applied()).toBe('uncordon-a');
    expect(now()?.['spec']).not.toHaveProperty('unschedulable', true);
  });

  it('stops a drain while the operator is deployed and continues afterwards', async () => {
    const { kube, run, advance, applied } = setUp(node('drain-a'));
    kube.put(pods, pod('p')).put(pods, pod('q')).withBudget('q', 'budget b needs 1');
    void run();
    await advance();
    const name = 'machine-config-controller';
    kube.put(deployments, { metadata: { name, namespace: 'assisted-installer' } });
    await advance();
    const writes = kube.writes.length;
    kube.withBudget('q', undefined).drop(podRef('p'));
    await advance();
    kube.drop(podRef('q'));
    await advance();
    expect([kube.writes.length, applied()]).toEqual([writes, undefined]);
    kube.drop({ kind: deployments, namespace: 'assisted-installer', name });
    await advance();
    expect(applied()).toBe('drain-a');
  });
});
