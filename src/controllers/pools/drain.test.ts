import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runPools } from '../../../test/support/run-pools.ts';
import type { RunEvent } from '../../engine/events.ts';
import { deployments, events, machineConfigPools, nodes, pods } from '../../kube/kinds.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { mustLeave } from '../../layering/roll-out/blocked-drain.ts';
import { isCordoned } from '../../layering/roll-out/node-state.ts';
import { minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
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
const operator = {
  metadata: { name: 'machine-config-controller', namespace: 'assisted-installer' },
};
const operatorRef = { kind: deployments, ...operator.metadata };
const daemonOn = (nodeName: string): KubeObject => {
  const owner = { kind: 'DaemonSet', name: 'machine-config-daemon', controller: true };
  const placed = { namespace: 'assisted-installer', ownerReferences: [owner] };
  return pod('daemon', placed, { spec: { nodeName } });
};
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
  const evicted = () =>
    kube.writes.filter(({ verb }) => verb === 'evict').map((write) => write.name);
  /** The agent of the node makes another request. */
  const ask = (request: string): void => {
    const { metadata, ...asking } = now() ?? node('');
    const annotations = { ...metadata.annotations, [nodeKeys.desiredDrain]: request };
    kube.put(nodes, { ...asking, metadata: { ...metadata, annotations } });
  };
  /** The events of a run that is stopped now. */
  const eventsOf = async (ended: ReturnType<typeof run>): Promise<readonly RunEvent[]> => {
    stop.abort(new Error('stop'));
    return (await ended).events;
  };
  return { kube, clock, stop, run, advance, ask, now, applied, evicted, eventsOf };
}

const statusesIn = (all: readonly RunEvent[]) =>
  all.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : []));
