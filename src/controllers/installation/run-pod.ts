import { controllerLabel, isRunning } from '../../cluster/controller.ts';
import { pods } from '../../kube/kinds.ts';
import { silently, untilOf } from '../../engine/wait.ts';
import { listAt } from '../../kube/object.ts';
import { fieldsOf } from '../../lib/fields.ts';
import type { Millis } from '../../model/duration.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { followedOne } from '../../steps/cluster/kube-watch.ts';
import { cleanUpSignal } from './failures.ts';
import type { ControllerScope } from './step.ts';
import { gapIn, isConflict } from '../../ports/kube-failures.ts';

/** The pod of the controller: this one, or the one that has taken its place. */
export async function runningPod({
  kube,
  config: { namespace },
  signal,
}: Pick<ControllerScope<'kube'>, 'kube' | 'config' | 'signal'>): Promise<KubeObject | undefined> {
  const selection = { kind: pods, namespace, labelSelector: controllerLabel };
  return (await kube.list(selection, signal)).find(isRunning);
}

/**
 * An object of the namespace that goes with the job of the controller's pod, should that be deleted
 * while nobody is left to clean up. It is not one of the job's own pods.
 */
export function ownedBy(controller: KubeObject | undefined, object: KubeObject): KubeObject {
  const ownerReferences = listAt(controller, 'metadata', 'ownerReferences')
    .map(fieldsOf)
    .map(({ apiVersion, kind, name, uid }) => ({ apiVersion, kind, name, uid }));
  if (ownerReferences.length === 0) return object;
  const metadata = { ...object.metadata, ownerReferences };
  return { ...object, metadata };
}

/** How a pod ended. */
interface PodEnd {
  readonly isSuccess: boolean;
  /** What its container has written. */
  readonly log: string;
}

/** A pod of the controller that does one thing, and how it is waited for. */
interface PodRun {
  readonly pod: KubeObject;
  /** The container whose log is wanted. */
  readonly container: string;
  readonly within: Millis;
}

/**
 * Runs a pod to its end, and removes it, unless another controller may have taken it over. One of
 * that name that an earlier controller began is waited for instead; one that has ended already is
 * replaced.
 * @throws AgentError `wait.timed-out` with what kept it, `kube.*`
 */
export async function runPod(
  {
    adminKube: admin,
    clock,
    signal,
    note,
  }: Pick<ControllerScope<'adminKube' | 'clock'>, 'adminKube' | 'clock' | 'signal' | 'note'>,
  { pod, container, within }: PodRun,
): Promise<PodEnd> {
  const { name, namespace = '' } = pod.metadata;
  const ref: KubeRef = { kind: pods, namespace, name };
  const followed = followedOne(admin, ref);
  // No pod is there when this fails, and what removes it would fail for another minute.
  const there = await admin.get(ref, signal);
  try {
    if (there !== undefined && phaseOf(there) in ended) await admin.remove(ref, signal);
    await admin.create({ kind: pods, namespace }, pod, signal).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
    const phase = await untilOf(clock, signal, silently)(
      `pod ${name} has ended`,
      () => {
        const view = followed.view();
        const [seen] = view.objects;
        const phaseNow = seen === undefined ? '' : phaseOf(seen);
        if (phaseNow in ended) return Promise.resolve({ done: phaseNow });
        if (seen === undefined && view.isSynced) return Promise.resolve({ done: 'Gone' });
        return Promise.resolve({ status: gapIn(view) ?? statusOf(seen) });
      },
      { watch: followed.watch, within },
    );
    if (phase === 'Gone') return { isSuccess: false, log: 'somebody has removed the pod' };
    const log = await admin.podLog({ namespace, name, container }, undefined, signal);
    return { isSuccess: phase === 'Succeeded', log };
  } finally {
    await admin.remove(ref, cleanUpSignal(signal)).catch((error: unknown) => {
      note('warn', `pod ${name} could not be removed`, { reason: String(error) });
    });
  }
}

const ended: Readonly<Record<string, true>> = { Succeeded: true, Failed: true };

interface PodShape {
  readonly status?: {
    readonly phase?: string;
    readonly message?: string;
    readonly initContainerStatuses?: readonly ContainerShape[];
    readonly containerStatuses?: readonly ContainerShape[];
  };
}

interface ContainerShape {
  readonly name: string;
  readonly state?: { readonly waiting?: { readonly reason?: string } };
}

const phaseOf = (pod: KubeObject): string => (pod as PodShape).status?.phase ?? '';

/** What keeps a pod: the first container that waits for something. */
function statusOf(pod: KubeObject | undefined): string {
  if (pod === undefined) return 'it is not listed yet';
  const { initContainerStatuses = [], containerStatuses = [] } = (pod as PodShape).status ?? {};
  const waiting = [...initContainerStatuses, ...containerStatuses].find(
    ({ state }) => state?.waiting?.reason !== undefined,
  );
  if (waiting === undefined) return `it is ${phaseOf(pod) || 'new'}`;
  return `container ${waiting.name}: ${waiting.state?.waiting?.reason ?? ''}`;
}
