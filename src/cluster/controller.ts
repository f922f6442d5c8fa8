import type { KubeObject } from '../ports/kube.ts';

/** Where the controller and its events live. */
export const controllerNamespace = 'assisted-installer';

/** Name of the event with which the controller says that it works. */
const readyEvent = 'AssistedControllerIsReady';

/** Label of the pods of the controller's job. */
export const controllerLabel = 'job-name=assisted-installer-controller';

/** Whether the controller has said that it works. */
export const isControllerReady = (events: readonly KubeObject[]): boolean =>
  events.some(({ metadata: { name } }) => name === readyEvent);

/** The first pod of the controller that runs; undefined when its first pod does not. */
export function runningController(pods: readonly KubeObject[]): KubeObject | undefined {
  const pod = pods.find(({ metadata: { name } }) =>
    name.startsWith('assisted-installer-controller'),
  );
  const { status } = (pod ?? {}) as { readonly status?: { readonly phase?: string } };
  return status?.phase === 'Running' ? pod : undefined;
}

/** What an event says, for a log. */
export function eventWords(event: KubeObject): Readonly<Record<string, string>> {
  const { type, reason, message } = event;
  return Object.fromEntries(
    Object.entries({ type, reason, message }).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
    ),
  );
}
