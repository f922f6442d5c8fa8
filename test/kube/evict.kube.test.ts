import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { pods, serviceAccounts } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { clusterOf, serviceAccountOf } from './rig.ts';

const namespace = 'default';
const live = new AbortController().signal;
const budgets = { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' };
const budget = { kind: budgets, namespace, name: 'all-of-them' };
const podRef = { kind: pods, namespace, name: 'kept' };

let rig: Rig;
let cluster: KubeCluster;
beforeAll(async () => {
  rig = await startRig({ crds: [] });
  cluster = clusterOf(rig.kubeconfig);
  await rig.client.apply(serviceAccounts, serviceAccountOf(namespace));
  await rig.client.apply(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'kept', namespace, labels: { app: 'kept' } },
    spec: { containers: [{ name: 'c', image: 'quay.io/x/y:1' }], nodeName: 'w0' },
  });
  await rig.client.mergeStatus(podRef, {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
  });
  await rig.client.apply(budgets, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: budget.name, namespace },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } },
  });
});
afterAll(async () => {
  await cluster.close();
  await rig.close();
});

/** As the controller of budgets writes it, which does not run here. */
const allow = (disruptionsAllowed: number): Promise<KubeObject> =>
  rig.client.mergeStatus(budget, {
    disruptionsAllowed,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    observedGeneration: 1,
  });

it('evicts a pod once its budget lets it go, and never another of its name', async () => {
  const pod = await cluster.get(podRef, live);
  const { uid = '' } = pod?.metadata ?? {};
  expect(uid).not.toBe('');
  await allow(0);
  await expect(cluster.evict({ namespace, name: 'kept', uid }, live)).rejects.toMatchObject({
    code: 'kube.disruption-budget',
    message: expect.stringContaining(budget.name) as string,
  });
  const second = { ...budget, name: 'others' };
  await rig.client.apply(budgets, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: second.name, namespace },
    spec: { minAvailable: 0, selector: { matchLabels: { app: 'kept' } } },
  });
  await expect(cluster.evict({ namespace, name: 'kept', uid }, live)).rejects.toMatchObject({
    code: 'kube.failed',
    message: expect.stringContaining('more than one PodDisruptionBudget') as string,
  });
  await rig.client.remove(second);
  await allow(1);
  const another = '00000000-0000-4000-8000-000000000000';
  await expect(
    cluster.evict({ namespace, name: 'kept', uid: another }, live),
  ).rejects.toMatchObject({ code: 'kube.conflict' });
  await allow(1);
  await cluster.evict({ namespace, name: 'kept', uid }, live);
  const after = await cluster.get(podRef, live);
  expect(after?.metadata.deletionTimestamp).toBeTruthy();
  await expect(cluster.evict({ namespace, name: 'nobody', uid }, live)).resolves.toBeUndefined();
});
