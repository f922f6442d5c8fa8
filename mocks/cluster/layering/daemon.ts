// The machine-config-daemon of a node: it brings the node to the image that it is told.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { servesImages, stockImage } from '../../layering/plan.ts';
import { lastPin } from '../../layering/rendered.ts';
import { kinds } from '../kinds.ts';
import { type ClusterWork, memberNamed } from '../site.ts';
import { tellNode } from '../tell-node.ts';
import { pullOnNode } from './first-boot.ts';
import { record, recordedOn } from './node-disk.ts';
import { annotation, keyOf } from './objects.ts';
import { type LayeredSite, machineOf, type NodeSystem } from './site.ts';
import { startAnew } from './start-anew.ts';
import { daemonVerdict } from './verdict.ts';

/** What the MachineConfig of a pool names, now that all of them are as they are. */
async function namedFor({ kube: { client } }: ClusterWork, pool: string): Promise<string> {
  const machineConfigs = await client.list({ kind: kinds.MachineConfig });
  return lastPin(machineConfigs, pool)?.image ?? stockImage;
}

/** A node as its daemon lets it join, with what it says of the system that it runs. */
export async function withSystem(
  work: ClusterWork,
  node: KubeObject,
  pool: string,
): Promise<KubeObject> {
  const { layered } = work;
  const { name } = node.metadata;
  const system = layered?.systems.get(name);
  if (layered === undefined || system === undefined) return node;
  const { rendered, currentImage, desiredImage, image } = system;
  const named = servesImages(layered.plan) ? currentImage : undefined;
  const wanted = named ?? (await namedFor(work, pool));
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
export interface NodeMove {
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

/**
 * The daemon of a node that was restarted by another hand: it holds what runs against what it was told, and has the
 * node filled again when that is the same.
 */
export async function startDaemon(
  work: ClusterWork,
  layered: LayeredSite,
  name: string,
): Promise<void> {
  const node = await work.kube.client.get({ kind: kinds.Node, name });
  const { role } = memberNamed(work, name);
  const verdict = daemonVerdict({
    booted: systemOf(layered, name).image,
    recorded: await recordedOn(machineOf(layered, name)),
    currentImage: annotation(node, 'currentImage'),
    named: await namedFor(work, role),
  });
  const uncordon = { desiredDrain: `uncordon-${annotation(node, 'desiredConfig')}` };
  await annotate(work, name, { ...verdict, ...(verdict.state === 'Done' ? uncordon : {}) });
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
