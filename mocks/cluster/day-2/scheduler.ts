// Fields of a pod of deploy/layering, or of a workload, for the scheduler and the kubelets.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { conditionIn, hasRole, partAt, textIn } from '../../layering/objects.ts';
import { isReady } from '../layering/controllers.ts';
import { kinds } from '../objects.ts';
import { type ClusterWork, reportPod } from '../site.ts';

/** The image of the manifests, which stands for our own. */
const ownImage = 'bootwright';

/** The only container of a pod. */
export const containerOf = (pod: KubeObject): unknown => partAt(pod, 'spec', 'containers', '0');

/** Whether a pod runs our own program. */
export const isOurs = (pod: KubeObject): boolean => textIn(containerOf(pod), 'image') === ownImage;

/** The app label of a pod. */
const appOf = ({ metadata: { labels } }: KubeObject): string => labels?.['app'] ?? '';

/** Whether a pod has ended for good. */
export const isOver = (pod: KubeObject): boolean =>
  ['Succeeded', 'Failed'].includes(textIn(pod, 'status', 'phase'));

/** The node that the controller of a DaemonSet has written into the affinity of its pod. */
const nodeOfDaemonSet = (pod: KubeObject): string =>
  textIn(
    pod,
    ...['spec', 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution'],
    ...['nodeSelectorTerms', '0', 'matchFields', '0', 'values', '0'],
  );

/** Whether a Ready node takes a pod of a Deployment: a cordon and a master are tolerated or not. */
function takes(node: KubeObject, pod: KubeObject): boolean {
  const tolerations = [partAt(pod, 'spec', 'tolerations') ?? []].flat();
  const tolerates = (key: string): boolean => tolerations.some((one) => textIn(one, 'key') === key);
  const selector = Object.entries(partAt(pod, 'spec', 'nodeSelector') ?? {});
  const { labels = {} } = node.metadata;
  const isCordoned = partAt(node, 'spec', 'unschedulable') === true;
  return (
    isReady(node) &&
    selector.every(([key, value]) => labels[key] === value) &&
    (!isCordoned || tolerates('node.kubernetes.io/unschedulable')) &&
    (hasRole(node, 'worker') || tolerates('node-role.kubernetes.io/master'))
  );
}

interface Choice {
  readonly pods: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
}

/** The node of a pod: of those that take it, the one with the fewest pods of its app. */
function chooseNode(pod: KubeObject, { pods, nodes }: Choice): string | undefined {
  const made = nodeOfDaemonSet(pod);
  if (made !== '') return made;
  const others = (node: KubeObject): number =>
    pods.filter(
      (one) =>
        appOf(one) === appOf(pod) &&
        !isOver(one) &&
        textIn(one, 'spec', 'nodeName') === node.metadata.name,
    ).length;
  const [first] = nodes
    .filter((node) => takes(node, pod))
    .toSorted((one, other) => others(one) - others(other));
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
