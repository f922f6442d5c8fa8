import type { KubeObject } from '../../src/ports/kube.ts';

/** Where the controller onStart. */
export const controllerNamespace = 'assisted-installer';

/** The name of the controller's job. */
export const controllerJob = 'assisted-installer-controller';

/** The static pod of etcd on a master, as its kubelet mirrors it: it has no service account. */
export const etcdPod = (nodeName: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `etcd-${nodeName}`,
    namespace: 'openshift-etcd',
    labels: { app: 'etcd', 'k8s-app': 'etcd', etcd: 'true' },
    annotations: { 'kubernetes.io/config.mirror': 'a1b2', 'kubernetes.io/config.source': 'file' },
  },
  spec: {
    nodeName,
    containers: [{ name: 'etcd', image: 'registry.example.test/etcd:1' }],
  },
});

/** The pod that the controller's job makes, of the template of that job. */
export function controllerPod(job: KubeObject, nodeName: string): KubeObject {
  const { template } = job['spec'] as { readonly template: PodTemplate };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${controllerJob}-8fz2k`,
      namespace: controllerNamespace,
      labels: { ...template.metadata.labels, 'job-name': controllerJob },
    },
    spec: { ...template.spec, nodeName },
  };
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: object;
}

/** What a kubelet says of a pod whose containers run. */
export const runningStatus = (at: Date): object => ({
  phase: 'Running',
  startTime: at.toISOString(),
  conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: at.toISOString(),
  })),
});

const READY = 'AssistedControllerIsReady';

/** The event with which the controller says that it works. */
export function readyEvent(at: Date): KubeObject {
  const time = at.toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: READY, namespace: controllerNamespace },
    involvedObject: { namespace: controllerNamespace, name: controllerJob },
    reason: READY,
    type: 'Normal',
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    message:
      'Assisted controller managed to connect to assisted service and kube-apiserver and is ready to start',
  };
}
