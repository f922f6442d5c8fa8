import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import type { KubeClient } from '../../mocks/kube/client.ts';
import { clusterProxyRef } from '../../src/cluster/controller.ts';
import {
  bareMetalHosts,
  clusterOperators,
  clusterServiceVersions,
  clusterVersions,
  configMaps,
  installPlans,
  jobs,
  machineConfigPools,
  machines,
  namespaces,
  nodes,
  pods,
  serviceAccounts,
  subscriptions,
} from '../../src/kube/kinds.ts';
import { etcdCluster, overridePatch } from '../../src/cluster/etcd.ts';
import { beginPause } from '../../src/layering/api/machine-config-pool.ts';
import { recordObject, recordRef } from '../../src/steps/cluster/left-record.ts';
import { bothSite as site } from '../layering/both-pools.ts';
import { operator } from '../layering/hand-over-site.ts';
import { putEtcdMember } from './pivoted-cluster.ts';
import { customResourceDefinitions, deployedKinds, openDefinition } from './cluster-access.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';

// Objects of a cluster near the end of its installation, on a real API server.

const top = resolve(import.meta.dirname, '../..');

/**
 * Applies the manifests of a folder of `deploy`, except jobs and deployments: their pods cannot run
 * here.
 */
export async function deploy(client: KubeClient, name = 'controller'): Promise<void> {
  const folder = join(top, 'deploy', name);
  const read = (name: string): unknown => parse(readFileSync(join(folder, name), 'utf8'));
  const { resources } = read('kustomization.yaml') as { readonly resources: readonly string[] };
  for (const name of resources) {
    const object = read(name) as KubeObject;
    const kind = deployedKinds[object.kind ?? ''];
    if (kind !== undefined) await client.apply(kind, object);
  }
}

/** Defines a kind of an operator outside OpenShift's API; `singular` is its `kind` in manifests. */
export const defineKind = async (
  client: KubeClient,
  kind: KubeKind,
  singular: string,
): Promise<unknown> =>
  client.apply(
    customResourceDefinitions,
    openDefinition(kind, singular, { subresources: { status: {} } }),
  );

interface SeenNode {
  readonly name: string;
  /** With their prefix lengths, as in the service. */
  readonly addresses: readonly string[];
  readonly isReady: boolean;
}

/** Creates a node, Ready or not yet. */
export async function putNode(
  client: KubeClient,
  { name, addresses, isReady }: SeenNode,
): Promise<void> {
  await client.apply(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  const ready = { type: 'Ready', status: isReady ? 'True' : 'False', reason: 'x', message: 'x' };
  await client.mergeStatus(
    { kind: nodes, name },
    {
      conditions: [{ ...ready, lastHeartbeatTime: date, lastTransitionTime: date }],
      addresses: addresses.map((one) => ({ type: 'InternalIP', address: one.split('/')[0] })),
    },
  );
}

const date = '2026-11-23T00:00:00Z';
const available = {
  type: 'Available',
  status: 'True',
  reason: 'AsExpected',
  message: 'fine',
  lastTransitionTime: date,
};

/** Creates the operators that an installation waits for at its end. */
export async function putOperators(client: KubeClient): Promise<void> {
  const api = 'config.openshift.io/v1';
  await client.apply(clusterOperators, {
    apiVersion: api,
    kind: 'ClusterOperator',
    metadata: { name: 'console' },
    spec: {},
  });
  const console = { kind: clusterOperators, name: 'console' };
  await client.mergeStatus(console, { conditions: [available] });
  await client.apply(clusterVersions, {
    apiVersion: api,
    kind: 'ClusterVersion',
    metadata: { name: 'version' },
    spec: { clusterID: '11111111-2222-4333-8444-555555555555' },
  });
  await client.replaceStatus(
    { kind: clusterVersions, name: 'version' },
    {
      observedGeneration: 1,
      versionHash: 'x',
      availableUpdates: null,
      desired: { version: '4.20.1', image: 'quay.io/x@sha256:1' },
      conditions: [available],
      capabilities: { enabledCapabilities: ['Console'], knownCapabilities: ['Console'] },
    },
  );
  await inNamespace(client, ['openshift-config-managed', configMaps], {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'default-ingress-cert' },
    data: { 'ca-bundle.crt': pem },
  });
}

/** Creates the final objects of an OLM subscription. */
export async function putOlmOperator(client: KubeClient): Promise<void> {
  const local = 'openshift-local-storage';
  await inNamespace(client, [local, clusterServiceVersions], {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'ClusterServiceVersion',
    metadata: { name: 'lso.v1' },
    spec: { version: '4.20.0' },
    status: { phase: 'Succeeded' },
  });
  await inNamespace(client, [local, subscriptions], {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'Subscription',
    metadata: { name: 'lso' },
    status: { currentCSV: 'lso.v1' },
  });
}

const pem = `-----BEGIN CERTIFICATE-----\n${'A'.repeat(64)}\n-----END CERTIFICATE-----\n`;

/**
 * Creates an object, and its namespace if missing; writes its status by the subresource if there is
 * one.
 */
