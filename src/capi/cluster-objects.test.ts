import { describe, expect, it } from 'vitest';
import { fakeKube } from '../../test/support/fake-kube.ts';
import { kubeFailure } from '../ports/kube-failures.ts';
import { pageAfter } from '../page/fold.ts';
import { viewOf } from '../page/host-state.ts';
import { emptyPage, type PageState } from '../page/state.ts';
import {
  type ApiCondition,
  bootstrapConfigs,
  type BootstrapConfigStatus,
  capiNames,
  clusters,
  controlPlanes,
} from './api.ts';
import { type ClusterObjects, followCluster, pageUpdates } from './cluster-objects.ts';

const labels = { [capiNames.clusterName]: 'demo' };
const cluster = (name = 'demo', namespace = 'demo') => ({
  metadata: { name, namespace, creationTimestamp: '1970-01-01T00:00:01Z' },
});
const condition = (
  type: string,
  status: ApiCondition['status'],
  more: readonly [reason: string, message?: string],
): ApiCondition => {
  const [reason, message = ''] = more;
  return { type, status, reason, message, lastTransitionTime: '1970-01-01T00:00:09Z' };
};
const controlPlane = (...conditions: readonly ApiCondition[]) => ({
  metadata: { name: 'demo', namespace: 'demo', labels },
  spec: { replicas: 3, distributionVersion: '4.20.1' },
  status: { conditions },
});
const config = (name: string, status: BootstrapConfigStatus, own = labels) => ({
  metadata: {
    name,
    namespace: 'demo',
    uid: `uid-${name}`,
    labels: own,
    ownerReferences: [{ apiVersion: 'v', kind: 'Machine', name: `machine-${name}`, uid: 'u' }],
  },
  spec: { agent: { image: 'i' } },
  status,
});
const writing: BootstrapConfigStatus = {
  role: 'master',
  progress: {
    stage: 'Writing image to disk',
    percent: 40,
    attempt: 1,
    stageStartedAt: '1970-01-01T00:00:02Z',
    updatedAt: '1970-01-01T00:00:03Z',
  },
  conditions: [condition('Ready', 'False', ['WritingImageToDisk'])],
};
const done: BootstrapConfigStatus = {
  ...writing,
  conditions: [condition('Ready', 'True', ['Installed'])],
};

const pageOf = (...moments: readonly object[]): PageState =>
  moments
    .flatMap((objects, at) => pageUpdates(objects as ClusterObjects, 10_000 + at))
    .reduce(pageAfter, emptyPage('', '', 900));

describe('a page of a Cluster', () => {
  it('names the Cluster and shows each host with its Machine and stage', () => {
    const page = pageOf({
      cluster: cluster(),
      configs: [config('a', writing)],
      controlPlane: controlPlane(condition('Available', 'False', ['Installing', 'a: 40%'])),
    });
    expect(page).toMatchObject({
      title: 'Cluster demo/demo, OpenShift 4.20.1',
      startedAt: 1000,
      cluster: { status: 'Installing', info: 'a: 40%' },
      objects: [{ name: 'Available', tone: 'busy' }],
    });
    expect(page.end).toBeUndefined();
    const [host] = page.hosts;
    expect(host).toMatchObject({ id: 'uid-a', name: 'machine-a', role: 'master' });
    expect(host && viewOf(host)).toMatchObject({
      word: 'Writing image to disk',
      current: [{ percent: 40, since: 2000 }],
    });
  });

  it('does not end a failed host, which may be retried', () => {
    const broken = condition('Ready', 'False', ['InstallationFailed', 'no space left']);
    const failed = { ...writing, conditions: [broken] };
    const of = (status: BootstrapConfigStatus) => ({
      cluster: cluster(),
      configs: [config('a', status)],
      controlPlane: controlPlane(condition('Available', 'False', ['HostInstallationFailed'])),
    });
    expect(pageOf(of(failed))).toMatchObject({
      hosts: [{ status: 'error', stageInfo: 'no space left' }],
      objects: [{ tone: 'bad' }],
    });
    expect(pageOf(of(failed)).lines.map(({ level }) => level)).toContain('error');
    expect(pageOf(of(failed)).hosts[0]?.end).toBeUndefined();
    expect(pageOf(of(failed), of(writing)).hosts).toMatchObject([{ status: 'WritingImageToDisk' }]);
  });

  it('ends once the cluster and every host are installed', () => {
    const of = (available: ApiCondition, ...hosts: readonly BootstrapConfigStatus[]) => ({
      cluster: cluster(),
      controlPlane: controlPlane(available),
      configs: hosts.map((status, at) => config(`${at}`, status)),
    });
    const good = condition('Installed', 'True', ['Installed']);
    expect(pageOf(of(good, done, writing)).end).toBeUndefined();
    expect(pageOf(of(good)).end).toBeUndefined();
    expect(pageOf(of({ ...good, status: 'False' }, done)).end).toBeUndefined();
    expect(pageOf(of(good, done, done)).end).toMatchObject({ isGood: true, at: 9000 });
  });
});

const given = () =>
  fakeKube()
    .put(clusters, cluster())
    .put(clusters, cluster('demo', 'elsewhere'))
    .put(controlPlanes, controlPlane())
    .put(bootstrapConfigs, config('b', writing))
    .put(bootstrapConfigs, config('a', writing))
    .put(bootstrapConfigs, config('other', writing, { [capiNames.clusterName]: 'other' }));

it('followCluster delivers the objects of the Cluster and each change, and the error while the view is stale', async () => {
  const kube = given();
  const stop = new AbortController();
  const all: ClusterObjects[] = [];
  const errors: (string | undefined)[] = [];
  const seen = (objects: ClusterObjects, error: string | undefined): void => {
    all.push(objects);
    errors.push(error);
  };
  const target = { namespace: 'demo', name: 'demo' };
  const ended = followCluster(kube, target, { seen, signal: stop.signal });
  kube.put(bootstrapConfigs, config('a', done));
  kube.lastError(kubeFailure('kube.denied', 'no', { context: { status: 403 } }));
  kube.lastError(undefined);
  stop.abort();
  await ended;
  const { configs = [], cluster: own } = all.at(-1) ?? {};
  expect(configs.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  expect(configs[0]?.status).toEqual(done);
  expect(own?.metadata.namespace).toBe('demo');
  expect(errors.some((error) => error?.includes('403'))).toBe(true);
  expect(errors.at(-1)).toBeUndefined();
});
