import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { etcdConditions, type EtcdProgress } from '../../mocks/cluster/etcd.ts';
import { etcdPod } from '../../mocks/cluster/pods.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { etcdCluster, overrideAnnotation } from '../../src/cluster/etcd.ts';
import {
  events,
  machineConfigs,
  namespaces,
  nodes,
  pods,
  serviceAccounts,
} from '../../src/kube/kinds.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { patchEtcd } from '../../src/steps/cluster/etcd-override.ts';
import { waitForController } from '../../src/steps/cluster/controller.ts';
import { waitForEtcdHandover } from '../../src/steps/cluster/wait-for-etcd.ts';
import { waitForMachineConfigs } from '../../src/steps/cluster/wait-for-machine-configs.ts';
import { bootkubeHost } from '../support/cluster-objects.ts';
import { fakeHost } from '../support/fake-host.ts';
import { fakeInventory } from '../support/fake-inventory.ts';
import { runInstallation } from '../support/run-installation.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf, serviceAccountOf } from './rig.ts';

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

/** A static pod of etcd as the kubelet of a master shows it. */
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

describe('the end of etcd on the bootstrap host, on a real API server', () => {
  it.each([
    ['by a condition of its own', true, 'removed'],
    ['by a reason, as releases before 4.13', false, 'removed-before'],
  ] as const)('is seen as soon as the operator says it: %s', async (...[, hasRemoval, last]) => {
    await rig.client.apply(etcdCluster.kind, etcd());
    const report = (phase: EtcdProgress['phase']) => {
      const progress = { members: 2, phase, hasRemovalCondition: hasRemoval };
      const status = { conditions: etcdConditions(progress, new Date(0)) };
      return rig.client.mergeStatus(etcdCluster, status);
    };
    await report('starting');
    const statuses: string[] = [];
    const heard = (event: RunEvent): void => {
      if (event.type === 'wait.updated') statuses.push(event.status);
    };
    const handover = runStep(waitForEtcdHandover, { kube, clock: systemClock, facts, heard });
    await expect.poll(() => statuses.at(-1)).toContain('still waiting for three healthy');
    await report('running');
    await expect.poll(() => statuses.at(-1)).toBe('etcd still has a member on the bootstrap host');
    await report(last);
    expect((await handover).value).toEqual({ isSeen: true });
  });
});

describe('the controller on a real API server', () => {
  const namespace = 'assisted-installer';
  const name = 'assisted-installer-controller-x7k2p';

  it('is waited for by its event, and its log is sent', async () => {
    const inventory = fakeInventory();
    const host = fakeHost().withFile('/tmp/controller_logs.log', 'the local log');
    const ready = runStep(waitForController, {
      kube,
      inventory,
      host,
      clock: systemClock,
      facts,
      config: { ...config, service: { url: 'http://svc.example' } },
    });
    const metadata = { name: namespace };
    await rig.client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
    await rig.client.apply(serviceAccounts, serviceAccountOf(namespace));
    const labels = { 'job-name': 'assisted-installer-controller' };
    await rig.client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels },
      spec: { nodeName: 'm1', containers: [{ name: 'controller', image: 'quay.example/c:1' }] },
    });
    await rig.client.mergeStatus({ kind: pods, name, namespace }, { phase: 'Running' });
    await rig.client.create(events, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'AssistedControllerIsReady', namespace },
      involvedObject: { kind: 'Pod', name, namespace },
      reason: 'AssistedControllerIsReady',
      message: 'Assisted controller managed to connect to assisted service',
      type: 'Normal',
    });
    const { notes } = await ready;
    expect(notes).toEqual(['info: event AssistedControllerIsReady']);
    expect(inventory.calls).toEqual(['clusterLogsState requested', 'uploadControllerLogs']);
    // No kubelet gives the log of the pod here.
    const archive = gunzipSync(inventory.controllerLogs[0] ?? new Uint8Array());
    expect(archive.toString('utf8')).toContain('the local log');
  });
});

describe('the MachineConfigs of masters on a real API server', () => {
  it('agree once they are there', async () => {
    const prefix = 'machineconfiguration.openshift.io';
    await rig.client.apply(nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: 'm1',
        labels: { 'node-role.kubernetes.io/master': '' },
        annotations: {
          [`${prefix}/currentConfig`]: 'rendered-master-1',
          [`${prefix}/desiredConfig`]: 'rendered-master-1',
        },
      },
    });
    const agreed = runStep(waitForMachineConfigs, { kube, clock: systemClock, facts });
    await rig.client.apply(machineConfigs, {
      apiVersion: `${prefix}/v1`,
      kind: 'MachineConfig',
      metadata: { name: 'rendered-master-1' },
      spec: {},
    });
    expect((await agreed).notes).toEqual(['info: 1 masters agree on rendered-master-1']);
  });
});
