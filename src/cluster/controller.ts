import type { KubeObject } from '../ports/kube.ts';

/** The namespace of the controller and its events. */
export const controllerNamespace = 'assisted-installer';

/** Name of the event that the controller creates when it is ready. */
const readyEvent = 'AssistedControllerIsReady';

/** Label of the pods of the controller's job. */
export const controllerLabel = 'job-name=assisted-installer-controller';

/** Whether the controller has reported that it is ready. */
export const isControllerReady = (events: readonly KubeObject[]): boolean =>
  events.some(({ metadata: { name } }) => name === readyEvent);

/** The first pod of the controller, if it is running. */
export function runningController(pods: readonly KubeObject[]): KubeObject | undefined {
  const pod = pods.find(({ metadata: { name } }) =>
    name.startsWith('assisted-installer-controller'),
  );
  const { status } = (pod ?? {}) as { readonly status?: { readonly phase?: string } };
  return status?.phase === 'Running' ? pod : undefined;
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
