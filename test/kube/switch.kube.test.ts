import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Kube as Rig, startKube } from '../../mocks/kube/start.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { etcdCluster } from '../../src/cluster/etcd.ts';
import { machineConfigPools, namespaces, nodes, pods } from '../../src/cluster/kinds.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { nodeKeys } from '../../src/layering/node-keys.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import {
  leftName,
  leftNamespace,
  readRecord,
  recordRef,
} from '../../src/steps/after-pivot/record.ts';
import { bringImages } from '../../src/steps/layering/bring-images.ts';
import { leaveHandOver } from '../../src/steps/layering/leave-hand-over.ts';
import {
  final,
  handedOver,
  handOverFacts,
  handOverHost,
  operator,
  rendered,
  site,
} from '../layering/hand-over-site.ts';
import { leftImage } from '../layering/left-images.ts';
import { nodeObject } from '../layering/layered-pool.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf } from './cluster-of.ts';

const names = ['m1', 'm2', 'm3'] as const;
const { order } = handOverFacts;
const config = {
  role: 'bootstrap',
  service: { url: 'http://svc.example' },
  cluster: { id: 'c', hostId: 'h0', openshiftVersion: '4.20.1' },
  layering: { mode: 'on', olderReleases: 'switch' },
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
  rig = await startKube();
  const { client } = rig;
  for (const name of [operator, 'openshift-etcd']) {
    await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (const [kind, object] of site) await client.apply(kind, object);
  const spec = { managementState: 'Managed' };
  const etcd = { apiVersion: 'operator.openshift.io/v1', kind: 'Etcd' };
  await client.apply(etcdCluster.kind, { ...etcd, metadata: { name: 'cluster' }, spec });
  for (const name of names) {
    const annotations = { currentConfig: rendered, desiredConfig: rendered, state: 'Done' };
    await client.apply(nodes, nodeObject(name, 'master', annotations));
    await tellNode(name, 'boot-0');
    await putEtcdMember(name);
  }
});
afterAll(async () => {
  for (const one of open) await one.close();
  await rig.close();
});

const at = '2026-11-22T00:00:00Z';
const ready = { type: 'Ready', status: 'True', reason: 'x', message: 'x' };
const times = { lastHeartbeatTime: at, lastTransitionTime: at };

const tellNode = (name: string, bootID: string) =>
  rig.client.mergeStatus(
    { kind: nodes, name },
    {
      conditions: [{ ...ready, ...times }],
      nodeInfo: {
        ...{ machineID: '', systemUUID: '', bootID, kernelVersion: '', osImage: '' },
        ...{ containerRuntimeVersion: '', kubeletVersion: '', kubeProxyVersion: '' },
        ...{ operatingSystem: 'linux', architecture: 'amd64' },
      },
    },
  );

async function putEtcdMember(node: string): Promise<void> {
  const name = `etcd-${node}`;
  const namespace = 'openshift-etcd';
  await rig.client.apply(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: 'etcd' } },
    spec: { nodeName: node, containers: [{ name: 'etcd', image: 'r.test/etcd:1' }] },
  });
  const condition = { type: 'Ready', status: 'True', lastTransitionTime: at };
  await rig.client.mergeStatus(
    { kind: pods, name, namespace },
    { phase: 'Running', conditions: [condition] },
  );
}

/** Restarts of nodes, each with whether its pool was paused, and it was drained and told what it will run. */
const restarts: (readonly [string, boolean, boolean, boolean])[] = [];

/** Answers as kubelets, daemons and the drain controller do, until all has been seen. */
async function answer(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const node of await rig.client.list({ kind: nodes })) await drain(node);
    const ours = await rig.client.list({ kind: pods, namespace: leftNamespace });
    for (const pod of ours) await runPod(pod);
    await systemClock.sleep(50, signal).catch(() => undefined);
  }
}

const noted = ({ metadata }: KubeObject, key: keyof typeof nodeKeys): string =>
  metadata.annotations?.[nodeKeys[key]] ?? '';

async function drain(node: KubeObject): Promise<void> {
  const asked = noted(node, 'desiredDrain');
  if (asked === noted(node, 'lastAppliedDrain')) return;
  const annotations = { [nodeKeys.lastAppliedDrain]: asked };
  await rig.client.merge({ kind: nodes, name: node.metadata.name }, { metadata: { annotations } });
}

async function runPod(pod: KubeObject): Promise<void> {
  const { spec, status } = pod as KubeObject & {
    readonly spec: { readonly nodeName: string; readonly containers: [{ args: string[] }] };
    readonly status?: { readonly phase?: string };
  };
  if (status?.phase === 'Succeeded') return;
  const { name } = pod.metadata;
  await rig.client.mergeStatus(
    { kind: pods, name, namespace: leftNamespace },
    {
      phase: 'Succeeded',
    },
  );
  if (!spec.containers[0].args.includes('--reboot')) return;
  const node = await rig.client.get({ kind: nodes, name: spec.nodeName });
  if (node === undefined) throw new RangeError(`there is no node ${spec.nodeName}`);
  const isDrained = noted(node, 'lastAppliedDrain') === `drain-${rendered}`;
  const pool = await rig.client.get({ kind: machineConfigPools, name: 'master' });
  const isPaused = (pool?.['spec'] as { paused?: boolean } | undefined)?.paused === true;
  const told = [noted(node, 'currentImage'), noted(node, 'desiredImage')];
  restarts.push([spec.nodeName, isPaused, isDrained, told.every((image) => image === final)]);
  await tellNode(spec.nodeName, 'boot-1');
  const annotations = { [nodeKeys.desiredDrain]: `uncordon-${rendered}` };
  await rig.client.merge({ kind: nodes, name: spec.nodeName }, { metadata: { annotations } });
}

it('switches nodes and hands their image over with no rights but those of the job', async () => {
  const admin = opened(rig.kubeconfig);
  await runStep(leaveHandOver, {
    config,
    facts: {
      ...handOverFacts,
      order: order.kind === 'off' ? order : { ...order, delivery: 'switched' },
    },
    kube: admin,
    host: handOverHost(),
    clock: systemClock,
    inventory: fakeInventory({ hosts: [inventoryHost({ id: 'h0', name: 'm3' })] }),
  });
  const found = await rig.client.get(recordRef);
  if (found === undefined) throw new TypeError('there is no record');
  const record = readRecord(found);
  const name = `system:serviceaccount:${leftNamespace}:${leftName}`;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${leftNamespace}`];
  const kube = opened(await rig.kubeconfigFor({ user: { name, groups } }));
  const over = new AbortController();
  const answering = answer(over.signal);
  const run = { kube, clock: systemClock, facts: { record } };
  await runStep(bringImages, run);
  const pool = { kind: machineConfigPools, name: 'master' };
  over.abort(new Error('all was seen'));
  await answering;

  expect(restarts).toEqual(names.map((node) => [node, true, true, true]));
  expect(await rig.client.list({ kind: pods, namespace: leftNamespace })).toEqual([]);
  expect(await rig.client.get(pool)).toMatchObject({ spec: { paused: false } });
  const [build] = (await handedOver(kube)) as [{ readonly name: string }];
  expect(build.name).toBe(leftImage.machineOSBuild);
});
