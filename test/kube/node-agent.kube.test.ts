import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import {
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  namespaces,
  nodes,
  pods,
  serviceAccounts,
} from '../../src/kube/kinds.ts';
import { nodeKeys } from '../../src/layering/api/node-keys.ts';
import { conditionsOf } from '../layering/build-conditions.ts';
import { operatorNamespace as namespace } from '../../src/layering/manifests/bootstrap-manifests.ts';
import { nodeAgentManifests } from '../../src/controllers/node/manifests.ts';
import { agentNamespaceRules, agentRules } from '../../src/controllers/node/permissions.ts';
import {
  agentNode,
  configFile,
  machineConfig,
  osBuild,
  startAgent,
} from '../support/agent-node.ts';
import { imageOf } from '../support/os-samples.ts';
import { until } from './pivoted-cluster.ts';
import { unusedPermissions } from './permissions.ts';
import { agentAccess, clusterOf, deployedKinds, nodeOf } from './rig.ts';

const serviceAccount = 'bootwright-node-agent';
const name = 'w0';
const daemonPod = { kind: pods, namespace, name: 'machine-config-daemon-x' };

let rig: Rig;
let cluster: KubeCluster;

const annotate = (annotations: Readonly<Record<string, string>>) =>
  rig.client.merge({ kind: nodes, name }, { metadata: { annotations } });

async function annotations(): Promise<Readonly<Record<string, string>>> {
  return (await rig.client.get({ kind: nodes, name }))?.metadata.annotations ?? {};
}

/** The pool of the node, and the build of its image. */
async function putPool(config: string): Promise<void> {
  const apiVersion = 'machineconfiguration.openshift.io/v1';
  await rig.client.apply(machineConfigPools, {
    apiVersion,
    kind: 'MachineConfigPool',
    metadata: { name: 'worker' },
    spec: {
      nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } },
      configuration: { name: config },
    },
  });
  const build = osBuild(config, '2');
  const { name: buildName } = build.metadata;
  await rig.client.apply(machineOSBuilds, {
    apiVersion,
    kind: 'MachineOSBuild',
    metadata: build.metadata,
    spec: {
      ...(build['spec'] as object),
      renderedImagePushSpec: 'registry.example.com/os/os:latest',
    },
  });
  const ref = { kind: machineOSBuilds, name: buildName };
  const begun = Date.parse('2026-01-01T00:00:00Z');
  await rig.client.mergeStatus(ref, { buildStart: '2026-01-01T00:00:00Z' });
  await rig.client.mergeStatus(ref, {
    buildEnd: '2026-01-01T00:00:01Z',
    digestedImagePushSpec: imageOf('2'),
    conditions: conditionsOf('succeeded', new Date(begun)),
  });
}

beforeAll(async () => {
  rig = await startRig({ isAudited: true });
  const labels = { 'node-role.kubernetes.io/worker': '' };
  await rig.client.apply(nodes, { ...nodeOf(name), metadata: { name, labels } });
  await rig.client.apply(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  for (const object of nodeAgentManifests('registry.example/bootwright')) {
    const kind = deployedKinds[object.kind ?? ''];
    if (kind === undefined) throw new Error(`no kind ${object.kind}`);
    await rig.client.apply(kind, object);
  }
  const type = { apiVersion: 'machineconfiguration.openshift.io/v1' };
  const next = { files: [configFile('/var/lib/x', 'new')] };
  const configs = [machineConfig('rendered-1', {}), machineConfig('rendered-2', next)];
  for (const one of configs)
    await rig.client.apply(machineConfigs, {
      ...type,
      ...one,
      metadata: { name: one.metadata.name },
    });
  await rig.client.apply(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default', namespace },
  });
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    name: 'machine-config-daemon',
    uid: 'u',
    controller: true,
  };
  await rig.client.apply(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: daemonPod.name, namespace, ownerReferences: [owner] } as never,
    spec: {
      nodeName: name,
      containers: [{ name: 'a', image: 'registry.example/a' }],
      // Nothing here ends it.
      terminationGracePeriodSeconds: 0,
    },
  });
  await putPool('rendered-2');
  cluster = clusterOf(await agentAccess(rig, name));
});
afterAll(async () => {
  await cluster.close();
  await rig.close();
});

describe('the agent of a node on a real API server', () => {
  const stop = new AbortController();
  const { host, seen } = agentNode();
  const start = (signal: AbortSignal) =>
    startAgent({ nodeName: name, kube: cluster, host, clock: systemClock, signal });

  it('leaves a node to the daemon, then switches it with its own permissions', async () => {
    await annotate({
      [nodeKeys.currentConfig]: 'rendered-1',
      [nodeKeys.currentImage]: imageOf('1'),
      [nodeKeys.desiredConfig]: 'rendered-2',
      [nodeKeys.desiredImage]: imageOf('2'),
      [nodeKeys.state]: 'Done',
    });
    const before = start(stop.signal);
    const account = `system:serviceaccount:${namespace}:${serviceAccount}`;
    await until(async () =>
      (await rig.audited(account)).some(({ resource }) => resource === 'pods'),
    );
    expect((await annotations())[nodeKeys.state]).toBe('Done');
    stop.abort(new Error('the pod is started again'));
    await before;
    await rig.client.remove(daemonPod);
    await until(async () => (await rig.client.get(daemonPod)) === undefined);
    const again = new AbortController();
    const first = start(again.signal);
    const drained = async (drain: string) => {
      await until(async () => (await annotations())[nodeKeys.desiredDrain] === drain);
      // As the controller does it: an agent does not reboot a node that is not cordoned.
      await rig.client.merge(
        { kind: nodes, name },
        { spec: { unschedulable: drain.startsWith('drain-') } },
      );
      await annotate({ [nodeKeys.lastAppliedDrain]: drain });
    };
    await drained('drain-rendered-2');
    await until(() => Promise.resolve(seen.reboots === 1));
    again.abort(new Error('the host reboots'));
    await first;
    const back = new AbortController();
    const second = start(back.signal);
    await drained('uncordon-rendered-2');
    await until(async () => (await annotations())[nodeKeys.state] === 'Done');
    expect(await annotations()).toMatchObject({
      [nodeKeys.currentConfig]: 'rendered-2',
      [nodeKeys.currentImage]: imageOf('2'),
    });
    expect(host.textOf('/var/lib/x')).toBe('new');
    back.abort(new Error('the test ends'));
    await second;

    const asked = await rig.audited(account);
    expect(asked.filter(({ status }) => status === 403)).toEqual([]);
    const rules = { '': agentRules, [namespace]: agentNamespaceRules };
    expect(unusedPermissions(asked, rules)).toEqual([]);
  });
});
