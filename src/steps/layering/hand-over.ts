import type { NeedValues } from '../../engine/fact.ts';
import { copyImageArgv, digestArgv } from '../../layering/build/container-tools.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { longestWait } from '../cluster/kube-watch.ts';
import type { StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import {
  OsImageOrder,
  type PoolOrder,
  type PublishedImage,
  PublishedImages,
  type RenderedConfig,
  RenderedConfigs,
} from './facts.ts';
import { handOverFailure } from './hand-over-failures.ts';
import { handOverPool, type PoolHandOver } from './hand-over-pool.ts';
import { submitStock } from './submit-stock.ts';

/** The facts that a hand-over needs. */
export const handOverNeeds = {
  order: OsImageOrder,
  rendered: RenderedConfigs,
  published: PublishedImages,
} as const;

/** What the steps that hand over are made of; each adds when there is nothing to do. */
export const handingOver = {
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
    return [copyImageArgv({ from: { image: '<final image>', authFile }, to }), digestArgv(to)];
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
export const poolsOf = (
  orders: readonly PoolOrder[],
  { rendered, images }: MadeForPools,
): readonly PoolHandOver[] =>
  orders.map((order) => {
    const config = rendered.find(({ pool }) => pool === order.pool);
    const image = images.find(({ pool }) => pool === order.pool);
    if (config !== undefined && image?.renderedConfig === config.name) {
      return { order, rendered: config, image };
    }
    throw handOverFailure(
      'layering.no-image',
      `pool ${order.pool} has no image of its MachineConfig ${config?.name ?? '(none)'}`,
    );
  });
