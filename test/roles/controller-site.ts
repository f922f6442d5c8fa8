import {
  decideCompletion,
  decideIngressCa,
  decideOperator,
  decideStage,
  type EndDecision,
} from '../../mocks/inventory/finalizing.ts';
import {
  clusterSeed,
  type HostRecord,
  hostSeed,
  operatorSeed,
} from '../../mocks/inventory/records.ts';
import { type InventoryStore, inventoryStore } from '../../mocks/inventory/store.ts';
import { inventoryFailure } from '../../src/adapters/http/failures.ts';
import { readSigningRequest } from '../../src/cluster/csr/signing-request.ts';
import { overridePatch, etcdCluster, etcdNamespace } from '../../src/cluster/etcd.ts';
import {
  bareMetalHosts,
  certificateSigningRequests,
  clusterServiceVersions,
  clusterVersions,
  configMaps,
  imageStreams,
  machineConfigPools,
  machines,
  nodes,
  pods,
  services,
  subscriptions,
} from '../../src/cluster/kinds.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import type {
  Installation,
  InstallingCluster,
  InstallationView,
} from '../../src/ports/installation.ts';
import type { Inventory } from '../../src/ports/inventory.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { recordObject, recordRef } from '../../src/steps/cluster/left-record.ts';
import {
  clusterOperators,
  nodeObject,
  withInstallConfig,
  withInvoker,
} from '../support/cluster-objects.ts';
import { fakeInventory, type FakeInventory } from '../support/fake-inventory.ts';
import { type FakeKube, fakeKube } from '../support/fake-kube.ts';
import {
  alternativeNames,
  keyPair,
  pkcs10,
  signingRequestObject,
} from '../support/kubelet-request.ts';

// A new cluster and its service, as they are while an installation comes to its end.

const infraEnvId = '7a000000-0000-4000-8000-000000000000';
const addressOf = {
  m0: '192.0.2.10',
  m1: '192.0.2.11',
  m2: '192.0.2.12',
  w0: '192.0.2.20',
} as const;
type Name = keyof typeof addressOf;
const names = Object.keys(addressOf) as readonly Name[];

/** What users want of the worker. */
export const wishes = { nodeLabels: { team: 'storage' }, pool: 'infra' };

/** How the installation ends, by the operators of the cluster. */
export type Ending = 'installed' | 'error';

/** The certificates that the master which joins last asks for, made once: keys take their time. */
export interface Requests {
  readonly client: string;
  readonly serving: string;
}

/** Makes them. */
export async function requestsOfMaster(): Promise<Requests> {
  const keys = await keyPair();
  const subject = 'O=system:nodes, CN=system:node:m0';
  return {
    client: await pkcs10({ subject, keys }),
    serving: await pkcs10({ subject, keys, names: alternativeNames('m0', addressOf.m0) }),
  };
}

/** The service: the rules of the stand-in, without a network. */
function serviceOf(ending: Ending, now: () => number) {
  const cluster = clusterSeed({
    operators: [...clusterSeed().operators, operatorSeed({ name: 'lso' })],
  });
  const hosts = names.map((hostname): HostRecord =>
    hostSeed({
      ...{ clusterId: cluster.id, infraEnvId, id: `host-${hostname}`, hostname },
      role: hostname === 'w0' ? 'worker' : 'master',
      ...(hostname === 'w0' ? wishes : {}),
      addresses: [`${addressOf[hostname]}/24`],
      ...{ status: 'installing-in-progress', stage: 'Rebooting' },
      ...{ stageStartedAt: now(), stageUpdatedAt: now() },
    }),
  );
  const finalizingLimits =
    ending === 'error' ? { 'Waiting for cluster operators': minutes(1) } : {};
  return inventoryStore({ cluster, hosts, finalizingLimits }, now);
}

