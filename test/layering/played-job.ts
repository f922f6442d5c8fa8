import { expect } from 'vitest';
import { pods } from '../../src/cluster/kinds.ts';
import type { LeftImage } from '../../src/layering/hand-over/left-image.ts';
import type { Kube } from '../../src/ports/kube.ts';
import { leftNamespace } from '../../src/steps/after-pivot/record.ts';
import { handOverServed } from '../../src/steps/layering/hand-over-when.ts';
import type { FakeKube } from '../support/fake-kube.ts';
import { runStep } from '../support/run-step.ts';
import { bothFacts, bothHost } from './both-pools.ts';
import { handedOver } from './hand-over-site.ts';
import { switchedImage } from './left-images.ts';
import { isPaused, poolIn } from './played-node.ts';
import { type PlayedPools, playedPools } from './played-nodes.ts';

/** What the job runs a step with that has these images to bring to pools of a played world. */
export const jobIn = (
  { kube, clock }: Pick<PlayedPools, 'clock'> & { readonly kube: Kube },
  images: readonly LeftImage[],
) => ({
  kube,
  clock,
  facts: {
    record: { node: 'm3', addresses: [], role: 'master', isEtcdOverridden: false, images },
  },
});

/** Names of the pods of the job that are still there. */
export const leftPods = (kube: FakeKube): readonly string[] =>
  kube
    .objectsOf(pods)
    .filter(({ metadata }) => metadata.namespace === leftNamespace)
    .map(({ metadata }) => metadata.name);

/** Fails unless the cluster has been told of an image as the bootstrap host itself tells it. */
export async function isHandedOver(kube: FakeKube, image: LeftImage): Promise<void> {
  byHost ??= handedOverByHost();
  const expected = withoutTimes(await handedOver(await byHost, image));
  expect(expected).toMatchObject([{ name: image.machineOSBuild }, { name: image.pool }]);
  expect(withoutTimes(await handedOver(kube, image))).toEqual(expected);
}

let byHost: Promise<FakeKube> | undefined;

async function handedOverByHost(): Promise<FakeKube> {
  const { kube, clock } = playedPools();
  await runStep(handOverServed, {
    config: { layering: { mode: 'on' } },
    facts: bothFacts('first-boot'),
    kube,
    clock,
    host: bothHost(),
  });
  return kube;
}

/**
 * Fails unless every node of the pools runs its image after one restart, in order, and nothing of ours is left; the
 * masters alone unless said.
 */
export async function isSwitched(
  { kube, nodes, incidents }: PlayedPools,
  images: readonly LeftImage[] = [switchedImage],
): Promise<void> {
  expect(incidents).toEqual([]);
  for (const image of images) {
    const own = nodes.filter(({ pool }) => pool === image.pool);
    expect(own.map(({ booted, starts }) => [booted, starts])).toEqual(
      own.map(() => [image.image, 1]),
    );
    expect(isPaused(kube, image.pool)).toBe(false);
    expect(poolIn(kube, image.pool).metadata.annotations).toEqual({});
    await isHandedOver(kube, image);
  }
  expect(leftPods(kube)).toEqual([]);
}

const times: readonly string[] = ['buildStart', 'buildEnd', 'lastTransitionTime'];

/** A job that waits for restarts comes later. */
const withoutTimes = (objects: unknown): unknown =>
  JSON.parse(JSON.stringify(objects), (key, value: unknown) =>
    times.includes(key) ? undefined : value,
  );
