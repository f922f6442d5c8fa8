import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import {
  baseTag,
  copyImageArgv,
  digestArgv,
  type ImageAt,
} from '../../layering/build/container-tools.ts';
import { hours } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { withSecretFile } from './auth-files.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, type PoolOrder, RenderedConfigs, StagingRegistry } from './facts.ts';
import { imageWork } from './image-work.ts';
import { copyImage, digestAt } from './images/copy-image.ts';
import { requirePullable } from './images/require-pullable.ts';
import { withTries } from './images/work.ts';
import { orStock } from './or-stock.ts';
import { keepRegistry } from './registry-health.ts';
import { unlessStaged } from './skips.ts';
import { stagingRepository } from './staging-image.ts';

/**
 * Sends the operating system of the release ahead to the repositories of the images. They need its layers in any case;
 * sent before the build, they tell who may not push or pull there half an hour earlier.
 */
export const sendBase = step({
  id: 'layering/send-base',
  title: 'Send the operating system of the release ahead to the final registry',
  uses: ['host', 'clock'],
  needs: { order: OsImageOrder, rendered: RenderedConfigs, registry: StagingRegistry },
  when: buildsOsImages,
  skipIf: unlessStaged,
  limit: hours(4),
  preview: () => {
    const from = { image: '<staged base>', authFile: '<its user>', certificates: '<certificates>' };
    const to = { image: '<repository>:<base>', authFile: '<push Secret>' };
    return [
      digestArgv(from),
      copyImageArgv({ from, to }),
      digestArgv(to),
      digestArgv({ ...to, authFile: PULL_SECRET_PATH }),
    ];
  },
  run: async (scope, { order, rendered, registry }) => {
    if (order.kind === 'off' || registry.kind === 'stock') return;
    // Where the policy is to go on, what comes of it is told when the images themselves are published.
    await orStock(scope, async () => {
      await keepRegistry(scope, registry);
      const { authFile, certificates } = registry;
      for (const { pool, osImage } of rendered) {
        const goal = order.pools.find((one) => one.pool === pool);
        const image = `${stagingRepository(registry)}:${baseTag(osImage)}`;
        const from = { image, authFile, certificates };
        if (goal !== undefined) await send(scope, { from, goal, tag: baseTag(osImage) });
      }
    });
  },
});

interface Parcel {
  readonly from: ImageAt;
  readonly goal: PoolOrder;
  readonly tag: string;
}

async function send(
  scope: StepScope<'host' | 'clock'>,
  { from, goal: { pool, repository, pushSecret }, tag }: Parcel,
): Promise<void> {
  const work = imageWork(scope);
  const what = `sending the base image of ${pool} to ${repository}`;
  const image = `${repository}:${tag}`;
  scope.progress({ info: `Sending the base image of ${pool} ahead` });
  const tried = { what, otherwise: 'layering.copy-failed' } as const;
  const digest = await withTries(work, tried, () => digestAt(work, from));
  await withSecretFile(scope, { secret: pushSecret, name: `push-${pool}` }, (authFile) =>
    copyImage(work, { what, from, to: { image, authFile }, digest }),
  );
  await requirePullable(work, { image, digest });
}
