import { machineConfigPools, nodes } from '../../src/cluster/kinds.ts';
import { annotationOf, partOf } from '../../src/layering/cluster-object.ts';
import type { LeftImage } from '../../src/layering/hand-over/left-image.ts';
import { nodeKeys } from '../../src/layering/node-keys.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { FakeKube } from '../support/fake-kube.ts';
import { switchedImage, switchedWorkers } from './left-images.ts';

/** What each pool of a played world is to run. */
export const playedImages = {
  master: switchedImage,
  worker: switchedWorkers,
} as const satisfies Readonly<Record<string, LeftImage>>;

/** What a node of a played world has been through. */
export interface PlayedNode {
  readonly name: string;
  readonly pool: keyof typeof playedImages;
  /** What it runs; empty for the system of the release. */
  booted: string;
  staged: string;
  /** What its daemon finds on the disk. */
  recorded: string;
  starts: number;
}

/** What a node says of itself; empty where it says nothing. */
export const noted = (node: KubeObject, key: keyof typeof nodeKeys): string =>
  annotationOf(node, nodeKeys[key]);

/**
 * The object of a node.
 * @throws RangeError when there is none
 */
export function nodeIn(kube: FakeKube, name: string): KubeObject {
  const object = kube.objectsOf(nodes).find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw new RangeError(`there is no node ${name}`);
  return object;
}

/**
 * The MachineConfigPool of masters, or another.
 * @throws RangeError when there is none
 */
export function poolIn(kube: FakeKube, name = 'master'): KubeObject {
  const object = kube.objectsOf(machineConfigPools).find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw new RangeError(`there is no pool ${name}`);
  return object;
}

/** Whether the operator leaves the nodes of a pool alone. */
export const isPaused = (kube: FakeKube, pool: string): boolean =>
  partOf(poolIn(kube, pool), 'spec', 'paused') === true;
