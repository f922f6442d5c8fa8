import { beforeEach } from 'vitest';
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
  unseen: async (change) => {
    const show = fake.holdViews();
    await change();
    show();
  },
}));
