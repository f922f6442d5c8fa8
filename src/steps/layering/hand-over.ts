import type { NeedValues } from '../../engine/fact.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { longestWait } from '../cluster/kube-watch.ts';
import { buildsOsImages } from '../conditions.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { unlessServed } from './conditions.ts';
import {
  BuildRequest,
  type PoolRequest,
  type PublishedImage,
  PublishedImages,
  type RenderedConfig,
  RenderedConfigs,
} from './facts.ts';
import { submitOsConfig } from './hand-over-objects.ts';
import { handOverPool, type PoolHandOver, putSecrets } from './hand-over-pool.ts';
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
  explain: () => 'waits for the cluster to render each MachineConfigPool as this host did',
} as const;

async function handOver(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  { request, rendered, published }: NeedValues<typeof handOverNeeds>,
): Promise<void> {
  if (request.kind !== 'on' || published.kind === 'release') return;
  const pools = poolsOf(request, rendered, published.images);
  const names = pools.map((pool) => pool.request.pool);
  const held: HeldPools = new Map();
  await pausePools(scope, names, held);
  await reportLostImages(scope, published.images);
  for (const pool of pools) {
    await handOverPool(scope, pool);
    await unpausePool(scope, pool.request.pool, held);
  }
}

/**
 * The pools that are ordered, each with what was made for it.
 * @throws AgentError `layering.no-image`
 */
const poolsOf = (
  { pools }: Extract<BuildRequest, { kind: 'on' }>,
  rendered: readonly RenderedConfig[],
  images: readonly PublishedImage[],
): readonly PoolHandOver[] =>
  pools.map((request) => {
    const config = rendered.find(({ pool }) => pool === request.pool);
    const image = images.find(({ pool }) => pool === request.pool);
    if (config !== undefined && image?.renderedConfig === config.name) {
      return { request, rendered: config, image };
    }
    throw layeringFailure(
      'layering.no-image',
      `pool ${request.pool} has no OS image for MachineConfig ${config?.name ?? '(none)'}`,
    );
  });

/**
 * Hands over the images that were built for the pools, in the objects that the cluster's own
 * controllers keep. These take an image on a node for a mistake as soon as a pool is rendered that
 * nobody layered: each pool is paused until its image is handed over. Masters, who are there first,
 * come first.
 */
export const handOverServed = step({
  ...handingOver,
  id: 'layering/hand-over',
  title: 'Hand the built OS images over to the cluster',
  uses: ['host', 'kube', 'clock'],
  needs: handOverNeeds,
  skipIf: unlessServed,
  preview: () => callsOf('skopeo'),
  run: handOver,
});

/** Why no MachineOSConfig is to be submitted last; undefined where some are. */
function unlessSubmitted({ request, published }: NeedValues<typeof submitNeeds>) {
  if (request.kind === 'off') return request.why;
  const isHandedOver = request.kind === 'on' && published.kind === 'published';
  return isHandedOver ? 'the OS images are handed over' : undefined;
}

const submitNeeds = { request: BuildRequest, published: PublishedImages } as const;

/**
 * Submits what the cluster is to build, as late as this host can: the operator rolls an image out
 * by draining masters, and there are two as long as this host is none.
 */
export const submitOsConfigs = step({
  ...handingOver,
  id: 'layering/submit-os-configs',
  title: 'Submit the MachineOSConfigs whose images the cluster builds',
  uses: ['host', 'kube'],
  needs: submitNeeds,
  skipIf: unlessSubmitted,
  explain: () => 'waits for the cluster to render each MachineConfigPool',
  run: async (scope, { request }) => {
    if (request.kind !== 'off') await submitAll(scope, request.pools);
  },
});

/**
 * Gives the cluster what the user asked for where no image could be built: it builds by itself and
 * rolls out once it can run the job, which takes a worker, or masters that take work.
 * @throws AgentError `layering.*`, `kube.*`, `wait.timed-out`
 */
async function submitAll(
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