async function inNamespace(
  client: KubeClient,
  [place, kind]: readonly [string, KubeKind],
  object: KubeObject,
): Promise<void> {
  const metadata = { name: place };
  await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  // Without it the API server admits no pod.
  const account = { name: 'default', namespace: place };
  await client.apply(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: account,
  });
  const named = { ...object, metadata: { ...object.metadata, namespace: place } };
  await client.apply(kind, named);
  const { status } = object;
  const ref = { kind, name: object.metadata.name, namespace: place };
  if (status !== undefined) await client.mergeStatus(ref, status);
}

export const defineOlm = async (client: KubeClient): Promise<void> => {
  await defineKind(client, subscriptions, 'Subscription');
  await defineKind(client, clusterServiceVersions, 'ClusterServiceVersion');
  await defineKind(client, installPlans, 'InstallPlan');
};

/** Creates the installer's ConfigMap about itself, and the Proxy. */
export async function putInstaller(client: KubeClient, invoker: string): Promise<void> {
  await inNamespace(client, ['kube-system', configMaps], {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cluster-config-v1' },
    data: {
      'install-config':
        'platform: {baremetal: {}}\nnetworking: {serviceNetwork: [10.0.0.0/24], machineNetwork: [{cidr: 192.0.2.0/24}]}\n',
    },
  });
  await inNamespace(client, ['openshift-config', configMaps], {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'openshift-install-manifests' },
    data: { invoker },
  });
  await client.apply(clusterProxyRef.kind, {
    apiVersion: 'config.openshift.io/v1',
    kind: 'Proxy',
    metadata: { name: 'cluster' },
    spec: {},
  });
}

/**
 * Creates the faults of a cluster that has come up, and the objects that other operators wait for.
 */
export async function putFaults(client: KubeClient): Promise<void> {
  await putInstaller(client, 'assisted-service');
  const pod = { apiVersion: 'v1', kind: 'Pod' };
  const container = { name: 'c', image: 'quay.io/x/y:1' };
  const spec = { containers: [container], nodeName: 'm0', automountServiceAccountToken: false };
  await inNamespace(client, ['openshift-machine-config-operator', pods], {
    ...pod,
    metadata: { name: 'machine-config-server-m0', labels: { 'k8s-app': 'machine-config-server' } },
    spec,
    status: { phase: 'Running' },
  });
  await client.apply(machineConfigPools, {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    metadata: { name: 'worker' },
    spec: {},
  });
  await inNamespace(client, ['openshift-machine-api', machines], {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'Machine',
    metadata: {
      name: 'worker-0',
      labels: { 'machine.openshift.io/cluster-api-machine-role': 'worker' },
    },
    spec: {},
  });
  const metal = { apiVersion: 'metal3.io/v1alpha1', kind: 'BareMetalHost' };
  await inNamespace(client, ['openshift-machine-api', bareMetalHosts], {
    ...metal,
    metadata: {
      name: 'w0',
      annotations: { 'baremetalhost.metal3.io/status': '{"operationalStatus":"OK"}' },
    },
    spec: {},
  });
  await inNamespace(client, ['openshift-marketplace', jobs], {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'unpack' },
    spec: { template: { spec: { containers: [container], restartPolicy: 'Never' } } },
    status: { failed: 1 },
  });
  const plan = {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'InstallPlan',
    metadata: {
      name: 'install-1',
      ownerReferences: [
        {
          apiVersion: 'operators.coreos.com/v1alpha1',
          kind: 'Subscription',
          name: 'lso',
          uid: 'u',
        },
      ],
    },
    spec: {},
    status: { phase: 'Failed' },
  };
  await inNamespace(client, ['openshift-local-storage', installPlans], plan);
}

/** Creates the rendered pools of masters and workers. */
export async function putPools(client: KubeClient): Promise<void> {
  const pools = site.filter(([kind]) => kind === machineConfigPools);
  for (const [kind, object] of pools) await client.apply(kind, object);
}

/**
 * Creates the objects that a bootstrap host leaves before its pools are rendered: etcd with its
 * override, and the record.
 */
export async function putLeftWork(client: KubeClient): Promise<void> {
  for (const name of [operator, 'openshift-etcd']) {
    await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const others = site.filter(([kind]) => kind !== machineConfigPools);
  for (const [kind, object] of others) await client.apply(kind, object);
  // It may have been stopped while its own pool was paused.
  const [, pool] =
    site.find(
      ([kind, { metadata }]) => kind === machineConfigPools && metadata.name === 'master',
    ) ?? [];
  if (pool === undefined) throw new RangeError('the site has no pool of masters');
  await client.apply(machineConfigPools, pool);
  const pause = beginPause(pool, 'handOver', date);
  if (pause !== undefined) await client.merge({ kind: machineConfigPools, name: 'master' }, pause);
  const etcd = { apiVersion: 'operator.openshift.io/v1', kind: 'Etcd' };
  const spec = { managementState: 'Managed' };
  await client.apply(etcdCluster.kind, { ...etcd, metadata: { name: 'cluster' }, spec });
  await client.merge(etcdCluster, overridePatch(null).body);
  for (const name of ['m0', 'm1', 'm2']) await putEtcdMember(client, name);
  const left = { node: 'm2', addresses: [], role: 'master', isEtcdOverridden: true };
  await client.apply(recordRef.kind, recordObject(left));
}
