import { clusters, controlPlanes, bootstrapConfigs, capiMachines } from '../../src/capi/api.ts';
import { bootstrapControllers } from '../../src/capi/bootstrap/controller.ts';
import { type BootstrapStores, bootstrapStores } from '../../src/capi/bootstrap/stores.ts';
import { secrets } from '../../src/kube/kinds.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Kube, KubeObject } from '../../src/ports/kube.ts';
import type { Random } from '../../src/ports/random.ts';
import { runControllers } from '../../src/kube/manager.ts';
import type { FakeKube } from './fake-kube.ts';

/** The default namespace of a test's cluster. */
export const namespace = 'demo';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/**
 * Creates a Secret in the namespace of the tests; an installer's files belong to the control plane
 * there.
 */
export function putSecret(
  kube: FakeKube,
  name: string,
  data: Readonly<Record<string, string>>,
): void {
  const encoded = Object.entries(data).map(([key, text]) => [key, base64(text)]);
  const owner = name.endsWith('-install-assets') && {
    ownerReferences: [{ uid: `plane-${namespace}`, controller: true }],
  };
  kube.put(secrets, { metadata: { name, namespace, ...owner }, data: Object.fromEntries(encoded) });
}

/**
 * Creates a Cluster and its control plane, in the state after core and the control-plane provider.
 */
export function putCluster(
  kube: FakeKube,
  { ns = namespace, spec = {}, status = {}, plane = {} } = {},
) {
  kube.put(clusters, {
    metadata: { name: 'demo', namespace: ns, uid: `cluster-${ns}` },
    spec: { controlPlaneRef: { kind: 'OpenShiftControlPlane', name: 'plane' }, ...spec },
    status: { initialization: { infrastructureProvisioned: true }, ...status },
  });
  kube.put(controlPlanes, {
    metadata: {
      name: 'plane',
      namespace: ns,
      uid: `plane-${ns}`,
      ownerReferences: [
        { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name: 'demo', uid: '' },
      ],
    } as KubeObject['metadata'],
    spec: { replicas: 3, distributionVersion: '4.19.7', releaseImage: 'r.test/release@sha256:1' },
    status: plane,
  });
}

/** Creates a Machine with its config. */
export function putHost(
  kube: FakeKube,
  name: string,
  { ns = namespace, role = 'worker', spec = {}, machine = {}, annotations = {}, status = {} } = {},
) {
  const cluster = { 'cluster.x-k8s.io/cluster-name': 'demo' };
  const plane = role === 'worker' ? {} : { 'cluster.x-k8s.io/control-plane': '' };
  kube.put(capiMachines, {
    metadata: {
      name,
      namespace: ns,
      uid: `machine-${name}`,
      labels: { ...cluster, ...plane },
      annotations: role === 'bootstrap' ? { 'bootwright.io/role': 'bootstrap' } : {},
      ...(role === 'worker' ? {} : { ownerReferences: [{ uid: `plane-${ns}`, controller: true }] }),
    },
    spec: {
      clusterName: 'demo',
      bootstrap: { configRef: { kind: 'OpenShiftBootstrapConfig', name } },
    },
    ...machine,
  });
  kube.put(bootstrapConfigs, {
    metadata: {
      name,
      namespace: ns,
      uid: `config-${name}`,
      generation: 1,
      labels: cluster,
      annotations,
      ownerReferences: [
        { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name, uid: `machine-${name}` },
      ],
    },
    spec: { agent: { image: 'r.test/agent@sha256:2' }, installDevice: '/dev/vda', ...spec },
    ...(Object.keys(status).length === 0 ? {} : { status }),
  } as KubeObject);
}

/** Runs the provider until its signal aborts. */
export function runBootstrap(
  ports: { readonly kube: Kube; readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
  ca = () => Promise.resolve('PEM'),
): {
  readonly stores: BootstrapStores;
  readonly events: readonly RunEvent[];
  readonly ended: Promise<unknown>;
} {
  const stores = bootstrapStores(ports);
  const events: RunEvent[] = [];
  const emit = (body: object): void =>
    void events.push({ ...body, at: ports.clock.now(), run: 'test' } as RunEvent);
  const address = { inventoryUrl: 'https://inventory.test:8443', ca };
  const controllers = bootstrapControllers({ ...ports, ...address, stores, emit });
  const ended = runControllers(
    { ...ports, emit, signal },
    { name: 'bootstrap', controllers },
  ).catch((error: unknown) => error);
  return { stores, events, ended };
}
