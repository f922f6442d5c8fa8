import { AgentError } from '../../model/failure.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { isContained } from '../after-pivot/put-manifest.ts';
import type { StepScope } from '../step.ts';
import { handOverFailure } from './hand-over-failures.ts';

/**
 * The object as it is in the cluster: made now, or there before, perhaps by somebody else a moment ago.
 * @throws AgentError `kube.*`
 */
export async function createUnlessThere(
  { kube, signal }: StepScope<'kube'>,
  ref: KubeRef,
  object: KubeObject,
): Promise<KubeObject> {
  const there = await kube.get(ref, signal);
  if (there !== undefined) return there;
  try {
    return await kube.create(ref, object, signal);
  } catch (error) {
    const isThere = error instanceof AgentError && error.code === 'kube.conflict';
    const made = isThere ? await kube.get(ref, signal) : undefined;
    if (made === undefined) throw error;
    return made;
  }
}

/**
 * Writes a status unless it is there, and reads it back: the API server takes a status that it drops without a word.
 * @throws AgentError `layering.not-kept`, `kube.*`
 */
export async function keepStatus(
  scope: StepScope<'kube'>,
  ref: KubeRef,
  { found, status }: { readonly found: KubeObject; readonly status: object },
): Promise<void> {
  if (isContained(status, found['status'])) return;
  const { kube, signal } = scope;
  await kube.patch(ref, { type: 'merge', subresource: 'status', body: { status } }, signal);
  await requireKept(scope, ref, { status });
}

/**
 * Reads an object back and holds it against what was written.
 * @throws AgentError `layering.not-kept`
 */
export async function requireKept(
  { kube, signal }: StepScope<'kube'>,
  ref: KubeRef,
  wanted: object,
): Promise<KubeObject> {
  const left = await kube.get(ref, signal);
  if (left !== undefined && isContained(wanted, left)) return left;
  const object = `${ref.kind.plural}/${ref.name}`;
  throw handOverFailure(
    'layering.not-kept',
    `${object} is ${left === undefined ? 'not there any more' : 'not as it was written'}`,
    { context: { object } },
  );
}
