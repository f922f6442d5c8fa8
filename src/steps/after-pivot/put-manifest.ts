import { AgentError } from '../../model/failure.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { afterPivotFailure } from './failures.ts';
import type { Manifest } from './manifests.ts';

/**
 * What is done about an object that is there already: it is changed to be as it is sent, it must be
 * so already, or it may be as it likes.
 */
export type WhenThere = 'patch' | 'compare' | 'keep';

/**
 * Puts an object into the cluster, whether it is there or not, and reads it back.
 * @throws AgentError `after-pivot.not-left` when it is not as it was sent; `kube.*`
 */
export async function putManifest(
  kube: Kube,
  { ref, object }: Manifest,
  { whenThere, signal }: { readonly whenThere: WhenThere; readonly signal: AbortSignal },
): Promise<KubeObject> {
  try {
    await kube.create(ref, object, signal);
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'kube.conflict') throw error;
    const there = await kube.get(ref, signal);
    if (whenThere === 'keep' && there !== undefined) return there;
    if (whenThere === 'patch' && there !== undefined && !isContained(object, there)) {
      await kube.patch(ref, { type: 'merge', body: object }, signal);
    }
  }
  return readBack(kube, { ref, object }, signal);
}

async function readBack(
  kube: Kube,
  { ref, object }: Manifest,
  signal: AbortSignal,
): Promise<KubeObject> {
  const left = await kube.get(ref, signal);
  if (left !== undefined && isContained(object, left)) return left;
  const what = `${object.kind ?? ref.kind.plural} ${ref.name}`;
  throw afterPivotFailure(
    'after-pivot.not-left',
    left === undefined ? `${what} is not there` : `${what} is not as it was sent`,
    { context: { object: what, namespace: ref.namespace ?? '' } },
  );
}

/** Whether an object holds all that was wanted; the API server adds what it has defaults for. */
export function isContained(wanted: unknown, found: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((value, index) => isContained(value, found[index]))
    );
  }
  if (typeof wanted !== 'object' || wanted === null) return wanted === found;
  if (typeof found !== 'object' || found === null) return false;
  const members = found as Readonly<Record<string, unknown>>;
  return Object.entries(wanted).every(([name, value]) => isContained(value, members[name]));
}
