import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, countAt, ownersOf, partOf, textAt } from '../../kube/object.ts';
import { isSelectedBy } from '../../kube/selector.ts';
import { nodeKeys } from '../api/node-keys.ts';

/** The unanswered request of a node, `drain-CONFIG` or `uncordon-CONFIG`; empty without one. */
export const requestOf = (node: KubeObject): string => {
  const request = annotationOf(node, nodeKeys.desiredDrain);
  return request === annotationOf(node, nodeKeys.lastAppliedDrain) ? '' : request;
};

/** Whether a node waits for its drain. */
export const isDraining = (node: KubeObject): boolean => requestOf(node).startsWith('drain-');

/** The pods of a node that a drain must evict, and whose eviction a budget forbids now, with it. */
export function drainBlockers(
  node: string,
  { pods, budgets }: Readonly<Record<'pods' | 'budgets', readonly KubeObject[]>>,
): readonly Readonly<Record<'pod' | 'budget', string>>[] {
  return pods
    .filter((pod) => textAt(pod, 'spec', 'nodeName') === node && mustLeave(pod))
    .flatMap((pod) => {
      const budget = budgets.find((one) => forbids(one, pod));
      return budget === undefined ? [] : [{ pod: placeOf(pod), budget: placeOf(budget) }];
    });
}

/** A pod or a budget in messages: NAMESPACE/NAME. */
export const placeOf = ({ metadata: { name, namespace = '' } }: KubeObject): string =>
  `${namespace}/${name}`;

/**
 * The pods that a drain removes (kubectl, `drain/filters.go`, with `--force --delete-emptydir-data
 * --ignore-daemonsets`).
 */
export const mustLeave = (pod: KubeObject): boolean =>
  !['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase')) &&
  pod.metadata.annotations?.['kubernetes.io/config.mirror'] === undefined &&
  !ownersOf(pod).some(({ kind, controller }) => kind === 'DaemonSet' && controller === true);

const forbids = (budget: KubeObject, pod: KubeObject): boolean =>
  budget.metadata.namespace === pod.metadata.namespace &&
  countAt(budget, 'status', 'disruptionsAllowed') === 0 &&
  isSelectedBy(partOf(budget, 'spec', 'selector'), pod.metadata.labels ?? {});
