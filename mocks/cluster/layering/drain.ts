// The drain controller of the Machine Config Operator: it empties a node, and lets it be filled again, as asked for by an
// annotation of the node.
import type { KubeObject, KubeRef } from '../../../src/ports/kube.ts';
import { kinds } from '../kinds.ts';
import { controllerNamespace } from '../pods.ts';
import type { ClusterWork } from '../site.ts';
import { annotation, keyOf, partAt, textIn } from './objects.ts';

/** What the drain controller does to a node. */
export interface DrainDeed {
  readonly kind: 'cordon' | 'uncordon';
  readonly node: string;
  /** The wish that it meets, `drain-CONFIG` or `uncordon-CONFIG`. */
  readonly wish: string;
}

const kindsOfWishes = { drain: 'cordon', uncordon: 'uncordon' } as const;

/** What is to be done to a node; undefined where its last wish was met, or is none. */
export function decideDrain(node: KubeObject): DrainDeed | undefined {
  const wish = annotation(node, 'desiredDrain');
  const [, verb] = /^(drain|uncordon)-./.exec(wish) ?? [];
  if (verb === undefined || wish === annotation(node, 'lastAppliedDrain')) return undefined;
  const kind = kindsOfWishes[verb as keyof typeof kindsOfWishes];
  return { kind, node: node.metadata.name, wish };
}

/** Whether nothing new is scheduled to a node. */
export const isCordoned = (node: KubeObject | undefined): boolean =>
  partAt(node, 'spec', 'unschedulable') === true;

/** Does what is due on nodes; tells whether there was anything. */
export async function drainNodes(
  work: ClusterWork,
  nodes: readonly KubeObject[],
): Promise<boolean> {
  const deeds = nodes.flatMap((node) => decideDrain(node) ?? []);
  for (const deed of deeds) await doDeed(work, deed);
  return deeds.length > 0;
}

async function doDeed(work: ClusterWork, { kind, node, wish }: DrainDeed): Promise<void> {
  const { client } = work.kube;
  const ref: KubeRef = { kind: kinds.Node, name: node };
  const isEmptied = kind === 'cordon';
  await client.merge(ref, { spec: { unschedulable: isEmptied ? true : null } });
  if (isEmptied) await empty(work, node);
  const annotations = { [keyOf('lastAppliedDrain')]: wish };
  await client.merge(ref, { metadata: { annotations } });
}

/**
 * Pods that no DaemonSet and no file keeps on the node go, also those that are through (machine-config-operator drains
 * by force). Of those that the lab has these are ours.
 */
async function empty({ kube: { client }, tenants }: ClusterWork, node: string): Promise<void> {
  const pods = await client.list({
    kind: kinds.Pod,
    namespace: controllerNamespace,
    labelSelector: 'app.kubernetes.io/name=bootwright',
  });
  for (const pod of pods) {
    const { name, namespace = '' } = pod.metadata;
    if (textIn(pod, 'spec', 'nodeName') === node) {
      await client.remove({ kind: kinds.Pod, name, namespace }, { graceSeconds: 0 });
    }
  }
  tenants.evict(node);
}
