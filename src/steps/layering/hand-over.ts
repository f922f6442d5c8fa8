import { isActive } from '../../engine/condition.ts';
import type { NeedValues } from '../../engine/fact.ts';
import { layeringFailure } from '../../layering/failures.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { longestWait } from '../cluster/kube-watch.ts';
import { leaveRecord } from '../cluster/leave-record.ts';
import { listAddressesArgv } from '../cluster/own-host.ts';
import { leavesRecord, whyNoFollower, buildsOsImages } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { joinsWithReleaseImage, unlessRequested, unlessServed } from './conditions.ts';
import {
  HandOverBy,
  BuildRequest,
  type PoolRequest,
  type PublishedImage,
  PublishedImages,
  type RenderedConfig,
  RenderedConfigs,
} from './facts.ts';
import { submitOsConfig } from './hand-over-objects.ts';
import {
  handOverPool,
  stageImage,
  tagEarly,
  type PoolHandOver,
  putSecrets,
} from './hand-over-pool.ts';
import { type HeldPools, pausePools, reportLostImages, unpausePool } from './pool-pause.ts';
import { waitForPool } from './rendered-pool.ts';

const handOverNeeds = {
  request: BuildRequest,
  rendered: RenderedConfigs,
  published: PublishedImages,
} as const;

/** What the steps that hand over are made of; each adds when there is nothing to do. */
const handingOver = {
  when: buildsOsImages,
  // The API server goes away for a while whenever etcd gets or loses a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'the cluster to render each MachineConfigPool as this host did',
} as const;

async function handOver(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  { request, rendered, published }: NeedValues<typeof handOverNeeds>,
  why?: string,
): Promise<void> {
  if (request.kind === 'off') return;
  if (published.kind === 'release') {
    scope.note('info', `no OS image is handed over: ${published.why}`);
    await submitOsConfigs(scope, request.pools);
    return;
  }
  if (why !== undefined)
    scope.note('info', `the OS images are handed over before this host leaves: ${why}`);
  const made = poolsOf(request, rendered, published.images);
  const pools = why === undefined ? made : made.map((pool) => ({ ...pool, why }));
  const names = pools.map((pool) => pool.request.pool);
  const held: HeldPools = new Map();
  if (request.delivery === 'first-boot') {
    await pausePools(scope, names, held);
    await reportLostImages(scope, published.images);
  }
  const over = new AbortController();
  const tagging = { ...scope, signal: AbortSignal.any([scope.signal, over.signal]) };
  const early = pools.map((pool) => tagEarly(tagging, pool).catch(() => undefined));
  scope.onExit(async () => {
    over.abort(new Error('the hand-over has ended'));
    await Promise.all(early);
  }, 'always');
  for (const [index, pool] of pools.entries()) {
    await handOverPool(scope, pool, early[index]);
    await unpausePool(scope, pool.request.pool, held);
  }
}

/**
 * The pools that are ordered, each with what was made for it.
 * @throws AgentError `layering.no-image`
 */
const poolsOf = (
  { pools, delivery }: Extract<BuildRequest, { kind: 'on' }>,
  rendered: readonly RenderedConfig[],
  images: readonly PublishedImage[],
): readonly PoolHandOver[] =>
  pools.map((request) => {
    const config = rendered.find(({ pool }) => pool === request.pool);
    const image = images.find(({ pool }) => pool === request.pool);
    if (config !== undefined && image?.renderedConfig === config.name) {
      return { request, rendered: config, image, delivery };
    }
    throw layeringFailure(
      'layering.no-image',
      `pool ${request.pool} has no OS image for MachineConfig ${config?.name ?? '(none)'}`,
    );
  });

/**
 * Hands over the images that were built for the pools, in the objects that the cluster's own controllers keep. These
 * take an image on a node for a mistake as soon as a pool is rendered that nobody layered: each pool is paused until
 * its image is handed over. Masters, who are there first, come first.
 */
export const handOverServed = step({
  ...handingOver,
  id: 'layering/hand-over',
  title: 'Hand the built OS images over to the cluster',
  uses: ['host', 'kube', 'clock'],
  needs: handOverNeeds,
  skipIf: unlessServed,
  programs: ['skopeo'],
  run: (scope, needs) => handOver(scope, needs),
});

/**
 * Hands over what the cluster is to roll out, or to build, as late as this host can, where the controller does not do it
 * later: it drains and restarts masters, and there are two as long as this host is none. This host does not leave before.
 */
export const handOverToRollOut = step({
  ...handingOver,
  id: 'layering/hand-over-to-roll-out',
  title: 'Hand the OS images over for the cluster to roll out',
  uses: ['host', 'kube', 'clock'],
  programs: ['skopeo'],
  needs: { ...handOverNeeds, by: HandOverBy },
  skipIf: (needs) => {
    if (needs.by.kind === 'controller') return 'the controller does it once etcd has three members';
    if (unlessServed(needs) === undefined) return 'nodes are served their OS image';
    return unlessRequested(needs);
  },
  run: (scope, { by, ...needs }) => handOver(scope, needs, by.kind === 'host' ? by.why : undefined),
});

/**
 * Leaves the record of this host, and in it the images of nodes that get theirs once they have joined: a drain
 * of one of two masters takes etcd along, and there are three when this host is away. Secrets and tags are there before.
 */
export const leaveHandOver = step({
  ...handingOver,
  id: 'layering/leave-hand-over',
  title: 'Leave a record of this host and of the OS images that are handed over later',
  uses: ['kube', 'host', 'inventory', 'clock'],
  needs: handOverNeeds,
  gives: HandOverBy,
  explain: (config) =>
    isActive(leavesRecord, config)
      ? `the controller hands them over; it runs ${config.images.self}`
      : `this host hands the OS images over itself: ${whyNoFollower(config)}`,
  preview: () => [listAddressesArgv],
  run: async (scope, needs) => {
    if (!isActive(leavesRecord, scope.config)) return byHost(whyNoFollower(scope.config));
    const images = await imagesToStage(scope, needs);
    const isLeft = await leaveRecord(scope, images);
    if (!isLeft) return byHost('could not write the record ConfigMap');
    return images.length === 0
      ? byHost('there is nothing to hand over')
      : { kind: 'controller' as const };
  },
});

const byHost = (why: string) => ({ kind: 'host' as const, why });

async function imagesToStage(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  { request, rendered, published }: NeedValues<typeof handOverNeeds>,
): Promise<readonly LeftImage[]> {
  if (request.kind === 'off' || !joinsWithReleaseImage(request) || published.kind === 'release')
    return [];
  const images: LeftImage[] = [];
  for (const pool of poolsOf(request, rendered, published.images)) {
    images.push(await stageImage(scope, pool));
  }
  return images;
}

/**
 * Gives the cluster what the user asked for where no image could be built: it builds by itself and rolls out once it
 * can run the job, which takes a worker, or masters that take work.
 * @throws AgentError `layering.*`, `kube.*`, `wait.timed-out`
 */
async function submitOsConfigs(
  scope: StepScope<'host' | 'kube'>,
  pools: readonly PoolRequest[],
): Promise<void> {
  for (const request of pools) {
    await waitForPool(scope, request.pool);
    await putSecrets(scope, request, request.config);
    await submitOsConfig(scope, request.object);
    scope.note('info', `pool ${request.pool}: the cluster builds the OS image later`);
  }
}
