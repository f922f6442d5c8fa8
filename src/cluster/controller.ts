import { conditionOf, countAt, listAt, textAt } from '../kube/object.ts';
import type { Proxies } from '../lib/proxies.ts';
import { type Millis, minutes, wholeSeconds } from '../model/duration.ts';
import type { KubeObject, KubeRef } from '../ports/kube.ts';

/** The namespace of the controller and its events. */
export const controllerNamespace = 'assisted-installer';

/** Name of the controller's job, its pods' label, its service account and its role. */
export const controllerName = 'assisted-installer-controller';

/**
 * Name of the event that the controller creates when it is ready, for which a bootstrap host waits.
 */
export const readyEvent = 'AssistedControllerIsReady';

/** Name of the ConfigMap that the bootstrap host leaves in the cluster. */
export const leftName = 'bootwright-bootstrap-host';

/**
 * Name of the pod that gathers the state of the cluster, and of its account, binding and Secret.
 */
export const gatheringPodName = 'assisted-installer-must-gather';

/** Label of the pods of the controller's job. */
export const controllerLabel = `job-name=${controllerName}`;

/**
 * The Secret with the token of the inventory service: its key, and the folder where the job mounts
 * it as `token`.
 */
export const controllerToken = {
  secretName: 'assisted-installer-controller-secret',
  key: 'pull-secret-token',
  folder: '/etc/assisted-installer-controller',
} as const;

/** A copy of the controller's log, used when the log of its pod cannot be read. */
export const controllerLogFile = '/tmp/controller_logs.log';

/** An event of the controller about itself (core/v1). */
export function controllerEvent({
  namespace,
  name,
  at,
  ...said
}: {
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
  readonly message: string;
  readonly type: 'Normal' | 'Warning';
  readonly count: number;
  readonly at: number;
}): KubeObject {
  const time = wholeSeconds(at);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace },
    involvedObject: { namespace, name: controllerName },
    ...said,
    firstTimestamp: time,
    lastTimestamp: time,
  };
}

/** Whether the controller has reported that it is ready. */
export const isControllerReady = (events: readonly KubeObject[]): boolean =>
  events.some(({ metadata: { name } }) => name === readyEvent);

/**
 * A controller ends if it is not ready within 70 minutes: assisted-installer-controller and ours
 * alike. The rest is for the start.
 */
const readyWithin: Millis = minutes(75);

/**
 * Whether the controller has run for so long that it must have been ready: the API server removes
 * its event after three hours.
 */
export const hasControllerRun = (pods: readonly KubeObject[], now: number): boolean =>
  pods
    .flatMap(containersOf)
    .some((one) => now - Date.parse(textAt(one, 'state', 'running', 'startedAt')) >= readyWithin);

/** The first pod of the controller, if it is running. */
export function runningController(pods: readonly KubeObject[]): KubeObject | undefined {
  const pod = pods.find(({ metadata: { name } }) => name.startsWith(controllerName));
  return pod !== undefined && isRunning(pod) ? pod : undefined;
}

/** Whether a pod is running. */
export const isRunning = (pod: KubeObject): boolean => textAt(pod, 'status', 'phase') === 'Running';

const containersOf = (pod: KubeObject): readonly KubeObject[] =>
  listAt(pod, 'status', 'containerStatuses') as readonly KubeObject[];

/**
 * The reason why the pods of the controller do not run; undefined when none is known. The text
 * stays the same while a kubelet retries: ErrImagePull and ImagePullBackOff alternate, and so do a
 * crash and the next start.
 */
export const controllerObstacle = (pods: readonly KubeObject[]): string | undefined =>
  pods.map(obstacleOf).find((obstacle) => obstacle !== undefined);

function obstacleOf(pod: KubeObject): string | undefined {
  // The job creates another pod.
  if (['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase'))) return undefined;
  if (conditionOf(pod, 'PodScheduled').status === 'False')
    return 'no node takes the pod of the controller';
  return containersOf(pod)
    .map(containerObstacle)
    .find((obstacle) => obstacle !== undefined);
}

/** Waiting reasons of a container that is about to start. */
const starting: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing']);

/**
 * Waiting reasons of a container whose image the kubelet cannot pull (kubernetes,
 * `pkg/kubelet/images/types.go`).
 */
const withoutImage = /image|registry|signature/i;

function containerObstacle(container: KubeObject): string | undefined {
  const reason = textAt(container, 'state', 'waiting', 'reason');
  if (withoutImage.test(reason))
    return `the image of the controller cannot be pulled: ${textAt(container, 'image')}`;
  if (countAt(container, 'restartCount') > 0)
    return 'the controller ended with an error and was started again';
  return starting.has(reason) ? undefined : `the controller cannot be started (${reason})`;
}

/** The fields of an event that go into a log. */
export function eventFields(event: KubeObject): Readonly<Record<string, string>> {
  const { type, reason, message } = event;
  return Object.fromEntries(
    Object.entries({ type, reason, message }).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
    ),
  );
}

/** The cluster-wide Proxy object (config.openshift.io/v1). */
export const clusterProxyRef: KubeRef = {
  kind: { group: 'config.openshift.io', version: 'v1', plural: 'proxies' },
  name: 'cluster',
};

/**
 * The proxies of the cluster; a proxy that is set replaces the one of the environment. They come
 * from the status of the object, which has all exceptions of noProxy
 * (assisted-installer-controller, `SetProxyEnvVars`).
 */
export const clusterProxies = (proxy: KubeObject | undefined, environment: Proxies): Proxies => ({
  http: textAt(proxy, 'status', 'httpProxy') || environment.http,
  https: textAt(proxy, 'status', 'httpsProxy') || environment.https,
  no: textAt(proxy, 'status', 'noProxy') || environment.no,
});
