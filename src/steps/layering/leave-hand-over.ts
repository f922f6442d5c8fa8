import { isActive } from '../../engine/condition.ts';
import type { FactValue } from '../../engine/fact.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { leavesFollowUp, wantsFollowUp } from '../after-pivot/conditions.ts';
import { leaveJob } from '../after-pivot/leave-job.ts';
import { listAddressesArgv } from '../after-pivot/own-host.ts';
import { longestWait } from '../cluster/kube-watch.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import {
  HandOverBy,
  OsImageOrder,
  PublishedImages,
  type RenderedConfig,
  RenderedConfigs,
} from './facts.ts';
import { poolsOf } from './hand-over.ts';
import { leaveImage } from './hand-over-pool.ts';
import { joinsWithStock } from './skips.ts';

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
