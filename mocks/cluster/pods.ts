import type { KubeObject } from '../../src/ports/kube.ts';

/** Where the controller onStart. */
export const controllerNamespace = 'assisted-installer';

/** The name of the controller's job. */
export const controllerJob = 'assisted-installer-controller';

interface PodPlan {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly nodeName: string;
  readonly container: string;
}

const pod = ({ name, namespace, labels, nodeName, container }: PodPlan): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels },
  spec: {
    nodeName,
    automountServiceAccountToken: false,
    containers: [{ name: container, image: `registry.example.test/${container}:1` }],
  },
});

/** The pod of etcd on a master. */
export const etcdPod = (nodeName: string): KubeObject =>
  pod({
    name: `etcd-${nodeName}`,
    namespace: 'openshift-etcd',
    labels: { app: 'etcd', 'k8s-app': 'etcd', etcd: 'true' },
    nodeName,
    container: 'etcd',
  });

/** The pod that the controller's job makes. */
export const controllerPod = (nodeName: string): KubeObject =>
  pod({
    name: `${controllerJob}-8fz2k`,
    namespace: controllerNamespace,
    labels: { app: controllerJob, 'job-name': controllerJob },
    nodeName,
    container: controllerJob,
  });

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
