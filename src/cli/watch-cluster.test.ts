import { expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { fakeKube } from '../../test/support/fake-kube.ts';
import { clusterOperators, clusterVersions } from '../kube/kinds.ts';
import { seconds } from '../model/duration.ts';
import { kubeFailure } from '../ports/kube-failures.ts';
import type { KubeObject } from '../ports/kube.ts';
import { waitUntilSettled } from './watch-cluster.ts';

const object = (name: string, conditions: Readonly<Record<string, string>>): KubeObject => ({
  metadata: { name },
  status: {
    conditions: Object.entries(conditions).map(([type, status]) => ({ type, status, message: '' })),
  },
});
const settled = { Available: 'True', Degraded: 'False', Progressing: 'False' };

function cluster() {
  const clock = fakeClock({ auto: false });
  const kube = fakeKube()
    .put(clusterVersions, object('version', { Available: 'True' }))
    .put(clusterOperators, object('dns', { ...settled, Degraded: 'True' }))
    .put(clusterOperators, object('etcd', settled));
  const stop = new AbortController();
  const printed: string[] = [];
  const print = (lines: readonly string[]): void => void printed.push(...lines);
  const end = waitUntilSettled({ kube, clock, signal: stop.signal, print });
  return { clock, kube, stop, printed, end };
}

it('prints the first operator that is not settled and errors until all are settled', async () => {
  const { clock, kube, printed, end } = cluster();
  await clock.advance(seconds(60));
  kube.lastError(kubeFailure('kube.unreachable', 'no route'));
  await clock.advance(seconds(20));
  kube.lastError(undefined).put(clusterOperators, object('dns', settled));
  await clock.advance(seconds(20));
  expect(await end).toBeUndefined();
  expect(printed).toEqual(['cluster: ClusterOperator dns is degraded', 'cluster: no route']);
});

it('returns the last gap when the time is over', async () => {
  const { clock, stop, end } = cluster();
  await clock.advance(seconds(30));
  stop.abort(new Error('the time is over'));
  expect(await end).toBe('ClusterOperator dns is degraded');
});
