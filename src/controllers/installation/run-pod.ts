import { controllerLabel, isRunning } from '../../cluster/controller.ts';
import { silently, untilOf } from '../../engine/wait.ts';
import { pods } from '../../kube/kinds.ts';
import { listAt, ownersOf, textAt } from '../../kube/object.ts';
import type { Millis } from '../../model/duration.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { gapIn, isConflict } from '../../ports/kube-failures.ts';
import { followedOne } from '../../steps/cluster/kube-watch.ts';
import { cleanUpSignal } from './failures.ts';
import type { InstallationScope, StepScope } from './scope.ts';

/** The pod of the controller: this one, or its successor. */
export async function runningPod(
  { kube, config: { namespace } }: Pick<InstallationScope, 'kube' | 'config'>,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const selection = { kind: pods, namespace, labelSelector: controllerLabel };
  return (await kube.list(selection, signal)).find(isRunning);
}

/**
 * Makes the job of the controller's pod the owner of an object in the namespace, so that it is
 * deleted with the job if no program cleans up. The object is not one of the job's own pods.
 */
export function ownedBy(controller: KubeObject | undefined, object: KubeObject): KubeObject {
  const ownerReferences = (controller === undefined ? [] : ownersOf(controller)).map(
    ({ apiVersion, kind, name, uid }) => ({ apiVersion, kind, name, uid }),
  );
  if (ownerReferences.length === 0) return object;
  const metadata = { ...object.metadata, ownerReferences };
  return { ...object, metadata };
}

const phaseOf = (pod: KubeObject | undefined): string => textAt(pod, 'status', 'phase');

const hasEnded = (pod: KubeObject): boolean => ['Succeeded', 'Failed'].includes(phaseOf(pod));

/**
 * Runs a pod to its end, and deletes it, unless another controller may have taken it over. A
 * running pod of that name from an earlier controller is awaited instead; an ended one is replaced.
 * @param container the container whose log is returned
 * @throws AgentError `wait.timed-out` with the obstacle, `kube.*`
 */
export async function runPod(
  {
    adminKube: admin,
    clock,
    signal,
    note,
  }: Pick<StepScope, 'adminKube' | 'clock' | 'signal' | 'note'>,
  pod: KubeObject,
  container: string,
  within: Millis,
): Promise<{ readonly isSuccess: boolean; readonly log: string }> {
  const { name, namespace = '' } = pod.metadata;
  const ref: KubeRef = { kind: pods, namespace, name };
  const followed = followedOne(admin, ref);
  // If this fails no pod exists, and a deletion would only fail for another minute.
  const there = await admin.get(ref, signal);
  try {
    if (there !== undefined && hasEnded(there)) await admin.remove(ref, signal);
    await admin.create({ kind: pods, namespace }, pod, signal).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
    const ended = await untilOf(clock, signal, silently)(
      `pod ${name} has ended`,
      () => {
        const view = followed.view();
        const [seen] = view.objects;
        if (view.isSynced && seen === undefined) return { done: undefined };
        if (seen !== undefined && hasEnded(seen)) return { done: seen };
        return { status: gapIn(view) ?? podStatus(seen) };
      },
      { watch: followed.watch, within },
    );
    if (ended === undefined) return { isSuccess: false, log: 'somebody has removed the pod' };
    const log = await admin.podLog({ namespace, name, container }, undefined, signal);
    return { isSuccess: phaseOf(ended) === 'Succeeded', log };
  } finally {
    await admin.remove(ref, cleanUpSignal(signal)).catch((error: unknown) => {
      note('warn', `pod ${name} could not be removed`, { reason: String(error) });
    });
  }
}

/** The obstacle of a pod: the first container that waits. */
function podStatus(pod: KubeObject | undefined): string {
  if (pod === undefined) return 'it is not listed yet';
  for (const list of ['initContainerStatuses', 'containerStatuses'])
    for (const container of listAt(pod, 'status', list) as readonly KubeObject[]) {
      const reason = textAt(container, 'state', 'waiting', 'reason');
      if (reason !== '') return `container ${textAt(container, 'name')}: ${reason}`;
    }
  return `it is ${phaseOf(pod) || 'new'}`;
}
