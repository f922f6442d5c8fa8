// What a scheduler and a kubelet read in a pod of deploy/layering, of a build, or of a workload.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { hasRole, partAt, textIn } from '../../layering/objects.ts';
import { isReady } from '../layering/controllers.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';

/** The image of the manifests, which stands for our own. */
const ownImage = 'bootwright';

const listIn = (object: unknown, ...path: readonly string[]): readonly unknown[] =>
  [partAt(object, ...path) ?? []].flat();

/** The container of a pod of one container. */
export const containerOf = (pod: KubeObject): unknown => partAt(pod, 'spec', 'containers', '0');

/** Whether a pod runs our own program. */
export const isOurs = (pod: KubeObject): boolean => textIn(containerOf(pod), 'image') === ownImage;

/** The Secrets that it mounts, by where. */
export const secretsOf = (pod: KubeObject): readonly (readonly [path: string, secret: string])[] =>
  listIn(containerOf(pod), 'volumeMounts').flatMap((mount) => {
    const volume = listIn(pod, 'spec', 'volumes').find(
      (one) => textIn(one, 'name') === textIn(mount, 'name'),
    );
    const secret = textIn(volume, 'secret', 'secretName');
    return secret === '' ? [] : [[textIn(mount, 'mountPath'), secret] as const];
  });

/** The app that a pod is of. */
export const appOf = ({ metadata: { labels } }: KubeObject): string => labels?.['app'] ?? '';

/** Whether it has ended for good. */
export const isOver = (pod: KubeObject): boolean =>
  ['Succeeded', 'Failed'].includes(textIn(pod, 'status', 'phase'));

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const ownNode = [
  'nodeAffinity',
  required,
  'nodeSelectorTerms',
  '0',
  'matchFields',
  '0',
  'values',
  '0',
];

const toleratesMasters = (pod: KubeObject): boolean =>
  listIn(pod, 'spec', 'tolerations').some((one) =>
    ['', 'node-role.kubernetes.io/master'].includes(textIn(one, 'key')),
  );

interface Choice {
  readonly pods: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
}

/** The node of a pod: of those that its spec lets it have the one with the fewest of its app, workers first. */
export function chooseNode(pod: KubeObject, { pods, nodes }: Choice): string | undefined {
  // That of a daemon set tolerates whatever its node is.
  const made = textIn(pod, 'spec', 'affinity', ...ownNode);
  if (made !== '') return made;
  const selector = Object.entries(partAt(pod, 'spec', 'nodeSelector') ?? {});
  const isApart = partAt(pod, 'spec', 'affinity', 'podAntiAffinity', required) !== undefined;
  const same = pods.filter((one) => appOf(one) === appOf(pod) && !isOver(one));
  const others = (name: string): number =>
    same.filter((one) => textIn(one, 'spec', 'nodeName') === name).length;
  const order = (node: KubeObject): number =>
    others(node.metadata.name) + (hasRole(node, 'master') ? 0.5 : 0);
  const [first] = nodes
    .filter(({ metadata: { labels = {} } }) => selector.every(([key, one]) => labels[key] === one))
    .filter((node) => isReady(node) && partAt(node, 'spec', 'unschedulable') !== true)
    .filter((node) => toleratesMasters(pod) || !hasRole(node, 'master'))
    .filter(({ metadata: { name } }) => !isApart || others(name) === 0)
    .toSorted((one, other) => order(one) - order(other));
  return first?.metadata.name;
}

/** Gives each pod without a node one, where there is one for it. */
export async function schedule(
  { kube }: ClusterWork,
  waiting: readonly KubeObject[],
  among: Choice,
): Promise<void> {
  const pods = [...among.pods];
  for (const pod of waiting) {
    const nodeName = chooseNode(pod, { ...among, pods });
    if (nodeName === undefined) continue;
    const { name, namespace = '' } = pod.metadata;
    const binding = { ...kinds.Pod, plural: `pods/${name}/binding` };
    await kube.client.create(binding, {
      ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace } },
      target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
    });
    pods.push({ ...pod, spec: { nodeName } });
  }
}
