import { readRequest } from '../../src/cluster/csr/read-request.ts';
import { overridePatch, etcdCluster, etcdNamespace } from '../../src/cluster/etcd.ts';
import {
  bareMetalHosts,
  certificateSigningRequests,
  clusterServiceVersions,
  clusterVersions,
  configMaps,
  events,
  imageStreams,
  machineConfigPools,
  machines,
  nodes,
  pods,
  subscriptions,
} from '../../src/kube/kinds.ts';
import { seconds } from '../../src/model/duration.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { recordObject, recordRef } from '../../src/steps/cluster/left-record.ts';
import {
  clusterOperators,
  nodeObject,
  withInstallConfig,
  withInvoker,
} from '../support/cluster-objects.ts';
import { type FakeKube, fakeKube } from '../support/fake-kube.ts';
import {
  alternativeNames,
  keyPair,
  pkcs10,
  signingRequestObject,
} from '../support/kubelet-request.ts';
import { addressOf, type Ending, type HostName, serviceOf } from './installation-service.ts';

// A new cluster and its service, in the last phase of an installation.

/** The certificate requests of the last master to join, created once: key generation takes time. */
export interface Requests {
  readonly client: string;
  readonly serving: string;
}

/** Creates them. */
export async function requestsOfMaster(): Promise<Requests> {
  const keys = await keyPair();
  const subject = 'O=system:nodes, CN=system:node:m0';
  return {
    client: await pkcs10({ subject, keys }),
    serving: await pkcs10({ subject, keys, names: alternativeNames('m0', addressOf.m0) }),
  };
}

const available = [{ type: 'Available', status: 'True', message: 'well' }];

/** The objects that the installer and the bootstrap host left, and later failures. */
function newCluster(ending: Ending): FakeKube {
  const isAgentBased = ending === 'agent-based';
  const kube = withInvoker(fakeKube(), isAgentBased ? 'agent-installer' : 'assisted-service');
  withInstallConfig(kube, 'platform: {baremetal: {}}\n');
  for (const name of ['m1', 'm2'] as const)
    kube.put(nodes, nodeObject({ name, addresses: [addressOf[name]] }));
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
      name: 'machine-config-server-m1',
      namespace: 'openshift-machine-config-operator',
      labels: { 'k8s-app': 'machine-config-server' },
    },
  });
  kube.withPodLog(
    'machine-config-server-m1',
    `I1 api.go:109] ${addressOf.w0}:32780 User-Agent:"Ignition/2.14"\n`,
  );
  kube.put(pods, {
    metadata: {
      name: 'assisted-installer-controller-x',
      namespace: 'assisted-installer',
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
  const tags = [
    { tag: 'latest', items: [{ dockerImageReference: 'r.test/must-gather@sha256:1' }] },
  ];
  return kube.put(imageStreams, {
    metadata: { name: 'must-gather', namespace: 'openshift' },
    status: { tags },
  });
}

const content = Buffer.from('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-lso}\n');

/** The manifests of the agent-based installer for operators. */
const agentManifests = {
  metadata: { name: 'olm-operator-manifests', namespace: 'assisted-installer' },
  data: {
    'lso.metadata.yaml':
      'namespace: openshift-lso\nsubscriptionName: lso-operator\nmanifests: [a.yaml]\n',
    'a.yaml': content.toString('base64'),
  },
};

/** The bootstrap host leaves when it has seen the controller; a service on it leaves too. */
function bootstrapHost(
  kube: FakeKube,
  {
    requests,
    service,
    ending,
  }: {
    readonly requests: Requests;
    readonly service: ReturnType<typeof serviceOf>;
    readonly ending: Ending;
  },
): () => void {
  const others = ['m1', 'm2', 'w0'] as const;
  const hosts = others.map((name) => ({ name, addresses: [addressOf[name]], stage: 'Joined' }));
  let hasLeft = false;
  return () => {
    if (hasLeft || !has(kube, events, 'AssistedControllerIsReady')) return;
    hasLeft = true;
    const left = { node: 'm0', addresses: [addressOf.m0], role: 'master', isEtcdOverridden: true };
    kube.put(recordRef.kind, recordObject({ ...left, hosts }));
    const request = signingRequestObject('client', requests.client, { name: 'client' });
    kube.put(certificateSigningRequests, request);
    if (ending === 'agent-based') {
      kube.put(configMaps, agentManifests);
      service.leave();
    }
  };
}

const isApproved = (kube: FakeKube, name: string): boolean =>
  kube
    .objectsOf(certificateSigningRequests)
    .some((one) => one.metadata.name === name && readRequest(one).state === 'approved');

const has = (kube: FakeKube, kind: typeof nodes, name: string): boolean =>
  kube.objectsOf(kind).some(({ metadata }) => metadata.name === name);

/** Kubelets and operators of the cluster. */
function cluster(
  kube: FakeKube,
  {
    requests,
    service,
    ending,
  }: {
    readonly requests: Requests;
    readonly service: ReturnType<typeof serviceOf>;
    readonly ending: Ending;
  },
) {
  const leaves = bootstrapHost(kube, { requests, service, ending });
  const joins = (): void => {
    const put = (name: HostName, role: string, notReady?: string): void => {
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
  const podsEnd = (): void => {
    for (const pod of kube.objectsOf(pods)) {
      const { name } = pod.metadata;
      if (!name.startsWith('assisted-installer-') || pod['status'] !== undefined) continue;
      kube.withPodLog(`${name}/upload`, 'uploaded\n');
      kube.put(pods, { ...pod, status: { phase: 'Succeeded' } });
    }
  };
  const operatorsCome = (): void => {
    const isDue = service.hasLeft()
      ? has(kube, nodes, 'w0')
      : service.store.cluster().status === 'finalizing';
    if (!isDue || has(kube, clusterVersions, 'version')) return;
    const status = { conditions: available };
    const put = (kind: typeof nodes, object: KubeObject) => kube.put(kind, object);
    put(clusterVersions, { metadata: { name: 'version' }, status });
    put(clusterOperators, {
      metadata: { name: 'console' },
      status: ending === 'error' ? {} : status,
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
  return (): void => {
    leaves();
    joins();
    podsEnd();
    operatorsCome();
  };
}

/** An installation in its last phase, with the function to call as time passes. */
export function controllerSite({
  requests,
  ending,
  now,
}: {
  readonly requests: Requests;
  readonly ending: Ending;
  readonly now: () => number;
}) {
  const service = serviceOf(ending, now);
  const kube = newCluster(ending);
  const live = cluster(kube, { requests, service, ending });
  const tick = (): void => {
    live();
    service.store.checkStages();
    service.show();
  };
  return { store: service.store, connect: service.connect, kube, tick };
}

/** Interval of the cluster's polls of itself. */
export const tickEvery = seconds(2);
