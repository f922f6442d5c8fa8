// deploy/layering on a real API server: the node controller and the agents of three masters, each
// with its own account.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/api-server.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { etcdCluster, etcdNamespace } from '../../src/cluster/etcd.ts';
import {
  events,
  machineConfigPools,
  machineConfigs,
  namespaces,
  nodes,
  podDisruptionBudgets,
  pods,
  serviceAccounts,
} from '../../src/kube/kinds.ts';
import { annotationOf, partOf } from '../../src/kube/object.ts';
import { nodeKeys } from '../../src/layering/api/node-keys.ts';
import { operatorNamespace as namespace } from '../../src/layering/manifests/bootstrap-manifests.ts';
import type { KubeObject, KubeView } from '../../src/ports/kube.ts';
import { agentNamespaceRules, agentRules } from '../../src/controllers/node/manifests.ts';
import { nodeControllerRules } from '../../src/controllers/pools/manifests.ts';
import { agentNode, configFile, startAgent } from '../support/agent-node.ts';
import { imageOf } from '../support/os-samples.ts';
import { deploy, putNode } from './new-cluster.ts';
import { putEtcdMember, until } from './pivoted-cluster.ts';
import { unusedPermissions } from './permissions.ts';
import { agentAccess, clusterOf, serviceAccountOf, startProgram } from './cluster-access.ts';

const masters = ['m0', 'm1', 'm2'];
const controller = 'bootwright-node-controller';
const agent = 'bootwright-node-agent';
const apiVersion = 'machineconfiguration.openshift.io/v1';
const budget = { kind: podDisruptionBudgets, namespace: 'default', name: 'of-app' };

let rig: Rig;
const stop = new AbortController();
const programs: (() => unknown)[] = [];
const ends: Promise<unknown>[] = [];
const clusters: KubeCluster[] = [];

const [before, after] = ['rendered-master-1', 'rendered-master-2'];
const config = (name: string, spec: object) =>
  rig.client.apply(machineConfigs, {
    apiVersion,
    kind: 'MachineConfig',
    metadata: { name },
    spec: { config: { ignition: { version: '3.4.0' } }, ...spec },
  });
const configure = (name: string) =>
  rig.client.merge(
    { kind: machineConfigPools, name: 'master' },
    { spec: { configuration: { name } } },
  );
const node = async (name: string): Promise<KubeObject> => {
  const found = await rig.client.get({ kind: nodes, name });
  if (found === undefined) throw new Error(`there is no node ${name}`);
  return found;
};

/** Starts the command as its Deployment does. */
async function startController() {
  const user = { namespace, serviceAccount: controller };
  const { log, kill, ended } = await startProgram(rig, user, ['node', 'controller']);
  programs.push(kill);
  return {
    log,
    end: async () => {
      kill('SIGTERM');
      await ended;
    },
  };
}

/** Runs the agent of a node, and again after each reboot of its host, as a kubelet does. */
async function runAgent(nodeName: string, kubeconfig: string): Promise<void> {
  const { host, seen } = agentNode();
  const kube = clusterOf(kubeconfig);
  clusters.push(kube);
  while (!stop.signal.aborted) {
    const rebooted = new Promise<void>((resolve) => {
      seen.atBoot = resolve;
    });
    const pod = new AbortController();
    const ended = startAgent({
      nodeName,
      kube,
      host,
      clock: systemClock,
      signal: AbortSignal.any([pod.signal, stop.signal]),
    });
    await Promise.race([rebooted, ended]);
    pod.abort(new Error('the host reboots'));
    await ended;
  }
}

async function putPod(name: string, nodeName: string, owner?: string): Promise<void> {
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'DaemonSet', uid: 'u', controller: true, name: owner },
  ];
  const metadata = { name, namespace: 'default', labels: { app: name } };
  await rig.client.apply(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, ...(owner === undefined ? {} : { ownerReferences }) },
    spec: {
      containers: [{ name: 'c', image: 'registry.example/a' }],
      nodeName,
      terminationGracePeriodSeconds: 0,
    },
  });
  const ready = { type: 'Ready', status: 'True' };
  const ref = { kind: pods, namespace: 'default', name };
  await rig.client.mergeStatus(ref, { phase: 'Running', conditions: [ready] });
}

/** The status as the disruption controller writes it, which does not run here. */
const allow = (disruptionsAllowed: number) =>
  rig.client.mergeStatus(budget, {
    disruptionsAllowed,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    observedGeneration: 1,
  });

