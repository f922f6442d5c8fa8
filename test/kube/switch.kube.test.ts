import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { etcdCluster } from '../../src/cluster/etcd.ts';
import { machineConfigPools, namespaces, nodes, pods } from '../../src/cluster/kinds.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { partOf } from '../../src/layering/cluster-object.ts';
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
import { bothFacts, bothHost, bothSite } from '../layering/both-pools.ts';
import { handedOver, operator } from '../layering/hand-over-site.ts';
import { nodeObject } from '../layering/layered-pool.ts';
import { noted, playedImages } from '../layering/played-node.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf } from './cluster-of.ts';

const pools = { m1: 'master', m2: 'master', m3: 'master', w1: 'worker' } as const;
type Name = keyof typeof pools;
const names = Object.keys(pools) as readonly Name[];
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
  rig = await startRig();
  const { client } = rig;
  for (const name of [operator, 'openshift-etcd']) {
    await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (const [kind, object] of bothSite) await client.apply(kind, object);
  const spec = { managementState: 'Managed' };
  const etcd = { apiVersion: 'operator.openshift.io/v1', kind: 'Etcd' };
  await client.apply(etcdCluster.kind, { ...etcd, metadata: { name: 'cluster' }, spec });
  for (const name of names) {
    const { renderedConfig } = playedImages[pools[name]];
    const configs = { currentConfig: renderedConfig, desiredConfig: renderedConfig };
    await client.apply(nodes, nodeObject(name, pools[name], { ...configs, state: 'Done' }));
    await tellNode(name, 'boot-0');
    if (pools[name] === 'master') await putEtcdMember(name);
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

/**
 * Restarts of nodes, each with which pools were paused, whether it was drained, and what it was to start into and was told
 * that it will run.
 */
const restarts: {
  readonly name: string;
  readonly paused: readonly string[];
  readonly isDrained: boolean;
  readonly images: readonly string[];
}[] = [];

/** Answers as kubelets, daemons and the drain controller do, until all has been seen. */
async function answer(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const node of await rig.client.list({ kind: nodes })) await drain(node);
    const ours = await rig.client.list({ kind: pods, namespace: leftNamespace });
    for (const pod of ours) await runPod(pod);
    await systemClock.sleep(50, signal).catch(() => undefined);
  }
}

async function drain(node: KubeObject): Promise<void> {
  const asked = noted(node, 'desiredDrain');
  if (asked === noted(node, 'lastAppliedDrain')) return;
  const annotations = { [nodeKeys.lastAppliedDrain]: asked };
  await rig.client.merge({ kind: nodes, name: node.metadata.name }, { metadata: { annotations } });
}

async function runPod(pod: KubeObject): Promise<void> {
  const { spec, status } = pod as KubeObject & {
    readonly spec: { readonly nodeName: Name; readonly containers: [{ args: string[] }] };
    readonly status?: { readonly phase?: string };
  };
  if (status?.phase === 'Succeeded') return;
  const { name } = pod.metadata;
  await rig.client.mergeStatus(
    { kind: pods, name, namespace: leftNamespace },
    { phase: 'Succeeded' },
  );
  const { args } = spec.containers[0];
  if (args.includes('--reboot')) await restart(spec.nodeName, args);
}

async function restart(name: Name, args: readonly string[]): Promise<void> {
  const ref = { kind: nodes, name };
  const node = await rig.client.get(ref);
  if (node === undefined) throw new RangeError(`there is no node ${name}`);
  const { renderedConfig } = playedImages[pools[name]];
  restarts.push({
    name,
    paused: await pausedPools(),
    isDrained: noted(node, 'lastAppliedDrain') === `drain-${renderedConfig}`,
    images: [args[2] ?? '', noted(node, 'currentImage'), noted(node, 'desiredImage')],
  });
  await tellNode(name, 'boot-1');
  const annotations = { [nodeKeys.desiredDrain]: `uncordon-${renderedConfig}` };
  await rig.client.merge(ref, { metadata: { annotations } });
}

async function pausedPools(): Promise<readonly string[]> {
  const all = await rig.client.list({ kind: machineConfigPools });
  return all
    .filter((pool) => partOf(pool, 'spec', 'paused') === true)
    .map(({ metadata }) => metadata.name);
}

it('switches both pools and hands their images over with no rights but those of the job', async () => {
  const admin = opened(rig.kubeconfig);
  await runStep(leaveHandOver, {
    config,
    facts: bothFacts('switched'),
    kube: admin,
    host: bothHost(),
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
  // Whatever is refused is tried again: here it is the end.
  const heard = (event: RunEvent): void => {
    if (event.type === 'step.retrying') over.abort(event.failure);
  };
  const { signal } = over;
  try {
    await runStep(bringImages, { kube, clock: systemClock, facts: { record }, signal, heard });
  } finally {
    over.abort(new Error('all was seen'));
    await answering;
  }

  expect(restarts).toEqual(
    names.map((node) => {
      const { image } = playedImages[pools[node]];
      return { name: node, paused: [pools[node]], isDrained: true, images: [image, image, image] };
    }),
  );
  expect(await rig.client.list({ kind: pods, namespace: leftNamespace })).toEqual([]);
  for (const { pool, image, machineOSBuild } of Object.values(playedImages)) {
    const ref = { kind: machineConfigPools, name: pool };
    expect(await rig.client.get(ref)).toMatchObject({ spec: { paused: false } });
    expect(await handedOver(kube, { pool, machineOSBuild })).toMatchObject([
      { name: machineOSBuild, owners: [{ name: pool, uid: true }] },
      { name: pool, status: { currentImagePullSpec: image } },
    ]);
  }
});
