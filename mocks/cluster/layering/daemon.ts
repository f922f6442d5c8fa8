// The machine-config-daemon of a node: it brings the node to the image that it is told.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { servesImages, stockImage } from '../../layering/plan.ts';
import { kinds } from '../objects.ts';
import { type ClusterWork, tellNode } from '../site.ts';
import { pullOnNode } from './first-boot.ts';
import { record } from './node-disk.ts';
import { keyOf } from './objects.ts';
import { type LayeredSite, machineOf, type NodeSystem } from './site.ts';
import { startAnew } from './start-anew.ts';

/** A node as its daemon lets it join, with what it says of the system that it runs. */
export async function withSystem(work: ClusterWork, node: KubeObject): Promise<KubeObject> {
  const { layered } = work;
  const { name } = node.metadata;
  const system = layered?.systems.get(name);
  if (layered === undefined || system === undefined) return node;
  const { rendered, currentImage, desiredImage, image } = system;
  const named = servesImages(layered.plan) ? currentImage : undefined;
  const wanted = named ?? stockImage;
  await record(machineOf(layered, name), { rendered, image: currentImage });
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
interface NodeMove {
  readonly name: string;
  /** The image that it is told; empty for the system of the release. */
  readonly target: string;
}

/** Drains a node, brings it to an image and starts it anew. */
export async function moveNode(
  work: ClusterWork,
  layered: LayeredSite,
  { name, target }: NodeMove,
): Promise<void> {
  const before = systemOf(layered, name);
  await annotate(work, name, { state: 'Working' });
  const image = target === '' ? stockImage : target;
  pullOnNode(layered.network, { host: name, image, pullSecret: before.pullSecret });
  const machine = machineOf(layered, name);
  machine.running = { booted: before.image, staged: image };
  const running = target === '' ? undefined : target;
  const system = { ...before, image, currentImage: running, desiredImage: running };
  await startAnew(work, layered, { name, system });
  await record(machine, { rendered: before.rendered, image: running });
  await tellNode(work, name, true);
  await annotate(work, name, { currentImage: running ?? null, state: 'Done' });
}

function systemOf({ systems }: LayeredSite, host: string): NodeSystem {
  const found = systems.get(host);
  if (found === undefined) throw new RangeError(`${host} runs nothing`);
  return found;
}

async function annotate(
  { kube: { client } }: ClusterWork,
  name: string,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  const keyed = Object.entries(annotations).map(([key, value]) => [keyOf(key), value] as const);
  const change = { metadata: { annotations: Object.fromEntries(keyed) } };
  await client.merge({ kind: kinds.Node, name }, change);
}