beforeAll(async () => {
  rig = await startRig({ isAudited: true });
  for (const name of [namespace, etcdNamespace]) {
    await rig.client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  await rig.client.apply(serviceAccounts, serviceAccountOf('default'));
  await deploy(rig.client, 'layering');
  await rig.client.apply(etcdCluster.kind, {
    apiVersion: 'operator.openshift.io/v1',
    kind: 'Etcd',
    metadata: { name: 'cluster' },
    spec: { managementState: 'Managed' },
  });
  for (const [at, name] of masters.entries()) {
    await putNode(rig.client, { name, addresses: [`192.0.2.${at}/24`], isReady: true });
    const labels = { 'node-role.kubernetes.io/master': '' };
    await rig.client.merge({ kind: nodes, name }, { metadata: { labels } });
    await putEtcdMember(rig.client, name);
  }
  await rig.client.apply(machineConfigPools, {
    apiVersion,
    kind: 'MachineConfigPool',
    metadata: { name: 'master' },
    spec: {
      nodeSelector: { matchLabels: { 'node-role.kubernetes.io/master': '' } },
      configuration: { name: before },
      // An earlier operator set another stream of OS images on it; our programs ignore that.
      osImageStream: { name: 'rhel-10' },
    },
  });
  const files = [configFile('/var/lib/x', 'new')];
  await config(before, { osImageURL: imageOf('1') });
  await config(after, {
    osImageURL: imageOf('2'),
    config: { ignition: { version: '3.4.0' }, storage: { files } },
  });
  await rig.client.apply(podDisruptionBudgets, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: budget.name, namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'app' } } },
  });
});
afterAll(async () => {
  stop.abort(new Error('the test ends'));
  for (const kill of programs) kill();
  await Promise.all(ends);
  for (const cluster of clusters) await cluster.close();
  await rig.close();
});

const userOf = (account: string): string => `system:serviceaccount:${namespace}:${account}`;

describe('deploy/layering on a real API server', () => {
  it('rolls out another MachineConfig to three masters, one at a time', async () => {
    await putPod('app', 'm0');
    await putPod('of-daemon-set', 'm0', 'some-daemon');
    await allow(0);
    const first = await startController();
    for (const name of masters) {
      const annotations = {
        [nodeKeys.currentConfig]: before,
        [nodeKeys.desiredConfig]: before,
        [nodeKeys.state]: 'Done',
      };
      await rig.client.merge({ kind: nodes, name }, { metadata: { annotations } });
    }
    for (const name of masters) ends.push(runAgent(name, await agentAccess(rig, name)));
    const busiest = watchBusy();
    await configure(after);
    await until(() => Promise.resolve(first.log().includes(budget.name)));
    // Another process takes the lease, and continues the drain.
    await first.end();
    const second = await startController();
    await until(() => Promise.resolve(second.log().includes(budget.name)));
    expect(annotationOf(await node('m1'), nodeKeys.desiredConfig)).toBe(before);
    await allow(1);
    const has = (name: string) => async (): Promise<boolean> => {
      const found = await node(name);
      const isDone = annotationOf(found, nodeKeys.state) === 'Done';
      return isDone && annotationOf(found, nodeKeys.currentConfig) === after;
    };
    for (const name of masters) await until(has(name));
    await until(async () => {
      const all = await Promise.all(masters.map(node));
      return all.every((one) => partOf(one, 'spec', 'unschedulable') !== true);
    });
    expect(busiest()).toBe(1);
    const left = await rig.client.list({ kind: pods, namespace: 'default' });
    expect(left.map(({ metadata }) => metadata.name)).toEqual(['of-daemon-set']);
    const said = await rig.client.list({ kind: events, namespace: 'default' });
    expect(new Set(said.map((one) => one['reason']))).toEqual(
      new Set(['PoolOwner', 'SetDesiredConfigAndOSImage']),
    );
    await second.end();
  });

  it('grants all needed permissions and no others', async () => {
    const ofController = await rig.audited(userOf(controller));
    const ofAgents = await rig.audited(userOf(agent));
    expect([...ofController, ...ofAgents].filter(({ status }) => status === 403)).toEqual([]);
    expect(unusedPermissions(ofController, nodeControllerRules)).toEqual([]);
    const rules = { '': agentRules, [namespace]: agentNamespaceRules };
    expect(unusedPermissions(ofAgents, rules)).toEqual([]);
  });
});

/** The most nodes that were cordoned or changing at one moment. */
function watchBusy(): () => number {
  let most = 0;
  const cluster = clusterOf(rig.kubeconfig);
  clusters.push(cluster);
  const isBusy = (one: KubeObject): boolean =>
    partOf(one, 'spec', 'unschedulable') === true ||
    annotationOf(one, nodeKeys.currentConfig) !== annotationOf(one, nodeKeys.desiredConfig);
  const count = ({ objects }: KubeView): void => {
    most = Math.max(most, objects.filter(isBusy).length);
  };
  ends.push(cluster.follow({ kind: nodes }, count, stop.signal));
  return () => most;
}
