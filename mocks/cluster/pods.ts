import type { KubeObject } from '../../src/ports/kube.ts';

/** Where the controller onStart. */
export const controllerNamespace = 'assisted-installer';

/** The ConfigMap in which a bootstrap host leaves what the controller is to do. */
export const leftRecord = 'bootwright-bootstrap-host';

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

/**
 * A pod that the controller's job makes, of the template of that job; `count` tells it from the
 * others.
 */
export function controllerPod(
  job: KubeObject,
  { node: nodeName, count }: { readonly node: string; readonly count: number },
): KubeObject {
  const { template } = job['spec'] as { readonly template: PodTemplate };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${controllerJob}-8fz2${count}`,
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

/** What a kubelet says of a pod whose containers run, after so many restarts. */
export const runningStatus = (pod: KubeObject, at: Date, restartCount = 0): object => ({
  startTime: at.toISOString(),
  ...statusOf(pod, { phase: 'Running', isReady: true, at, restartCount }, () => ({
    running: { startedAt: at.toISOString() },
    waiting: null,
  })),
});

/** What it says of one whose container crashed, and is started again after a pause. */
export const backOffStatus = (pod: KubeObject, at: Date, restartCount: number): object =>
  statusOf(pod, { phase: 'Running', isReady: false, at, restartCount }, () => ({
    waiting: { reason: 'CrashLoopBackOff' },
  }));

/** How a container has ended: 0, or what a person reads of it. */
interface ContainerEnd {
  readonly exitCode: number;
  /** What it has written to its termination log, or its last words. */
  readonly message: string;
}

/** What it says of one whose container has ended for good: with 0 unless said. */
export const endedStatus = (
  pod: KubeObject,
  at: Date,
  { exitCode, message }: ContainerEnd = { exitCode: 0, message: '' },
): object => {
  const [phase, reason] = exitCode === 0 ? ['Succeeded', 'Completed'] : ['Failed', 'Error'];
  return statusOf(pod, { phase, isReady: false, at }, () => ({
    terminated: { exitCode, reason, message, finishedAt: at.toISOString() },
  }));
};

/** The pod on a master that gives hosts their Ignition. */
export const configServerPod = (nodeName: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    // The real one has a suffix that nobody knows.
    name: `machine-config-server-${nodeName}`,
    namespace: 'openshift-machine-config-operator',
    labels: { 'k8s-app': 'machine-config-server' },
  },
  spec: {
    nodeName,
    automountServiceAccountToken: false,
    containers: [{ name: 'machine-config-server', image: 'registry.example.test/mco:1' }],
  },
});

/**
 * Why a kubelet does not get an image: it tries, and then waits (kubernetes, `pkg/kubelet/images`).
 */
type PullReason = 'ErrImagePull' | 'ImagePullBackOff';

/** What a registry answers that does not know the image, in the words of CRI-O. */
const pullError = (image: string): string =>
  `unable to pull image or OCI artifact: pull image err: initializing source docker://${image}: reading manifest: manifest unknown`;

const pullMessages: Readonly<Record<PullReason, (image: string) => string>> = {
  ErrImagePull: pullError,
  ImagePullBackOff: (image) =>
    `Back-off pulling image "${image}": ErrImagePull: ${pullError(image)}`,
};

/** What a kubelet says of a pod whose images it does not get. */
export const unpulledStatus = (pod: KubeObject, reason: PullReason, at: Date): object => ({
  startTime: at.toISOString(),
  ...statusOf(pod, { phase: 'Pending', isReady: false, at, imageID: '' }, ({ image }) => ({
    waiting: { reason, message: pullMessages[reason](image) },
  })),
});

/** The event of a kubelet that did not get the image of a pod. */
export function unpulledEvent(pod: KubeObject, at: Date): KubeObject {
  const { name, namespace = '' } = pod.metadata;
  const [{ image } = { image: '' }] = containersOf(pod);
  const time = at.toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.18a1b2c3d4e5f607`, namespace },
    involvedObject: { kind: 'Pod', namespace, name },
    source: { component: 'kubelet' },
    reason: 'Failed',
    type: 'Warning',
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    message: `Failed to pull image "${image}": ${pullError(image)}`,
  };
}

interface Container {
  readonly name: string;
  readonly image: string;
}

const containersOf = (pod: KubeObject): readonly Container[] =>
  (pod['spec'] as { readonly containers: readonly Container[] }).containers.map(
    ({ name, image }) => ({ name, image }),
  );

/** How a pod is as a whole. */
interface PodState {
  readonly phase: string | undefined;
  readonly isReady: boolean;
  readonly at: Date;
  readonly restartCount?: number;
  /** What its containers run; their images unless given. */
  readonly imageID?: string;
}

/** A status of a pod of which each container is in the given state. */
const statusOf = (
  pod: KubeObject,
  { phase, isReady, at, restartCount = 0, imageID }: PodState,
  state: (container: Container) => object,
): object => ({
  phase,
  conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => {
    const isTrue = isReady || !type.endsWith('Ready');
    const why = isTrue ? {} : { reason: 'ContainersNotReady' };
    const lastTransitionTime = at.toISOString();
    return { type, status: isTrue ? 'True' : 'False', ...why, lastTransitionTime };
  }),
  containerStatuses: containersOf(pod).map((container) => ({
    ...container,
    imageID: imageID ?? container.image,
    restartCount,
    ready: isReady,
    started: isReady,
    state: state(container),
  })),
});

/** The name of the event with which the controller says that it works. */
export const controllerReady = 'AssistedControllerIsReady';
