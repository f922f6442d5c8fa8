import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { copyImageArgv, digestArgv } from '../../layering/build/container-tools.ts';
import { hours } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { withSecretFile } from './auth-files.ts';
import { buildsOsImages } from './conditions.ts';
import {
  type BuiltImage,
  BuiltImages,
  OsImageOrder,
  type PoolOrder,
  type PublishedImage,
  PublishedImages,
  StagingRegistry,
} from './facts.ts';
import { copyImage } from './images/copy-image.ts';
import { imageWork } from './image-work.ts';
import { requirePullable } from './images/require-pullable.ts';
import { orStock } from './or-stock.ts';
import { keepRegistry, type RunningRegistry } from './registry-health.ts';

/**
 * Copies the images to where nodes and cluster find them for good, byte by byte. A registry that makes something
 * else of them is refused: all know an image by its digest. So is one that does not give it to nodes.
 */
export const publishImages = step({
  id: 'layering/publish-images',
  title: 'Copy the images to their final registry',
  uses: ['host', 'clock'],
  needs: { order: OsImageOrder, registry: StagingRegistry, built: BuiltImages },
  gives: PublishedImages,
  when: buildsOsImages,
  limit: hours(4),
  preview: () => previewOf(),
  run: async (scope, { order, registry, built }) => {
    if (built.kind === 'stock') return built;
    if (order.kind === 'off') return { kind: 'stock', why: order.why } as const;
    if (registry.kind === 'stock') return registry;
    return orStock(scope, async () => {
      await keepRegistry(scope, registry);
      const images: PublishedImage[] = [];
      for (const image of built.images) {
        const pool = order.pools.find((one) => one.pool === image.pool);
        if (pool !== undefined) images.push(await publish(scope, { registry, image, pool }));
      }
      return { kind: 'published', images } as const;
    });
  },
});

interface Publication {
  readonly registry: RunningRegistry;
  readonly image: BuiltImage;
  readonly pool: PoolOrder;
}

async function publish(
  scope: StepScope<'host' | 'clock'>,
  { registry, image, pool: { pool, repository, pushSecret } }: Publication,
): Promise<PublishedImage> {
  const { staged, digest, renderedConfig } = image;
  const { authFile, certificates } = registry;
  scope.progress({ info: `Publishing OS image of ${pool}` });
  await withSecretFile(scope, { secret: pushSecret, name: `push-${pool}` }, (pushAuth) =>
    copyImage(imageWork(scope), {
      what: `copying the image of ${pool} to ${repository}`,
      from: { image: staged, authFile, certificates },
      to: { image: `${repository}:${renderedConfig}`, authFile: pushAuth },
      digest,
    }),
  );
  const final = `${repository}@${digest}`;
  await requirePullable(imageWork(scope), { image: final, digest });
  return { ...image, final };
}

function previewOf(): readonly (readonly string[])[] {
  const from = { image: '<staged image>', authFile: '<its user>', certificates: '<certificates>' };
  const to = { image: '<repository>:<rendered config>', authFile: '<push Secret>' };
  const asNode = { image: '<repository>@<digest>', authFile: PULL_SECRET_PATH };
  return [copyImageArgv({ from, to }), digestArgv(to), digestArgv(asNode)];
}