/** The installation by what a service keeps. */
function installationOf(store: InventoryStore, now: () => number) {
  const followers = new Set<(view: InstallationView) => void>();
  const shown = (): InstallationView => {
    const { id, kind, name, baseDomain, status, finalizing } = store.cluster();
    const cluster: InstallingCluster = {
      ...{ id, kind, name, baseDomain, status },
      ...(finalizing === undefined ? {} : { finalizing }),
      hosts: store.hosts().map((host) => ({
        ...{ id: host.id, infraEnvId: host.infraEnvId, name: host.hostname, role: host.role },
        ...{ status: host.status, stage: host.stage, pool: host.pool ?? '' },
        addresses: host.addresses.map((one) => one.replace(/\/.*/, '')),
        labels: host.nodeLabels ?? {},
      })),
    };
    return { cluster };
  };
  const show = (): void => {
    for (const seen of [...followers]) seen(shown());
  };
  const take = async (decide: () => EndDecision, signal: AbortSignal): Promise<void> => {
    await Promise.resolve();
    signal.throwIfAborted();
    const decision = decide();
    if (decision.kind === 'refused') {
      throw inventoryFailure('inventory.rejected', decision.reason, {
        context: { status: decision.status },
      });
    }
    store.setCluster(decision.cluster);
    show();
  };
  const installation: Installation = {
    follow: (seen, signal) =>
      new Promise((resolve) => {
        const end = (): void => {
          followers.delete(seen);
          resolve();
        };
        if (signal.aborted) end();
        signal.addEventListener('abort', end, { once: true });
        followers.add(seen);
        queueMicrotask(() => {
          if (followers.has(seen)) seen(shown());
        });
      }),
    refresh: () => undefined,
    reportFinalizing: (stage, signal) =>
      take(() => decideStage(store.cluster(), stage, now()), signal),
    operators: () => Promise.resolve(store.cluster().operators),
    reportOperator: (report, signal) => take(() => decideOperator(store.cluster(), report), signal),
    uploadIngressCa: (pem, signal) => take(() => decideIngressCa(store.cluster(), pem), signal),
    complete: ({ isSuccess, error, data }, signal) =>
      take(() => {
        store.addCompletion({
          isSuccess,
          error,
          data: data as Readonly<Record<string, unknown>> | undefined,
        });
        return decideCompletion(store.cluster(), { isSuccess, error });
      }, signal),
    addEvent: async (event, signal) => {
      signal.throwIfAborted();
      await Promise.resolve();
      store.addEvent({ ...event, event_time: new Date(now()).toISOString() });
    },
  };
  return { installation, show };
}

const content = Buffer.from('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-lso}\n');
const files = {
  'custom_manifests.json': JSON.stringify([{ Name: 'lso', Content: content.toString('base64') }]),
};

/** The service as agents report to it. */
const inventoryOf = (store: InventoryStore, show: () => void): FakeInventory => {
  const report: Inventory['report'] = async ({ hostId }, { stage, info }) => {
    await Promise.resolve();
    const decision = store.report(hostId, { stage, info }, 'v2');
    if (decision?.kind === 'refused') throw inventoryFailure('inventory.refused', decision.reason);
    show();
  };
  const clusterLogsState: Inventory['clusterLogsState'] = (state) => {
    store.setClusterLogs(state);
    return Promise.resolve();
  };
  return fakeInventory({ files }).answering({ report, clusterLogsState });
};

const operatorPod = { name: 'dns-operator', namespace: 'openshift-dns-operator' };
const dns = { name: 'dns-default', namespace: 'openshift-dns' };
const at = { clusterIP: '10.0.0.10' };
const available = [{ type: 'Available', status: 'True', message: 'well' }];

