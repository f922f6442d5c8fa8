// The machine-config-daemon of a node: it brings the node to the image that it is told.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { servesImages, stockImage } from '../../layering/plan.ts';
import { type Pin, pinIn } from '../../layering/rendered.ts';
import { kinds } from '../kinds.ts';
import type { ClusterWork } from '../site.ts';
import { pullOnNode } from './first-boot.ts';
import { keyOf } from './objects.ts';
import type { LayeredSite } from './site.ts';

/** What the MachineConfigs of the cluster name for a pool; the last one counts. */
export async function pinOfPool(
  client: ClusterWork['kube']['client'],
  pool: string,
): Promise<Pin | undefined> {
  const all = await client.list({ kind: kinds.MachineConfig });
  return all.map((one) => pinIn(one, pool)).findLast((pin) => pin !== undefined);
}

/** A node as its daemon lets it join, with what it says of the system that it runs. */
export async function withSystem(
  { kube: { client }, layered }: ClusterWork,
  node: KubeObject,
  pool: string,
): Promise<KubeObject> {
  const system = layered?.systems.get(node.metadata.name);
  if (layered === undefined || system === undefined) return node;
  const { rendered, currentImage, desiredImage, image } = system;
  const named = servesImages(layered.plan) ? currentImage : undefined;
  const wanted = named ?? (await pinOfPool(client, pool))?.image ?? stockImage;
  return {
    ...node,
    metadata: {
      ...node.metadata,
      annotations: {
        [keyOf('currentConfig')]: rendered,
        [keyOf('desiredConfig')]: rendered,
        ...(currentImage === undefined ? {} : { [keyOf('currentImage')]: currentImage }),
        ...(desiredImage === undefined ? {} : { [keyOf('desiredImage')]: desiredImage }),
        [keyOf('state')]: image === wanted ? 'Done' : 'Degraded',
      },
    },
  };
}

/** Where a node goes. */
export interface NodeMove {
  readonly name: string;
  /** The image that it is told; empty for the system of the release. */
  readonly target: string;
  /** Lets the kubelet say whether it is Ready. */
  readonly told: (isReady: boolean) => Promise<void>;
}

/** Drains a node, brings it to an image and starts it anew. */
export async function moveNode(
  { kube: { client }, plan: { pace }, signal }: ClusterWork,
  { network, systems, restarted }: LayeredSite,
  { name, target, told }: NodeMove,
): Promise<void> {
  const ref = { kind: kinds.Node, name };
  const before = systems.get(name);
  if (before === undefined) throw new RangeError(`${name} runs nothing`);
  const annotate = (annotations: Readonly<Record<string, string | null>>): Promise<unknown> =>
    client.merge(ref, { metadata: { annotations } });
  await annotate({ [keyOf('state')]: 'Working' });
  const image = target === '' ? stockImage : target;
  pullOnNode(network, { host: name, image, pullSecret: before.pullSecret });
  await told(false);
  restarted(name);
  await sleep(pace.bootSeconds * 1000, undefined, { signal });
  const running = target === '' ? undefined : target;
  systems.set(name, { ...before, image, currentImage: running, desiredImage: running });
  await told(true);
  await annotate({
    [keyOf('currentImage')]: target === '' ? null : target,
    [keyOf('state')]: 'Done',
  });
}
