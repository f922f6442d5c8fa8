import { controllerLabel, isRunning } from '../../cluster/controller.ts';
import { pods } from '../../cluster/kinds.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { ControllerScope } from './world.ts';

/** The pod of the controller: this one, or the one that has taken its place. */
export async function runningPod({
  kube,
  config: { namespace },
  signal,
}: ControllerScope<'kube'>): Promise<KubeObject | undefined> {
  const selection = { kind: pods, namespace, labelSelector: controllerLabel };
  return (await kube.list(selection, signal)).find(isRunning);
}
