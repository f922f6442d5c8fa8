import { configMaps, nodes } from '../../src/kube/kinds.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import { fakeHost, type FakeHost, rest } from './fake-host.ts';
import type { FakeKube } from './fake-kube.ts';

/** The kind of the operators' status, which only tests create. */
export const clusterOperators: KubeKind = {
  group: 'config.openshift.io',
  version: 'v1',
  plural: 'clusteroperators',
};

/** A node for a test; Ready unless `notReady` is set. */
export interface NodeSketch {
  readonly name: string;
  readonly role?: string;
  /** Message of a Ready condition with status False. */
  readonly notReady?: string;
  readonly addresses?: readonly string[];
  /** Its /etc/machine-id. */
  readonly machine?: string;
  /** Keys of taints. */
  readonly taints?: readonly string[];
}

/** A node as an object of the API server. */
export function nodeObject({
  name,
  role = 'master',
  notReady,
  addresses = [],
  machine,
  taints = [],
}: NodeSketch): KubeObject {
  const ready =
    notReady === undefined
      ? {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'kubelet is posting ready',
        }
      : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: notReady };
  return {
    metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' } },
    spec: { taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
    status: {
      conditions: [{ type: 'MemoryPressure', status: 'False' }, ready],
      addresses: [
        { type: 'Hostname', address: name },
        ...addresses.map((address) => ({ type: 'InternalIP', address })),
      ],
      ...(machine === undefined ? {} : { nodeInfo: { machineID: machine } }),
    },
  };
}

/** Adds nodes to a cluster. */
export function withNodes(kube: FakeKube, ...sketches: readonly NodeSketch[]): FakeKube {
  for (const sketch of sketches) kube.put(nodes, nodeObject(sketch));
  return kube;
}

/** The ConfigMap with the install-config, given as YAML. */
export const installConfigMap = (yaml: string): KubeObject => ({
  metadata: { name: 'cluster-config-v1', namespace: 'kube-system' },
  data: { 'install-config': yaml },
});

/** Adds an install-config to a cluster. */
export const withInstallConfig = (kube: FakeKube, yaml: string): FakeKube =>
  kube.put(configMaps, installConfigMap(yaml));

/** Adds the invoker of the installation to a cluster. */
export const withInvoker = (kube: FakeKube, invoker: string, version = ''): FakeKube =>
  kube.put(configMaps, {
    metadata: { name: 'openshift-install-manifests', namespace: 'openshift-config' },
    data: { invoker, ...(version === '' ? {} : { version }) },
  });

/** A bootstrap host with a running bootkube; systemd sends no notifications of its units. */
export const bootkubeHost = (): FakeHost =>
  fakeHost()
    .on(['busctl', rest])
    .isMissing()
    .on(['systemctl', 'show', rest])
    .prints('ActiveState=active\nSubState=running\nResult=success\nNRestarts=0\n')
    .on(['journalctl', rest])
    .prints('');
