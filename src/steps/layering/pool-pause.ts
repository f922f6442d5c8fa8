import { annotationOf, partOf } from '../../layering/cluster-object.ts';
import type { KubeRef } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';

/** Says on a pool that we have paused it, so that nobody else's pause is ended. */
const pausedByUs = 'bootwright.io/paused-to-switch';

/** Whether a pause of ours holds a pool. */
export const isPausedByUs = async (
  { kube, signal }: StepScope<'kube'>,
  pool: KubeRef,
): Promise<boolean> => annotationOf(await kube.get(pool, signal), pausedByUs) !== '';

/**
 * Keeps the Machine Config Operator from changing the nodes of a pool. One that somebody has paused before stays as it is.
 * @throws AgentError `kube.*`
 */
export async function pausePool(
  { kube, signal, note }: StepScope<'kube'>,
  pool: KubeRef,
): Promise<void> {
  const found = await kube.get(pool, signal);
  if (partOf(found, 'spec', 'paused') === true) return;
  const body = { metadata: { annotations: { [pausedByUs]: 'true' } }, spec: { paused: true } };
  await kube.patch(pool, { type: 'merge', body }, signal);
  note('info', `pool ${pool.name} is paused until its nodes are switched`);
}

/**
 * Ends a pause of ours; nothing is done where there is none.
 * @throws AgentError `kube.*`
 */
export async function endPause(
  { kube, signal, note }: StepScope<'kube'>,
  pool: KubeRef,
): Promise<void> {
  const found = await kube.get(pool, signal);
  if (annotationOf(found, pausedByUs) === '') return;
  const body = { metadata: { annotations: { [pausedByUs]: null } }, spec: { paused: false } };
  await kube.patch(pool, { type: 'merge', body }, signal);
  note('info', `pool ${pool.name} goes on`);
}
