import { beforeEach, describe, expect, it } from 'vitest';
import { nodes, pods } from '../../src/kube/kinds.ts';
import { kubeFailure } from '../../src/ports/kube-failures.ts';
import { nodeObject } from '../support/cluster-objects.ts';
import { fakeKube, type FakeKube } from '../support/fake-kube.ts';
import { kubeSuite } from './kube-suite.ts';

let fake: FakeKube;
beforeEach(() => {
  fake = fakeKube();
});

const later = (): Promise<void> => Promise.resolve();

kubeSuite('the fake cluster', () => ({
  kube: fake,
  put: (kind, object) => {
    fake.put(kind, object);
    return later();
  },
  drop: (ref) => {
    fake.drop(ref);
    return later();
  },
  away: () => {
    fake.lastError(kubeFailure('kube.unreachable', 'the API server is away'));
    return later();
  },
  back: () => {
    fake.lastError(undefined);
    return later();
  },
  unseen: async (change) => {
    const show = fake.holdViews();
    await change();
    show();
  },
}));

describe('what the fake remembers', () => {
  const { signal } = new AbortController();
  const ref = { kind: pods, namespace: 'n', name: 'p' };
  const pod = { metadata: { name: 'p', namespace: 'n' } };

  it('is every write in its order', async () => {
    fake.put(pods, pod);
    await fake.patch(ref, { type: 'merge', body: { a: 1 }, subresource: 'status' }, signal);
    await fake.remove(ref, signal);
    expect(fake.writes).toEqual([
      {
        verb: 'patch',
        kind: 'pods',
        namespace: 'n',
        name: 'p',
        subresource: 'status',
        body: { a: 1 },
      },
      { verb: 'remove', kind: 'pods', namespace: 'n', name: 'p' },
    ]);
    expect(fake.objectsOf(pods)).toEqual([]);
  });

  it('is the log of a pod', async () => {
    fake.withPodLog('p', 'line\n').withPodLog('p/c', 'other\n');
    const pod = { namespace: 'n', name: 'p' };
    expect(await fake.podLog(pod, 1, signal)).toBe('line\n');
    expect(await fake.podLog({ ...pod, container: 'c' }, 1, signal)).toBe('other\n');
  });

  it('is trouble, for every call', async () => {
    const away = kubeFailure('kube.unreachable', 'away');
    fake.lastError(away);
    await expect(fake.get(ref, signal)).rejects.toBe(away);
    fake.lastError(undefined);
    expect(await fake.get(ref, signal)).toBeUndefined();
  });
});

describe('what the fake does now and then, as a cluster does', () => {
  const { signal } = new AbortController();
  const ref = { kind: pods, namespace: 'n', name: 'p' };
  const pod = (more: object = {}) => ({ metadata: { name: 'p', namespace: 'n' }, ...more });
  const bound = () => fake.objectsOf(pods).map(({ spec }) => Object(spec) as object);
  const label = (a: string) => ({ type: 'merge', body: { metadata: { labels: { a } } } }) as const;

  it('is a view that comes after the answer of a write', async () => {
    fake.put(pods, pod());
    const seen: (string | undefined)[] = [];
    const stop = new AbortController();
    const take = (label: string | undefined) => void seen.push(label);
    const ended = fake.follow(
      { kind: pods },
      ({ objects: [first] }) => take(first?.metadata.labels?.['a']),
      stop.signal,
    );
    await fake.patch(ref, label('1'), signal);
    expect(seen).toEqual([undefined]);
    await expect.poll(() => seen).toEqual([undefined, '1']);
    const show = fake.holdViews();
    for (const one of ['2', '3']) await fake.patch(ref, label(one), signal);
    show();
    expect(seen).toEqual([undefined, '1', '3']);
    stop.abort(new Error('seen'));
    await ended;
  });

  it('is another writer between a reading and a write, once', async () => {
    fake.put(pods, pod());
    fake.before('patch', () => void fake.drop(ref));
    await expect(fake.patch(ref, label('1'), signal)).rejects.toMatchObject({
      code: 'kube.not-found',
    });
    fake.put(pods, pod());
    expect((await fake.patch(ref, label('1'), signal)).metadata.labels).toEqual({ a: '1' });
  });

  it('is an answer that comes when its caller has gone', async () => {
    fake.put(pods, pod());
    const stop = new AbortController();
    fake.after('patch', () => stop.abort(new Error('gone')));
    await expect(fake.patch(ref, label('1'), stop.signal)).rejects.toThrow('gone');
    expect(fake.objectsOf(pods)[0]?.metadata.labels).toEqual({ a: '1' });
  });

  it('is a pod that no node takes, until one does', async () => {
    const node = (more: object) =>
      fake.put(nodes, { ...nodeObject({ name: 'w', role: 'worker' }), ...more });
    node({ spec: { unschedulable: true } })
      .put(pods, pod({ spec: {} }))
      .schedules();
    expect(bound()).toEqual([{}]);
    expect(fake.objectsOf(pods)).toMatchObject([
      { status: { phase: 'Pending', conditions: [{ reason: 'Unschedulable' }] } },
    ]);
    const uncordon = { type: 'merge', body: { spec: { unschedulable: null } } } as const;
    await fake.patch({ kind: nodes, name: 'w' }, uncordon, signal);
    expect(bound()).toEqual([{ nodeName: 'w' }]);
  });
});
