// Fields of a pod of deploy/layering, or of a workload, for the scheduler and the kubelets.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { conditionIn, hasRole, partAt, textIn } from '../../layering/objects.ts';
import { isReady } from '../layering/controllers.ts';
import { kinds } from '../objects.ts';
import { type ClusterWork, reportPod } from '../site.ts';

/** The image of the manifests, which stands for our own. */
const ownImage = 'bootwright';

const listIn = (object: unknown, ...path: readonly string[]): readonly unknown[] =>
  [partAt(object, ...path) ?? []].flat();

/** The only container of a pod. */
export const containerOf = (pod: KubeObject): unknown => partAt(pod, 'spec', 'containers', '0');

/** Whether a pod runs our own program. */
export const isOurs = (pod: KubeObject): boolean => textIn(containerOf(pod), 'image') === ownImage;

/** The app label of a pod. */
export const appOf = ({ metadata: { labels } }: KubeObject): string => labels?.['app'] ?? '';

/** Whether a pod has ended for good. */
export const isOver = (pod: KubeObject): boolean =>
  ['Succeeded', 'Failed'].includes(textIn(pod, 'status', 'phase'));

const masterTaint = 'node-role.kubernetes.io/master';
const ownNode = [
  'nodeAffinity',
  'requiredDuringSchedulingIgnoredDuringExecution',
  'nodeSelectorTerms',
  '0',
  'matchFields',
  '0',
  'values',
  '0',
];

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/**
 * The taints of a node that its kubelet, the node controllers and the installation set; the lab has
 * none of these.
 */
function taintsOf(node: KubeObject): readonly Taint[] {
  const given = (listIn(node, 'spec', 'taints') as readonly Taint[]).filter(
    ({ effect }) => effect !== 'PreferNoSchedule',
  );
  const added: readonly (readonly [key: string, isSo: boolean])[] = [
    ['node.kubernetes.io/unschedulable', partAt(node, 'spec', 'unschedulable') === true],
    ['node.kubernetes.io/not-ready', !isReady(node)],
    [masterTaint, hasRole(node, 'master') && !hasRole(node, 'worker')],
  ];
  const effect = 'NoSchedule';
  return [...given, ...added.flatMap(([key, isSo]) => (isSo ? [{ key, effect }] : []))];
}

/** Kubernetes, `staging/src/k8s.io/api/core/v1/toleration.go`, `ToleratesTaint`. */
const isTolerated = (pod: KubeObject, { key, value = '', effect }: Taint): boolean =>
  listIn(pod, 'spec', 'tolerations').some((one) => {
    const [own, ofEffect] = [textIn(one, 'key'), textIn(one, 'effect')];
    if (ofEffect !== '' && ofEffect !== effect) return false;
    if (textIn(one, 'operator') === 'Exists') return own === '' || own === key;
    return own === key && textIn(one, 'value') === value;
  });

interface Choice {
  readonly pods: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
}

/**
 * The node of a pod: of the nodes that its spec and their taints allow, the one with the fewest
 * pods of its app, workers first.
 */
function chooseNode(pod: KubeObject, { pods, nodes }: Choice): string | undefined {
  const made = textIn(pod, 'spec', 'affinity', ...ownNode);
  const selector = Object.entries(partAt(pod, 'spec', 'nodeSelector') ?? {});
  const same = pods.filter((one) => appOf(one) === appOf(pod) && !isOver(one));
  const others = (name: string): number =>
    same.filter((one) => textIn(one, 'spec', 'nodeName') === name).length;
  const order = (node: KubeObject): number =>
    others(node.metadata.name) + (hasRole(node, 'master') ? 0.5 : 0);
  const [first] = nodes
    .filter(({ metadata: { name } }) => made === '' || made === name)
    .filter(({ metadata: { labels = {} } }) => selector.every(([key, one]) => labels[key] === one))
    .filter((node) => taintsOf(node).every((taint) => isTolerated(pod, taint)))
    .toSorted((one, other) => order(one) - order(other));
  return first?.metadata.name;
}

/** The scheduler's status of a pod without a suitable node. */
const unscheduledStatus = {
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
} as const;

/** Selects a node for each pod without one, where possible. */
export async function schedule(
  work: ClusterWork,
  waiting: readonly KubeObject[],
  among: Choice,
): Promise<void> {
  const pods = [...among.pods];
  for (const pod of waiting) {
    const nodeName = chooseNode(pod, { ...among, pods });
    const { name, namespace = '' } = pod.metadata;
    if (nodeName === undefined) {
      const isSaid = conditionIn(pod, 'PodScheduled') === 'False';
      if (!isSaid) await reportPod(work, pod, unscheduledStatus);
      continue;
    }
    const binding = { ...kinds.Pod, plural: `pods/${name}/binding` };
    await work.kube.client.create(binding, {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace },
      target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
    });
    pods.push({ ...pod, spec: { nodeName } });
  }
}
