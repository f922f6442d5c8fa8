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
