import type { KubeObject } from '../../src/ports/kube.ts';
import { objectIn } from './object-files.ts';

/** Namespace of the controller. */
export const controllerNamespace = 'assisted-installer';

/** The ConfigMap of a bootstrap host with the work that remains for the controller. */
export const leftRecord = 'bootwright-bootstrap-host';

/** The name of the controller's job. */
export const controllerJob = 'assisted-installer-controller';

/** A pod of the controller's job, from the template of that job; `count` makes its name unique. */
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

/** A kubelet's status of a pod whose containers run, after a number of restarts. */
export const runningStatus = (pod: KubeObject, at: Date, restartCount = 0): object => ({
  startTime: at.toISOString(),
  ...statusOf(pod, { phase: 'Running', isReady: true, at, restartCount }, () => ({
    running: { startedAt: at.toISOString() },
    waiting: null,
  })),
});

/** A kubelet's status of a pod whose container crashed, and restarts after a pause. */
export const backOffStatus = (pod: KubeObject, at: Date, restartCount: number): object =>
  statusOf(pod, { phase: 'Running', isReady: false, at, restartCount }, () => ({
    waiting: { reason: 'CrashLoopBackOff' },
  }));

/** The end of a container: its exit code, 0 by default, and a message for people. */
interface ContainerEnd {
  readonly exitCode: number;
  /** Its termination log, or its last lines of output. */
  readonly message: string;
}

/** A kubelet's status of a pod whose container has ended for good; exit code 0 by default. */
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

/**
 * Reasons of a kubelet that cannot pull an image: it tries, and then waits (kubernetes,
 * `pkg/kubelet/images`).
 */
type PullReason = 'ErrImagePull' | 'ImagePullBackOff';

/** A registry's error for an unknown image, in the words of CRI-O. */
const pullError = (image: string): string =>
  `unable to pull image or OCI artifact: pull image err: initializing source docker://${image}: reading manifest: manifest unknown`;

const pullMessages: Readonly<Record<PullReason, (image: string) => string>> = {
  ErrImagePull: pullError,
  ImagePullBackOff: (image) =>
    `Back-off pulling image "${image}": ErrImagePull: ${pullError(image)}`,
};

/** A kubelet's status of a pod whose images cannot be pulled. */
export const unpulledStatus = (pod: KubeObject, reason: PullReason, at: Date): object => ({
  startTime: at.toISOString(),
  ...statusOf(pod, { phase: 'Pending', isReady: false, at, imageID: '' }, ({ image }) => ({
    waiting: { reason, message: pullMessages[reason](image) },
  })),
});

/** A kubelet's event for a pod whose image cannot be pulled. */
export function unpulledEvent(pod: KubeObject, at: Date): KubeObject {
  const { name, namespace = '' } = pod.metadata;
  const [{ image } = { image: '' }] = containersOf(pod);
  return objectIn('unpulled-event', {
    pod: name,
    namespace,
    time: at.toISOString().replace(/\.\d+Z$/, 'Z'),
    message: JSON.stringify(`Failed to pull image "${image}": ${pullError(image)}`),
  });
}

interface Container {
  readonly name: string;
  readonly image: string;
}

const containersOf = (pod: KubeObject): readonly Container[] =>
  (pod['spec'] as { readonly containers: readonly Container[] }).containers.map(
    ({ name, image }) => ({ name, image }),
  );

/** State of a pod as a whole. */
interface PodState {
  readonly phase: string | undefined;
  readonly isReady: boolean;
  readonly at: Date;
  readonly restartCount?: number;
  /** Image IDs of its containers; their images by default. */
  readonly imageID?: string;
}

/** A status of a pod with the same state for each container. */
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

/** The name of the event with which the controller reports that it is ready. */
export const controllerReady = 'AssistedControllerIsReady';