const warningsIn = (all: readonly RunEvent[]) =>
  all.flatMap((event) => (event.type === 'note' && event.level === 'warn' ? [event] : []));

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
    const { kube, run, advance, now, applied, evicted, eventsOf } = setUp(node('drain-a'));
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
    expect(evicted()).toEqual(['p', 'q']);
    expect(statusesIn(await eventsOf(ended))).toEqual([
      'no node asks for a drain',
      'node w0 still has shop/q (budget b needs 1), shop/p',
      'node w0 still has shop/q (budget b needs 1)',
      'node w0 still has shop/q',
      'no node asks for a drain',
    ]);
  });

  it.each<[string, readonly string[], string]>([
    ['all of three', ['a', 'b', 'c'], 'shop/c (no), shop/a, shop/b'],
    ['three of five', ['a', 'b', 'c', 'd', 'e'], 'shop/c (no), shop/e (no), shop/a, 2 more'],
  ])('names %s pods in its status, first those that are refused', async (_, names, status) => {
    const { kube, run, advance, eventsOf } = setUp(node('drain-a'));
    for (const name of names) kube.put(pods, pod(name));
    kube.withBudget('c', 'no').withBudget('e', 'no');
    const ended = run();
    await advance();
    const all = await eventsOf(ended);
    expect(statusesIn(all).at(-1)).toBe(`node w0 still has ${status}`);
  });

  it('tries a refused eviction again after ever longer pauses, and logs each cause once', async () => {
    const { kube, clock, run, advance, eventsOf } = setUp(node('drain-a'));
    kube.put(pods, pod('q')).withBudget('q', 'budget b needs 1');
    const tries: number[] = [];
    const ended = run({
      ...kube,
      evict: (...given) => {
        tries.push(clock.elapsed() / 1000);
        return kube.evict(...given);
      },
    });
    await advance(2);
    expect(tries).toEqual([0, 5, 15, 35, 65, 95]);
    kube.withBudget('q', 'budget b needs 2');
    await advance(1);
    const code = 'kube.disruption-budget';
    expect(warningsIn(await eventsOf(ended))).toMatchObject([
      { message: 'pod shop/q cannot be evicted', fields: { code, reason: 'budget b needs 1' } },
      { message: 'pod shop/q cannot be evicted', fields: { code, reason: 'budget b needs 2' } },
    ]);
  });

  it.each(['', 'halt-a'])('does nothing for a node that requests "%s"', async (request) => {
    const { kube, clock, run, advance, eventsOf } = setUp(node(request));
    const ended = run();
    await advance();
    expect(kube.writes).toEqual([]);
    expect(clock.sleeping()).toBe(request === '' ? 0 : 1);
    expect(warningsIn(await eventsOf(ended))).toEqual([]);
  });

  it('cordons a node that joins with its request', async () => {
    const { kube, run, advance } = setUp(node(''));
    void run();
    await advance();
    const { metadata } = node('drain-a');
    kube.put(nodes, { metadata: { ...metadata, name: 'w2' } });
    await advance();
    expect(kube.objectsOf(nodes)[2]).toMatchObject({ spec: { unschedulable: true } });
  });

  it('does not evict a pod that was created after the cordon', async () => {
    const { kube, run, advance, applied, evicted } = setUp(node('drain-a'));
    kube.put(pods, pod('p'));
    void run();
    await advance();
    kube.drop(podRef('p')).put(pods, pod('again'));
    await advance();
    expect(applied()).toBe('drain-a');
    expect(evicted()).toEqual(['p']);
  });

  it('evicts no pods on a single node', async () => {
    const { kube, run, advance, applied, evicted } = setUp(node('drain-a'));
    kube.drop({ kind: nodes, name: 'w1' });
    kube.put(pods, pod('p'));
    void run();
    await advance();
    expect(applied()).toBe('drain-a');
    expect(evicted()).toEqual([]);
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

  it.each<[string, (cluster: ReturnType<typeof setUp>) => Promise<void>]>([
    [
      'another drain',
      ({ ask }) => {
        ask('drain-b');
        return Promise.resolve();
      },
    ],
    [
      'a drain that was withdrawn in between',
      async ({ ask, advance }) => {
        ask('');
        await advance();
        ask('drain-a');
      },
    ],
  ])('begins the hour again for %s', async (_, change) => {
    const cluster = setUp(node('drain-a'));
    const { kube, clock, run, advance, eventsOf } = cluster;
    kube.put(pods, pod('q')).withBudget('q', 'budget b needs 1');
    const ended = run();
    await clock.advance(minutes(59));
    await change(cluster);
    await clock.advance(minutes(59));
    expect(kube.objectsOf(events)).toEqual([]);
    await advance(1);
    expect(kube.objectsOf(events)).toHaveLength(1);
    const messages = warningsIn(await eventsOf(ended)).map(({ message }) => message);
    expect(messages.at(-1)).toContain('pool worker: the drain has taken more than an hour');
  });

  it('drains a node of no pool and creates no event for it', async () => {
    const { kube, run, advance, applied } = setUp(node('drain-a'));
    kube.drop({ kind: machineConfigPools, name: 'worker' });
    kube.put(pods, pod('q')).withBudget('q', 'budget b needs 1');
    void run();
    await advance(70);
    expect(kube.objectsOf(events)).toEqual([]);
    kube.drop(podRef('q'));
    await advance();
    expect(applied()).toBe('drain-a');
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

  it.each<[string, (cluster: ReturnType<typeof setUp>) => Promise<unknown>]>([
    ['before the node was cordoned', ({ kube }) => Promise.resolve(kube.drop(operatorRef))],
    [
      'before the last round of the node',
      async ({ kube, advance, ask }) => {
        kube.put(nodes, node('drain-a', { spec: { unschedulable: true } }));
        await advance();
        kube.drop(operatorRef);
        await advance();
        ask('uncordon-a');
        await advance();
      },
    ],
    [
      'before the node was installed again',
      async ({ kube, advance }) => {
        kube.put(nodes, node('drain-a', { spec: { unschedulable: true } }));
        await advance();
        kube.drop({ kind: nodes, name: 'w0' }).drop(operatorRef);
        await advance();
      },
    ],
  ])('keeps the cordon of a person where the operator left %s', async (_, leave) => {
    const cluster = setUp(node('drain-a'));
    const { kube, run, advance, ask, now, applied } = cluster;
    kube.put(deployments, operator);
    void run();
    await advance();
    await leave(cluster);
    const spec = { unschedulable: true };
    kube.put(nodes, node('drain-a', { spec }));
    await advance();
    expect(applied()).toBe('drain-a');
    ask('uncordon-a');
    await advance();
    expect(applied()).toBe('uncordon-a');
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

  const own = (nodeSelector: object = { [role]: '' }): KubeObject => {
    const one = pod('own', { namespace: 'assisted-installer', labels: { app: controllerApp } });
    return { ...one, spec: { nodeName: 'w0', nodeSelector } };
  };
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  it.each<[string, KubeObject, readonly string[], object?]>([
    [
      'when another node can run it',
      { metadata: { name: 'w1', labels: { [role]: '' } }, status: ready },
      ['own', 'p'],
    ],
    ['when it may run anywhere', { metadata: { name: 'w1' }, status: ready }, ['own', 'p'], {}],
    ['and not when no other node is selected', { metadata: { name: 'w1' }, status: ready }, ['p']],
    [
      'and not when the only other node has one of two labels',
      { metadata: { name: 'w1', labels: { [role]: '' } }, status: ready },
      ['p'],
      { [role]: '', zone: 'a' },
    ],
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
  ])('evicts its own pod only %s', async (...[, other, expected, selector]) => {
    const { kube, run, advance, applied, evicted } = setUp(node('drain-a'));
    kube.put(nodes, other).put(pods, pod('p')).put(pods, own(selector));
    void run();
    await advance();
    expect(evicted().toSorted()).toEqual(expected);
    for (const { metadata } of kube.objectsOf(pods)) {
      if (expected.includes(metadata.name))
        kube.drop({ kind: pods, ...metadata, name: metadata.name });
    }
    await advance();
    expect(applied()).toBe('drain-a');
  });

  it('evicts pods of its namespace or of its label alone, though no node can run them', async () => {
    const { kube, run, advance, evicted } = setUp(node('drain-a'));
    const namespace = 'assisted-installer';
    kube.put(pods, pod('labelled', { labels: { app: controllerApp } }));
    kube.put(pods, pod('other', { namespace, labels: { app: 'other' } }));
    kube.put(pods, pod('plain', { namespace })).put(pods, own());
    void run();
    await advance();
    expect(evicted().toSorted()).toEqual(['labelled', 'other', 'plain']);
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
    const { run, advance, now, applied, eventsOf } = setUp(
      node('uncordon-a', { annotations, spec }),
    );
    const ended = run();
    await advance();
    expect(warningsIn(await eventsOf(ended))).toEqual([]);
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
    const { kube, run, advance, evicted, eventsOf } = setUp(node('drain-a'));
    kube.put(pods, pod('p'));
    let isChanged = false;
    let isLast = false;
    const late: Kube = {
      ...kube,
      // The cordoned node is the last event of the watch.
      follow: (selection, seen, signal) =>
        kube.follow(
          selection,
          (view) => {
            if (isLast && selection.kind === nodes) return;
            isLast ||= view.objects.some(isCordoned);
            seen(view);
          },
          signal,
        ),
      list: async (selection, signal) => {
        const listed = await kube.list(selection, signal);
        if (selection.namespace === undefined && !isChanged) change(kube);
        isChanged ||= selection.namespace === undefined;
        return listed;
      },
    };
    const ended = run(late);
    await advance();
    expect(isChanged).toBe(true);
    expect(evicted()).toEqual([]);
    expect(warningsIn(await eventsOf(ended))).toEqual([]);
  });

  it('evicts the other pods when the read before one eviction fails, and that one later', async () => {
    const { kube, run, advance, evicted, eventsOf } = setUp(
      node('drain-a', { spec: { unschedulable: true } }),
    );
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
    const ended = run(port);
    await settle();
    expect(new Set(evicted())).toEqual(new Set(names.slice(1)));
    await advance();
    expect(new Set(evicted())).toEqual(new Set(names));
    expect(warningsIn(await eventsOf(ended))).toMatchObject([
      { message: 'drain of node w0: trying again', fields: { code: 'kube.unreachable' } },
    ]);
  });

  it('begins no other eviction once it is stopped, and blames no budget', async () => {
    const { kube, stop, run, evicted, eventsOf } = setUp(
      node('drain-a', { spec: { unschedulable: true } }),
    );
    for (let index = 0; index < 12; index += 1) kube.put(pods, pod(`p${index}`));
    kube.before('evict', () => stop.abort(new Error('stop')));
    let reads = 0;
    const ended = run({
      ...kube,
      get: (ref, signal) => {
        if (ref.kind === nodes) reads += 1;
        return kube.get(ref, signal);
      },
    });
    await settle();
    expect([reads, evicted()]).toEqual([8, []]);
    expect(warningsIn(await eventsOf(ended))).toEqual([]);
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

  it.each<[string, KubeKind, KubeObject]>([
    ['Deployment is there', deployments, operator],
    ['daemon is on the node', pods, daemonOn('w0')],
  ])("waits while the operator's %s, even before the watch shows it", async (_, kind, object) => {
    const { kube, run, advance, ask, now } = setUp(node(''));
    let isLate = false;
    const port: Kube = {
      ...kube,
      follow: (selection, seen, signal) =>
        kube.follow(
          selection,
          (view) => {
            if (!isLate || selection.kind !== kind) seen(view);
          },
          signal,
        ),
    };
    void run(port);
    await advance();
    isLate = true;
    kube.put(kind, object);
    ask('drain-a');
    await advance();
    isLate = false;
    kube.put(kind, object);
    await advance();
    expect(kube.writes).toEqual([]);
    kube.drop({ kind, ...object.metadata });
    await advance();
    expect(now()).toMatchObject({ spec: { unschedulable: true } });
  });

  it('cordons once the operator has left, though no watch showed that it was there', async () => {
    const { kube, run, advance, now } = setUp(node('drain-a'));
    let isThere = true;
    const port: Kube = {
      ...kube,
      get: (ref, signal) =>
        isThere && ref.name === operator.metadata.name && ref.kind === deployments
          ? Promise.resolve(operator)
          : kube.get(ref, signal),
    };
    void run(port);
    await advance();
    expect(kube.writes).toEqual([]);
    isThere = false;
    await advance();
    expect(now()).toMatchObject({ spec: { unschedulable: true } });
  });

  it("does not touch a node while the operator's daemon is on another of its pool", async () => {
    const { kube, run, advance, now } = setUp(node('drain-a'));
    kube.put(nodes, { metadata: { name: 'w1', labels: { [role]: '' } } });
    kube.put(pods, daemonOn('w1'));
    void run();
    await advance();
    expect(kube.writes).toEqual([]);
    kube.put(nodes, { metadata: { name: 'w1', labels: {} } });
    await advance();
    expect(now()).toMatchObject({ spec: { unschedulable: true } });
  });

  it.each<[string, object, KubeKind, KubeObject]>([
    ['and that has no mark of this controller', {}, deployments, operator],
    [
      'beside a mark of an earlier round',
      { [cordoned]: 'true', [nodeKeys.lastAppliedDrain]: 'uncordon-z' },
      deployments,
      operator,
    ],
    ['on a node of no pool', {}, pods, daemonOn('w0')],
  ])('uncordons after a drain that the operator left unconfirmed %s', async (...row) => {
    const [, annotations, kind, object] = row;
    const spec = { unschedulable: true };
    const { kube, run, advance, ask, now, applied } = setUp(node('drain-a', { annotations, spec }));
    if (kind === pods) kube.drop({ kind: machineConfigPools, name: 'worker' });
    kube.put(kind, object);
    void run();
    await advance();
    expect(kube.writes).toEqual([]);
    kube.drop({ kind, ...object.metadata });
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
    kube.put(deployments, operator);
    await advance();
    const writes = kube.writes.length;
    kube.withBudget('q', undefined).drop(podRef('p'));
    await advance();
    kube.drop(podRef('q'));
    await advance();
    expect([kube.writes.length, applied()]).toEqual([writes, undefined]);
    kube.drop(operatorRef);
    await advance();
    expect(applied()).toBe('drain-a');
  });
});
