import type { Kube, KubeObject, KubePatch, KubeRef } from '../ports/kube.ts';
import { type Fields, fieldsOf, isFields, textOf } from '../lib/fields.ts';

/** The value at a path of an API object; undefined if absent. */
export function partOf(object: KubeObject | undefined, ...path: readonly string[]): unknown {
  let part: unknown = object;
  for (const name of path) {
    if (!isFields(part)) return undefined;
    part = part[name];
  }
  return part;
}

/** A text of an object; empty if absent. */
export function textAt(object: KubeObject | undefined, ...path: readonly string[]): string {
  return textOf(partOf(object, ...path));
}

/** A number of an object; 0 if absent, as Go omits zeroes. */
export function countAt(object: KubeObject | undefined, ...path: readonly string[]): number {
  const part = partOf(object, ...path);
  return typeof part === 'number' ? part : 0;
}

/** A list of an object; empty if absent. */
export function listAt(
  object: KubeObject | undefined,
  ...path: readonly string[]
): readonly unknown[] {
  const part = partOf(object, ...path);
  return Array.isArray(part) ? part : [];
}

/** The owners of an object. */
export const ownersOf = (object: KubeObject): readonly Fields[] =>
  listAt(object, 'metadata', 'ownerReferences').map(fieldsOf);

/** An annotation; empty if absent. */
export const annotationOf = (object: KubeObject | undefined, key: string): string =>
  object?.metadata.annotations?.[key] ?? '';

/**
 * The condition of a type: its status `True`, `False` or `Unknown`, and the time of the last change
 * of its status, RFC 3339. All texts are empty if it is missing.
 */
export function conditionOf(object: KubeObject | undefined, type: string) {
  const conditions = listAt(object, 'status', 'conditions');
  const condition = fieldsOf(conditions.find((one) => isFields(one) && one['type'] === type));
  const text = (name: string): string => textOf(condition[name]);
  return {
    status: text('status'),
    reason: text('reason'),
    message: text('message'),
    since: text('lastTransitionTime'),
  };
}

/** The statuses of all containers of a pod, those of its init containers first. */
export const containerStatuses = (pod: KubeObject): readonly KubeObject[] =>
  ['initContainerStatuses', 'containerStatuses'].flatMap(
    (list) => listAt(pod, 'status', list) as readonly KubeObject[],
  );

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
