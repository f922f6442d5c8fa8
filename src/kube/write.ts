import { events } from './kinds.ts';
import type { Note } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import type { Clock } from '../ports/clock.ts';
import type { Kube, KubeObject, KubePatch, KubeRef } from '../ports/kube.ts';

/**
 * A merge patch that the API server refuses if the object has changed since it was read, or was
 * replaced by another of its name.
 */
export const patchOf = (
  { metadata: { uid, resourceVersion } }: KubeObject,
  { metadata, ...body }: { readonly metadata?: object; readonly [member: string]: unknown },
  subresource?: string,
): KubePatch => ({
  type: 'merge',
  subresource,
  body: { metadata: { ...metadata, uid, resourceVersion }, ...body },
});

/** An event about a cluster-scoped object, shown by `kubectl describe`. */
export interface ObjectEvent {
  readonly involved: { readonly apiVersion: string; readonly kind: string; readonly name: string };
  /** The program that reports it. */
  readonly component: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Namespace of events about cluster-scoped objects (client-go, `record.makeEvent`). */
export const eventNamespace = 'default';

/**
 * Creates an event. Events are for people: a failure is logged, and no caller waits for it.
 * @throws the signal's reason
 */
export async function recordEvent(
  {
    kube,
    clock,
    note,
  }: { readonly kube: Pick<Kube, 'create'>; readonly clock: Clock; readonly note: Note },
  { involved, component, type, reason, message }: ObjectEvent,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now();
  const at = new Date(now).toISOString();
  // client-go names events by their time, so that each is a separate event.
  const time = (BigInt(Math.round(now)) * 1_000_000n).toString(16);
  const name = `${involved.name}.${time}.${reason.toLowerCase()}`;
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace },
    involvedObject: involved,
    type,
    reason,
    message,
    count: 1,
    firstTimestamp: at,
    lastTimestamp: at,
    source: { component },
  };
  try {
    await kube.create({ kind: events, namespace: eventNamespace }, event, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message: why } = asAgentError(error);
    note('info', `an event of ${involved.kind} ${involved.name} could not be made`, {
      code,
      reason: why,
    });
  }
}

/** Reads an object again; undefined where it is deleted, or was replaced by another of its name. */
export async function readAgain(
  kube: Pick<Kube, 'get'>,
  ref: KubeRef,
  seen: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const now = await kube.get(ref, signal);
  return now?.metadata.uid === seen.metadata.uid ? now : undefined;
}
