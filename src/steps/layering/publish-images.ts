import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import {
  baseTag,
  registryConfigArgv,
  copyImageArgv,
  registryDigestArgv,
  type ImageAt,
  registryManifestArgv,
} from '../../layering/build/container-tools.ts';
import { hours } from '../../model/duration.ts';
import { buildsOsImages } from '../conditions.ts';
import { architectureArgv } from '../host-commands.ts';
import { step, type StepScope } from '../step.ts';
import { withReleaseFallback, unlessStaged } from './conditions.ts';
import { copyBaseImage, copyImage, digestAt, requirePullable } from './copy-image.ts';
import {
  type BuiltImage,
  BuiltImages,
  BuildRequest,
  type PoolRequest,
  type PublishedImage,
  PublishedImages,
  RenderedConfigs,
  StagingRegistry,
} from './facts.ts';
import { imageWork, withTries } from './image-work.ts';
import { pullSecretFor, withAuthFile, withSecretFile } from './manifests.ts';
import { keepRegistry, type RunningRegistry, stagingRepository } from './staging-registry.ts';

/**
 * Copies the operating system of the release into the registry of this host, digests kept, and nothing else of the
 * release. Pools mostly share it.
 */
export const copyBase = step({
  id: 'layering/copy-base',
  title: 'Copy the OS image of the release to the staging registry',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest, rendered: RenderedConfigs, registry: StagingRegistry },
  when: buildsOsImages,
  skipIf: unlessStaged,
  limit: hours(3),
  preview: () => copyPreview(),
  run: async (scope, { request, rendered, registry }) => {
    if (request.kind === 'off' || registry.kind === 'release') return;
    // Without it the build takes the base from where it comes from; if that fails too, the build fails.
    await withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const copied = new Set<string>();
      for (const { pool, osImage } of rendered) {
        if (copied.has(osImage)) continue;
        const from = request.pools.find((one) => one.pool === pool);
        await copyBaseOf(scope, { registry, osImage, baseSecret: from?.baseSecret });
        copied.add(osImage);
      }
    });
  },
});

interface BaseToCopy extends Pick<PoolRequest, 'baseSecret'> {
  readonly registry: RunningRegistry;
  readonly osImage: string;
}

async function copyBaseOf(
  scope: StepScope<'host' | 'clock'>,
  { registry, osImage, baseSecret }: BaseToCopy,
): Promise<void> {
  const text = await pullSecretFor(scope, { baseSecret });
  const { authFile, certificates } = registry;
  await withAuthFile(scope, { name: 'base', text }, (baseAuth) =>
    copyBaseImage(imageWork(scope), {
      base: { image: osImage, authFile: baseAuth },
      repository: stagingRepository(registry),
      access: { authFile, certificates },
    }),
  );
}

function copyPreview(): readonly (readonly string[])[] {
  const base = { image: '<osImageURL>', authFile: '<pull secret>' };
  const to = { image: '<registry>/layering/os:<base>', authFile: '<its user>' };
  return [
    architectureArgv,
    registryConfigArgv(base),
    registryManifestArgv(base),
    copyImageArgv({ from: base, to }),
  ];
}

/**
 * Sends the operating system of the release ahead to the repositories of the images. They need its layers in any case;
 * copied before the build, they show half an hour earlier that a push or pull is denied.
 */
export const sendBase = step({
  id: 'layering/send-base',
  title: 'Copy the OS image of the release to the final registry',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest, rendered: RenderedConfigs, registry: StagingRegistry },
  when: buildsOsImages,
  skipIf: unlessStaged,
  limit: hours(4),
  preview: () => {
    const from = { image: '<staged base>', authFile: '<its user>', certificates: '<certificates>' };
    const to = { image: '<repository>:<base>', authFile: '<push Secret>' };
    return [
      registryDigestArgv(from),
      copyImageArgv({ from, to }),
      registryDigestArgv(to),
      registryDigestArgv({ ...to, authFile: PULL_SECRET_PATH }),
    ];
  },
  run: async (scope, { request, rendered, registry }) => {
    if (request.kind === 'off' || registry.kind === 'release') return;
    // Where the policy is to go on, a failure is reported when the images themselves are published.
    await withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const { authFile, certificates } = registry;
      for (const { pool, osImage } of rendered) {
        const goal = request.pools.find((one) => one.pool === pool);
        const image = `${stagingRepository(registry)}:${baseTag(osImage)}`;
        const from = { image, authFile, certificates };
        if (goal !== undefined) await send(scope, { from, goal, tag: baseTag(osImage) });
      }
    });
  },
});

interface BaseTransfer {
  readonly from: ImageAt;
  readonly goal: PoolRequest;
  readonly tag: string;
}

async function send(
  scope: StepScope<'host' | 'clock'>,
  { from, goal: { pool, repository, pushSecret }, tag }: BaseTransfer,
): Promise<void> {
  const work = imageWork(scope);
  const what = `copying the base image of ${pool} to ${repository}`;
  const image = `${repository}:${tag}`;
  scope.progress({ info: `Sending the base image of ${pool} ahead` });
  const tried = { what, otherwise: 'layering.copy-failed' } as const;
  const digest = await withTries(work, tried, () => digestAt(work, from));
  await withSecretFile(scope, { secret: pushSecret, name: `push-${pool}` }, (authFile) =>
    copyImage(work, { what, from, to: { image, authFile }, digest }),
  );
  await requirePullable(work, { image, digest });
}

/**
 * Copies the images to where nodes and cluster find them for good, byte by byte. A registry that makes something
 * else of them is refused: all know an image by its digest. So is one that does not give it to nodes.
 */
export const publishImages = step({
  id: 'layering/publish-images',
  title: 'Copy the built OS images to their final registry',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest, registry: StagingRegistry, built: BuiltImages },
  gives: PublishedImages,
  when: buildsOsImages,
  limit: hours(4),
  preview: () => publishPreview(),
  run: async (scope, { request, registry, built }) => {
    if (built.kind === 'release') return built;
    if (request.kind === 'off') return { kind: 'release', why: request.why } as const;
    if (registry.kind === 'release') return registry;
    return withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const images: PublishedImage[] = [];
      for (const image of built.images) {
        const pool = request.pools.find((one) => one.pool === image.pool);
        if (pool !== undefined) images.push(await publish(scope, { registry, image, pool }));
      }
      return { kind: 'published', images } as const;
    });
  },
});

interface Publication {
  readonly registry: RunningRegistry;
  readonly image: BuiltImage;
  readonly pool: PoolRequest;
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
      what: `copying the OS image of ${pool} to ${repository}`,
      from: { image: staged, authFile, certificates },
      to: { image: `${repository}:${renderedConfig}`, authFile: pushAuth },
      digest,
    }),
  );
  const final = `${repository}@${digest}`;
  await requirePullable(imageWork(scope), { image: final, digest });
  return { ...image, final };
}

function publishPreview(): readonly (readonly string[])[] {
  const from = { image: '<staged image>', authFile: '<its user>', certificates: '<certificates>' };
  const to = { image: '<repository>:<rendered config>', authFile: '<push Secret>' };
  const asNode = { image: '<repository>@<digest>', authFile: PULL_SECRET_PATH };
  return [copyImageArgv({ from, to }), registryDigestArgv(to), registryDigestArgv(asNode)];
}
