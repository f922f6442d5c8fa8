import { controllerLabel, isRunning } from '../../cluster/controller.ts';
import { pods } from '../../cluster/kinds.ts';
import { listAt } from '../../layering/api/cluster-object.ts';
import { fieldsOf, type Value } from '../../layering/api/schema.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { ControllerScope } from './step.ts';

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
 * An object of the namespace that goes with the job of the controller's pod, should that be deleted while nobody is left to clean
 * up. It is not one of the job's own pods.
 */
export function ownedBy(controller: KubeObject | undefined, object: KubeObject): KubeObject {
  const ownerReferences = listAt(controller, 'metadata', 'ownerReferences')
    .map((owner) => fieldsOf(owner as Value))
    .map(({ apiVersion, kind, name, uid }) => ({ apiVersion, kind, name, uid }));
  if (ownerReferences.length === 0) return object;
  return { ...object, metadata: { ...object.metadata, ...{ ownerReferences } } };
}
