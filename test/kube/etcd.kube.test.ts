import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { etcdPod } from '../../mocks/cluster/pods.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { etcdCluster, overrideAnnotation } from '../../src/cluster/etcd.ts';
import { namespaces, pods } from '../../src/kube/kinds.ts';
import { patchEtcd } from '../../src/steps/cluster/etcd-override.ts';
import { bootkubeHost } from '../support/cluster-objects.ts';
import { runInstallation } from '../support/run-installation.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf } from './rig.ts';

const flag = 'useUnsupportedUnsafeNonHANonProductionUnstableEtcd';
const facts = { controlPlane: { units: [] } };
const config = {
  role: 'bootstrap',
  cluster: { openshiftVersion: '4.6.0' },
  images: { self: 'quay.io/b:v1' },
} as const;

let rig: Rig;
let kube: KubeCluster;

beforeAll(async () => {
  rig = await startRig({ crds: ['etcds', 'machineconfigs'] });
  kube = clusterOf(rig.kubeconfig);
});
afterAll(async () => {
  await kube.close();
  await rig.close();
});

const etcd = (spec: object = {}) => ({
  apiVersion: 'operator.openshift.io/v1',
  kind: 'Etcd',
  metadata: { name: 'cluster' },
  spec: { managementState: 'Managed', ...spec },
});

const now = async () => {
  const object = await rig.client.get(etcdCluster);
  const { spec } = object as unknown as { readonly spec: Readonly<Record<string, unknown>> };
  return {
    overrides: spec['unsupportedConfigOverrides'],
    record: object?.metadata.annotations?.[overrideAnnotation],
  };
};

const reported = (type: string, reason: string) => ({
  type,
  reason,
  status: 'True',
  lastTransitionTime: '2026-11-21T00:00:00Z',
});

/** A static pod of etcd, as the kubelet of a master mirrors it. */
async function putMember(name: string): Promise<void> {
  const pod = etcdPod(name);
  await rig.client.create(pods, pod);
  const ref = { kind: pods, name: pod.metadata.name, namespace: 'openshift-etcd' };
  await rig.client.mergeStatus(ref, { phase: 'Running', conditions: [reported('Ready', 'x')] });
}

describe('the override of etcd on a real API server', () => {
  beforeEach(() => rig.client.remove(etcdCluster));

  it.each([
    ['nothing', {}, undefined, null],
    [
      'other overrides',
      { unsupportedConfigOverrides: { a: { b: [1] } } },
      { a: { b: [1] } },
      { a: { b: [1] } },
    ],
  ])('is set where there was %s, and put back', async (...[, spec, left, before]) => {
    const patched = runStep(patchEtcd, {
      kube,
      clock: systemClock,
      config,
      facts,
      host: bootkubeHost(),
    });
    await rig.client.apply(etcdCluster.kind, etcd(spec));
    await patched;
    expect(await now()).toEqual({
      overrides: { ...left, [flag]: true },
      record: JSON.stringify(before),
    });

    await runStep(patchEtcd, {
      kube,
      clock: systemClock,
      config,
      facts,
      host: bootkubeHost(),
    });
    expect((await now()).record).toBe(JSON.stringify(before));

    const { stop } = runInstallation(['do-left-work'], { kube, clock: systemClock });
    await rig.client.apply(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'openshift-etcd' },
    });
    const place = { kind: pods, namespace: 'openshift-etcd' };
    for (const name of ['m1', 'm2', 'm3']) {
      if ((await rig.client.get({ ...place, name: `etcd-${name}` })) === undefined) {
        await putMember(name);
      }
    }
    await expect.poll(now).toEqual({ overrides: left, record: undefined });
    await stop();
  });
});
