import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/api-server.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import {
  configMaps,
  nodes,
  podDisruptionBudgets,
  pods,
  serviceAccounts,
} from '../../src/kube/kinds.ts';
import type { KubeSelection, KubeView } from '../../src/ports/kube.ts';
import { kubeSuite } from '../contract/kube-suite.ts';
import { quickClock } from '../support/quick-clock.ts';
import { clusterOf, serviceAccountOf } from './cluster-access.ts';

const { signal } = new AbortController();

let rig: Rig;
let kube: KubeCluster;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());
beforeEach(() => {
  kube = clusterOf(rig.kubeconfig);
});
afterEach(() => kube.close());

kubeSuite('a real API server', () => ({
  kube,
  put: async (kind, object) => {
    await rig.client.apply(kind, object);
  },
  drop: (ref) => rig.client.remove(ref, { graceSeconds: 0 }),
  away: () => rig.api.kill(),
  back: () => rig.api.start(),
  unseen: async (change) => {
    rig.forwarder.partition();
    // An open watch would find the changes waiting in its connection.
    await rig.api.restart();
    await change();
    await rig.compact();
    await rig.api.restart();
    rig.forwarder.heal();
  },
}));

describe('the adapter alone', () => {
  it('lists several pages in order', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `page-${String(index + 100)}`);
    const object = (name: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default', labels: { pages: 'many' } },
    });
    const into = { kind: configMaps, namespace: 'default' };
    await Promise.all(names.map((name) => kube.create(into, object(name), signal)));
    const selection = { ...into, labelSelector: 'pages=many' };
    const found = await kube.list(selection, signal);
    expect(found.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(found.some(({ metadata }) => 'managedFields' in metadata)).toBe(false);
  });

  it('reports the invalid field of a rejected object', async () => {
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'Bad_Name' } };
    await expect(kube.create({ kind: nodes }, object, signal)).rejects.toMatchObject({
      code: 'kube.invalid',
      message: expect.stringContaining('metadata.name') as string,
    });
  });

  it('returns an empty log of a pod that was never started', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    };
    const at = { namespace: 'default', name: 'p' };
    await rig.client.apply(serviceAccounts, serviceAccountOf('default'));
    await kube.create({ kind: pods, namespace: 'default' }, pod, signal);
    expect(await kube.podLog(at, 3600, signal)).toBe('');
    expect(await kube.podLog({ ...at, container: 'c' }, 3600, signal)).toBe('');
    await expect(kube.podLog({ ...at, container: 'other' }, 1, signal)).rejects.toMatchObject({
      code: 'kube.invalid',
    });
    await kube.remove({ kind: pods, ...at }, signal);
  });

  it('fails a forbidden call after a minute or at once, and keeps following', async () => {
    const nobody = await rig.kubeconfigFor({ user: { name: 'nobody', groups: [] } });
    const denied = clusterOf(nobody, quickClock(10));
    await expect(denied.get({ kind: nodes, name: 'm0' }, signal)).rejects.toMatchObject({
      code: 'kube.denied',
    });
    const impatient = clusterOf(nobody);
    const began = performance.now();
    const once = impatient.get({ kind: nodes, name: 'm0' }, signal, { denials: 'final' });
    await expect(once).rejects.toMatchObject({ code: 'kube.denied' });
    expect(performance.now() - began).toBeLessThan(30_000);
    await impatient.close();
    const stop = new AbortController();
    const codes: (string | undefined)[] = [];
    const followed = denied.follow(
      { kind: nodes },
      ({ lastError }) => codes.push(lastError?.code),
      stop.signal,
    );
    await expect.poll(() => codes).toEqual(['kube.denied']);
    stop.abort(new Error('seen'));
    await followed;
    await denied.close();
  });

  it('follows with a role that may list and get but not watch', async () => {
    const rules = [
      { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
    ];
    const user = { name: 'system:serviceaccount:default:lister', groups: [] };
    const meta = { metadata: { name: 'lister' } };
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
    await kube.apply({ ...rbac, kind: 'ClusterRole', ...meta, rules }, signal);
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'lister' };
    const subjects = [{ kind: 'ServiceAccount', name: 'lister', namespace: 'default' }];
    await kube.apply({ ...rbac, kind: 'ClusterRoleBinding', ...meta, roleRef, subjects }, signal);
    const kubeconfig = await rig.kubeconfigFor({ user });
    const patient = clusterOf(kubeconfig);
    // The server needs a moment to load a new role; this client retries until it has.
    await patient.list({ kind: nodes }, signal);
    await patient.close();
    // A list every three seconds, and six seconds for a call of the real server.
    const lister = clusterOf(kubeconfig, quickClock(10), { denials: 'final' });
    const stop = new AbortController();
    const views = new Map<string, KubeView>();
    const follow = (key: string, selection: KubeSelection) =>
      lister.follow(selection, (view) => void views.set(key, view), stop.signal);
    const followed = Promise.all([
      follow('nodes', { kind: nodes }),
      follow('map', { kind: configMaps, namespace: 'default', fieldSelector: 'metadata.name=one' }),
      follow('pods', { kind: pods }),
    ]);
    const names = () =>
      ['nodes', 'map', 'pods'].map((key) =>
        views.get(key)?.objects.map((one) => one.metadata.name),
      );
    await expect.poll(names).toEqual([[], [], []]);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n0' } };
    await kube.create({ kind: nodes }, node, signal);
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } };
    await kube.create({ kind: configMaps, namespace: 'default' }, map, signal);
    await expect.poll(names).toEqual([['n0'], ['one'], []]);
    await expect.poll(() => views.get('pods')?.lastError?.code).toBe('kube.denied');
    const created = lister.create({ kind: nodes }, node, signal);
    await expect(created).rejects.toMatchObject({ code: 'kube.denied' });
    stop.abort(new Error('seen'));
    await followed;
    await lister.close();
    await kube.remove({ kind: nodes, name: 'n0' }, signal);
  });

  it('evicts a pod once its budget allows it, and never a recreated one', async () => {
    const namespace = 'default';
    const place = { kind: pods, namespace, name: 'kept' };
    await rig.client.apply(serviceAccounts, serviceAccountOf(namespace));
    const { metadata } = await rig.client.apply(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'kept', namespace, labels: { app: 'kept' } },
      spec: { containers: [{ name: 'c', image: 'quay.io/x/y:1' }], nodeName: 'w0' },
    });
    const ready = { type: 'Ready', status: 'True' };
    await rig.client.mergeStatus(place, { phase: 'Running', conditions: [ready] });
    const budgets = ['all-of-them', 'others'].map((name) => ({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } },
    }));
    for (const one of budgets) await rig.client.apply(podDisruptionBudgets, one);
    const { uid = '' } = metadata;
    const evict = (which: string) => kube.evict({ namespace, name: 'kept', uid: which }, signal);
    await expect(evict(uid)).rejects.toMatchObject({
      code: 'kube.failed',
      message: expect.stringContaining('more than one PodDisruptionBudget') as string,
    });
    await rig.client.remove({ kind: podDisruptionBudgets, namespace, name: 'others' });
    const budget = { kind: podDisruptionBudgets, namespace, name: 'all-of-them' };
    // The status as the disruption controller writes it, which does not run here.
    const allow = (disruptionsAllowed: number) =>
      rig.client.mergeStatus(budget, {
        disruptionsAllowed,
        currentHealthy: 1,
        desiredHealthy: 1,
        expectedPods: 1,
        observedGeneration: 1,
      });
    await allow(0);
    await expect(evict(uid)).rejects.toMatchObject({
      code: 'kube.disruption-budget',
      message: expect.stringContaining(budget.name) as string,
    });
    await allow(1);
    const another = evict('00000000-0000-4000-8000-000000000000');
    await expect(another).rejects.toMatchObject({ code: 'kube.conflict' });
    await allow(1);
    await evict(uid);
    expect((await kube.get(place, signal))?.metadata.deletionTimestamp).toBeTruthy();
    const nobody = kube.evict({ namespace, name: 'nobody', uid }, signal);
    await expect(nobody).resolves.toBeUndefined();
    await rig.client.remove(place, { graceSeconds: 0 });
    await rig.client.remove(budget);
  });
});
