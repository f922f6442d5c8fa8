import { afterAll, beforeAll, expect, it } from 'vitest';
import { etcdPod } from '../../mocks/cluster/pods.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { etcdCluster } from '../../src/cluster/etcd.ts';
import { namespaces, pods } from '../../src/cluster/kinds.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import {
  leftName,
  leftNamespace,
  readRecord,
  recordRef,
} from '../../src/steps/after-pivot/record.ts';
import { rollOutImages } from '../../src/steps/layering/roll-out-images.ts';
import { createHandOverJob } from '../../src/steps/layering/hand-over.ts';
import { bothFacts, bothHost, bothSite } from '../layering/both-pools.ts';
import { handedOver, operator } from '../layering/hand-over-site.ts';
import { leftImage, leftWorkers } from '../layering/left-images.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf } from './rig.ts';

const config = {
  role: 'bootstrap',
  service: { url: 'http://svc.example' },
  cluster: { id: 'c', hostId: 'h0', openshiftVersion: '4.20.1' },
  layering: { mode: 'on' },
  images: { self: 'quay.io/b:v1' },
  bootstrap: { followUp: 'always' },
} satisfies ConfigInput;

let rig: Rig;
const open: KubeCluster[] = [];

function opened(kubeconfig: string): KubeCluster {
  const cluster = clusterOf(kubeconfig);
  open.push(cluster);
  return cluster;
}

beforeAll(async () => {
  rig = await startRig();
  const { client } = rig;
  for (const name of [operator, 'openshift-etcd']) {
    await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (const [kind, object] of bothSite) await client.apply(kind, object);
  const spec = { managementState: 'Managed' };
  const etcd = { apiVersion: 'operator.openshift.io/v1', kind: 'Etcd' };
  await client.apply(etcdCluster.kind, { ...etcd, metadata: { name: 'cluster' }, spec });
  for (const node of ['m1', 'm2', 'm3']) await putEtcdMember(node);
});
afterAll(async () => {
  for (const one of open) await one.close();
  await rig.close();
});

async function putEtcdMember(node: string): Promise<void> {
  const name = `etcd-${node}`;
  const namespace = 'openshift-etcd';
  await rig.client.apply(pods, etcdPod(node));
  const condition = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-22T00:00:00Z' };
  await rig.client.mergeStatus(
    { kind: pods, name, namespace },
    { phase: 'Running', conditions: [condition] },
  );
}

it('hands the images of both pools over with no rights but those of the job', async () => {
  const admin = opened(rig.kubeconfig);
  await runStep(createHandOverJob, {
    config,
    facts: bothFacts('after-join'),
    kube: admin,
    host: bothHost(),
    clock: systemClock,
    inventory: fakeInventory({ hosts: [inventoryHost({ id: 'h0', name: 'm3' })] }),
  });
  const found = await rig.client.get(recordRef);
  if (found === undefined) throw new TypeError('there is no record');
  const record = readRecord(found);
  expect(record.images).toEqual([leftImage, leftWorkers]);
  const user = { namespace: leftNamespace, serviceAccount: leftName };
  const kube = opened(await rig.kubeconfigFor({ user }));
  const over = new AbortController();
  // Whatever is refused is tried again: here it is the end.
  const heard = (event: RunEvent): void => {
    if (event.type === 'step.retrying') over.abort(event.failure);
  };
  const { signal } = over;
  await runStep(rollOutImages, { kube, clock: systemClock, facts: { record }, signal, heard });

  for (const { pool, image, machineOSBuild } of record.images) {
    expect(await handedOver(kube, { pool, machineOSBuild })).toMatchObject([
      { name: machineOSBuild, owners: [{ name: pool, uid: true }] },
      { name: pool, status: { currentImagePullSpec: image } },
    ]);
  }
});
