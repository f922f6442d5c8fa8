import { isActive } from '../../engine/condition.ts';
import type { FactValue, NeedValues } from '../../engine/fact.ts';
import { copyImageArgv, inspectDigestArgv } from '../../layering/build/container-tools.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { leavesFollowUp, wantsFollowUp } from '../after-pivot/conditions.ts';
import { leaveJob } from '../after-pivot/leave-job.ts';
import { listAddressesArgv } from '../after-pivot/own-host.ts';
import { longestWait } from '../cluster/kube-watch.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages, joinsWithStock, unlessOrdered, unlessServed } from './conditions.ts';
import {
  HandOverBy,
  OsImageOrder,
  type PoolOrder,
  type PublishedImage,
  PublishedImages,
  type RenderedConfig,
  RenderedConfigs,
} from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { submitOsConfig } from './hand-over-objects.ts';
import { handOverPool, leaveImage, type PoolHandOver, putSecrets } from './hand-over-pool.ts';
import { waitForPool } from './rendered-pool.ts';

/** The facts that a hand-over needs. */
const handOverNeeds = {
  order: OsImageOrder,
  rendered: RenderedConfigs,
  published: PublishedImages,
} as const;

/** What the steps that hand over are made of; each adds when there is nothing to do. */
const handingOver = {
  id: 'layering/hand-over',
  title: 'Hand the built images over to the cluster',
  uses: ['host', 'kube', 'clock'],
  when: buildsOsImages,
  // The API server goes away for a while whenever etcd gets or loses a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'each MachineConfigPool to be rendered in the cluster as on this host',
  preview: (): readonly (readonly string[])[] => {
    const authFile = '<push Secret>';
    const to = { image: '<repository>:<MachineOSBuild>', authFile };
    return [
      copyImageArgv({ from: { image: '<final image>', authFile }, to }),
      inspectDigestArgv(to),
    ];
  },
  run: async (
    scope: StepScope<'host' | 'kube' | 'clock'>,
    { order, rendered, published }: NeedValues<typeof handOverNeeds>,
  ): Promise<void> => {
    if (order.kind === 'off') return;
    if (published.kind === 'stock') {
      scope.note('info', `no image is handed over: ${published.why}`);
      await submitStock(scope, order.pools);
      return;
    }
    for (const pool of poolsOf(order.pools, { rendered, images: published.images })) {
      await handOverPool(scope, pool);
    }
  },
} as const;

interface MadeForPools {
  readonly rendered: readonly RenderedConfig[];
  readonly images: readonly PublishedImage[];
}

/**
 * The pools that are ordered, each with what was made for it.
 * @throws AgentError `layering.no-image`
 */
const poolsOf = (
  orders: readonly PoolOrder[],
  { rendered, images }: MadeForPools,
): readonly PoolHandOver[] =>
  orders.map((order) => {
    const config = rendered.find(({ pool }) => pool === order.pool);
    const image = images.find(({ pool }) => pool === order.pool);
    if (config !== undefined && image?.renderedConfig === config.name) {
      return { order, rendered: config, image };
    }
    throw layeringStepFailure(
      'layering.no-image',
      `pool ${order.pool} has no image of its MachineConfig ${config?.name ?? '(none)'}`,
    );
  });

/**
 * Tells the cluster of the images that were built for its pools, in the objects that its own controllers keep, before
 * these take the images on the nodes for a mistake: they begin to take them away five seconds after a pool is
 * rendered that nobody layered. So masters, who are there first, come first, and what nodes are served is handed
 * over before the first of them joins.
 */
export const handOverServed = step({
  ...handingOver,
  needs: handOverNeeds,
  skipIf: unlessServed,
});

/**
 * Hands over what the cluster is to roll out, or to build, as late as this host can, where no job does it later: it
 * drains and starts masters anew, and there are two as long as this host is none.
 */
export const handOverToRollOut = step({
  ...handingOver,
  id: 'layering/hand-over-to-roll-out',
  title: 'Let the cluster roll out what its nodes do not run yet',
  needs: { ...handOverNeeds, by: HandOverBy },
  skipIf: (needs) => {
    if (needs.by.kind === 'job') return 'a job in the cluster does it, once etcd has three members';
    if (unlessServed(needs) === undefined) return 'nodes are served their image';
    return unlessOrdered(needs);
  },
});

/**
 * Leaves the job that follows this host, and with it the images of nodes that get theirs once they have joined: a drain
 * of one of two masters takes etcd along, and there are three when this host is away. Secrets and tags are there before.
 */
export const leaveHandOver = step({
  id: 'layering/leave-hand-over',
  title: 'Leave a job in the cluster that follows this host and hands the images over',
  uses: ['kube', 'host', 'inventory', 'clock'],
  needs: { order: OsImageOrder, rendered: RenderedConfigs, published: PublishedImages },
  gives: HandOverBy,
  when: buildsOsImages,
  // The API server goes away for a while whenever etcd gets or loses a member.
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'each MachineConfigPool to be rendered in the cluster as on this host',
  explain: (config) =>
    wantsFollowUp(config)
      ? `a job follows this host, and runs ${config.images.self}`
      : 'nothing follows this host: it hands over itself what nodes get once they have joined',
  preview: () => [listAddressesArgv],
  run: async (scope, needs) => {
    if (!isActive(leavesFollowUp, scope.config)) return byHost('nothing follows this host');
    const images = await imagesToLeave(scope, needs);
    const isLeft = await leaveJob(scope, images);
    if (!isLeft) return byHost('no job could be left');
    return images.length === 0 ? byHost('nothing is left to hand over') : { kind: 'job' as const };
  },
});

const byHost = (why: string) => ({ kind: 'host' as const, why });

interface Made {
  readonly order: FactValue<typeof OsImageOrder>;
  readonly rendered: readonly RenderedConfig[];
  readonly published: PublishedImages;
}

async function imagesToLeave(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  { order, rendered, published }: Made,
): Promise<readonly LeftImage[]> {
  if (order.kind === 'off' || !joinsWithStock(order) || published.kind === 'stock') return [];
  const images: LeftImage[] = [];
  for (const pool of poolsOf(order.pools, { rendered, images: published.images })) {
    images.push(await leaveImage(scope, pool));
  }
  return images;
}

/**
 * Gives the cluster what the user asked for where no image could be built: it builds by itself and rolls out once it
 * can run the job, which takes a worker, or masters that take work.
 * @throws AgentError `layering.*`, `kube.*`, `wait.timed-out`
 */
async function submitStock(
  scope: StepScope<'host' | 'kube'>,
  pools: readonly PoolOrder[],
): Promise<void> {
  for (const order of pools) {
    await waitForPool(scope, order.pool);
    await putSecrets(scope, order, order.config);
    await submitOsConfig(scope, order.object);
    scope.note('info', `pool ${order.pool}: the cluster builds its image later`);
  }
}