/** What the installer and the bootstrap host have put there, and what went wrong meanwhile. */
function newCluster(requests: Requests): FakeKube {
  const kube = withInvoker(fakeKube(), 'assisted-service');
  withInstallConfig(
    kube,
    'platform: {baremetal: {}}\nnetworking: {serviceNetwork: [10.0.0.0/24]}\n',
  );
  for (const name of ['m1', 'm2'] as const)
    kube.put(nodes, nodeObject({ name, addresses: [addressOf[name]] }));
  kube.put(
    certificateSigningRequests,
    signingRequestObject('client', requests.client, { name: 'client' }),
  );
  kube.put(services, { metadata: { name: 'thief', namespace: 'default' }, spec: at });
  kube.put(pods, { metadata: operatorPod });
  const role = { 'machine.openshift.io/cluster-api-machine-role': 'worker' };
  kube.put(machines, {
    metadata: { name: 'worker-0', namespace: 'openshift-machine-api', labels: role },
  });
  const annotations = { 'baremetalhost.metal3.io/status': '{"operationalStatus":"OK"}' };
  kube.put(bareMetalHosts, {
    metadata: { name: 'w0', namespace: 'openshift-machine-api', annotations },
    spec: {},
  });
  kube.put(machineConfigPools, { metadata: { name: 'worker' }, spec: {} });
  kube.put(pods, {
    metadata: {
      ...{ name: 'machine-config-server-m1', namespace: 'openshift-machine-config-operator' },
      labels: { 'k8s-app': 'machine-config-server' },
    },
  });
  kube.withPodLog(
    'machine-config-server-m1',
    `I1 api.go:109] ${addressOf.w0}:32780 User-Agent:"Ignition/2.14"\n`,
  );
  kube.put(pods, {
    metadata: {
      ...{ name: 'assisted-installer-controller-x', namespace: 'assisted-installer' },
      labels: { 'job-name': 'assisted-installer-controller' },
    },
    spec: { nodeName: 'm1', containers: [{ image: 'r.test/bootwright:1' }] },
    status: { phase: 'Running' },
  });
  for (const name of ['m0', 'm1', 'm2']) {
    kube.put(pods, {
      metadata: { name: `etcd-${name}`, namespace: etcdNamespace, labels: { app: 'etcd' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }
  const { metadata, spec } = overridePatch(null).body as Readonly<Record<string, object>>;
  kube.put(etcdCluster.kind, { metadata: { name: 'cluster', ...metadata }, spec });
  const left = { node: 'm2', addresses: [], role: 'master', isEtcdOverridden: true, images: [] };
  kube.put(recordRef.kind, recordObject(left));
  const tags = [
    { tag: 'latest', items: [{ dockerImageReference: 'r.test/must-gather@sha256:1' }] },
  ];
  return kube.put(imageStreams, {
    metadata: { name: 'must-gather', namespace: 'openshift' },
    status: { tags },
  });
}

const isApproved = (kube: FakeKube, name: string): boolean =>
  kube
    .objectsOf(certificateSigningRequests)
    .some((one) => one.metadata.name === name && readSigningRequest(one)?.state === 'approved');

const has = (kube: FakeKube, kind: typeof nodes, name: string): boolean =>
  kube.objectsOf(kind).some(({ metadata }) => metadata.name === name);

/** Kubelets and operators of the cluster. */
function cluster(
  kube: FakeKube,
  {
    requests,
    store,
    ending,
  }: { readonly requests: Requests; readonly store: InventoryStore; readonly ending: Ending },
) {
  let freedAt: number | undefined;
  const joins = (): void => {
    const put = (name: Name, role: string, notReady?: string): void => {
      const before = kube.objectsOf(nodes).find(({ metadata }) => metadata.name === name);
      const isReady = before !== undefined && notReady === undefined;
      const node = nodeObject({
        name,
        role,
        addresses: [addressOf[name]],
        ...(notReady === undefined ? {} : { notReady }),
      });
      if (before === undefined || isReady)
        kube.put(nodes, {
          ...before,
          ...node,
          metadata: { ...node.metadata, ...before?.metadata },
        });
    };
    const spec = { username: 'system:node:m0', groups: ['system:nodes', 'system:authenticated'] };
    if (isApproved(kube, 'client') && !has(kube, nodes, 'm0')) {
      put('m0', 'master', 'no network');
      kube.put(
        certificateSigningRequests,
        signingRequestObject('serving', requests.serving, { name: 'serving', spec }),
      );
    } else if (isApproved(kube, 'serving') && !has(kube, nodes, 'w0')) {
      put('m0', 'master');
      put('w0', 'worker');
    }
  };
  const dnsComes = (now: number): void => {
    if (has(kube, services, 'thief') || has(kube, services, dns.name)) return;
    freedAt ??= now;
    const isRestarted = !has(kube, pods, operatorPod.name);
    // An operator that was not restarted tries again in its own time.
    if (!isRestarted && now - freedAt < minutes(8)) return;
    kube.put(pods, { metadata: operatorPod }).put(services, { metadata: dns, spec: at });
  };
  const podsEnd = (): void => {
    for (const pod of kube.objectsOf(pods)) {
      const { name } = pod.metadata;
      if (!name.startsWith('assisted-installer-') || pod['status'] !== undefined) continue;
      kube.withPodLog(`${name}/count`, 'reboot   system boot  5.14\nreboot   system boot  5.14\n');
      kube.withPodLog(`${name}/upload`, 'uploaded\n');
      kube.put(pods, { ...pod, status: { phase: 'Succeeded' } });
    }
  };
  const operatorsCome = (): void => {
    if (store.cluster().status !== 'finalizing' || has(kube, clusterVersions, 'version')) return;
    const status = { conditions: available };
    const put = (kind: typeof nodes, object: KubeObject) => kube.put(kind, object);
    put(clusterVersions, { metadata: { name: 'version' }, status });
    put(clusterOperators, {
      metadata: { name: 'console' },
      status: ending === 'installed' ? status : {},
    });
    put(configMaps, {
      metadata: { name: 'default-ingress-cert', namespace: 'openshift-config-managed' },
      data: { 'ca-bundle.crt': '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n' },
    });
    const namespace = 'openshift-lso';
    put(subscriptions, {
      metadata: { name: 'lso-operator', namespace },
      status: { currentCSV: 'lso.v1' },
    });
    put(clusterServiceVersions, {
      metadata: { name: 'lso.v1', namespace },
      status: { phase: 'Succeeded' },
    });
  };
  return (now: number): void => {
    joins();
    dnsComes(now);
    podsEnd();
    operatorsCome();
  };
}

/** An installation that comes to its end, with what is to be called as time passes. */
export function controllerSite({
  requests,
  ending,
  now,
}: {
  readonly requests: Requests;
  readonly ending: Ending;
  readonly now: () => number;
}) {
  const store = serviceOf(ending, now);
  const { installation, show } = installationOf(store, now);
  const kube = newCluster(requests);
  const live = cluster(kube, { requests, store, ending });
  const tick = (): void => {
    live(now());
    store.checkStages();
    show();
  };
  return { store, installation, kube, inventory: inventoryOf(store, show), tick };
}

/** How long one look of the cluster at itself takes. */
export const tickEvery = seconds(2);
