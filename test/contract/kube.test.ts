import { beforeEach, describe, expect, it } from 'vitest';
import { pods } from '../../src/cluster/kinds.ts';
import { kubeFailure } from '../../src/ports/kube-failures.ts';
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
