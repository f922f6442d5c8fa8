import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, countAt, listAt, nodeKeys, partOf, textAt } from '../api/cluster-object.ts';
import { fieldsOf, type Value } from '../api/schema.ts';
import { isSelectedBy } from '../hand-over/pool-status.ts';

/** A pod that keeps a node from being drained, with the budget that forbids its eviction. */
export interface DrainBlocker {
  /** NAMESPACE/NAME */
  readonly pod: string;
  readonly budget: string;
}

/** Whether a node waits to be drained. */
export const isDraining = (node: KubeObject): boolean => {
  const wanted = annotationOf(node, nodeKeys.desiredDrain);
  return wanted.startsWith('drain-') && wanted !== annotationOf(node, nodeKeys.lastAppliedDrain);
};

/**
 * The pods of a node that no budget lets go now. A drain leaves pods of daemon sets, those of files of the
 * node, and those that have ended (kubectl, `drain.RunNodeDrain`).
 */
export function drainBlockers(
  node: string,
  {
    pods,
    budgets,
  }: { readonly pods: readonly KubeObject[]; readonly budgets: readonly KubeObject[] },
): readonly DrainBlocker[] {
  return pods
    .filter((pod) => textAt(pod, 'spec', 'nodeName') === node && isEvicted(pod))
    .flatMap((pod) => {
      const budget = budgets.find((one) => forbids(one, pod));
      return budget === undefined ? [] : [{ pod: placeOf(pod), budget: placeOf(budget) }];
    });
}

const placeOf = ({ metadata: { name, namespace = '' } }: KubeObject): string =>
  `${namespace}/${name}`;

const isEvicted = (pod: KubeObject): boolean =>
  !['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase')) &&
  annotationOf(pod, 'kubernetes.io/config.mirror') === '' &&
  !listAt(pod, 'metadata', 'ownerReferences').some(
    (owner) => fieldsOf(owner as Value)['kind'] === 'DaemonSet',
  );

const forbids = (budget: KubeObject, pod: KubeObject): boolean =>
  budget.metadata.namespace === pod.metadata.namespace &&
  countAt(budget, 'status', 'disruptionsAllowed') === 0 &&
  isSelectedBy(partOf(budget, 'spec', 'selector'), pod.metadata.labels ?? {});
