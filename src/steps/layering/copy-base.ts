import { configArgv, copyImageArgv, rawArgv } from '../../layering/build/container-tools.ts';
import { hours } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { pullSecretFor, withAuthFile } from './auth-files.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, type PoolOrder, RenderedConfigs, StagingRegistry } from './facts.ts';
import { architectureArgv } from '../host-commands.ts';
import { copyBaseImage } from './images/copy-base-image.ts';
import { imageWork } from './image-work.ts';
import { orStock } from './or-stock.ts';
import { keepRegistry, type RunningRegistry } from './registry-health.ts';
import { unlessStaged } from './skips.ts';
import { stagingRepository } from './staging-image.ts';

/**
 * Copies the operating system of the release into the registry of this host, digests kept, and nothing else of the
 * release. Pools mostly share it.
 */
export const copyBase = step({
  id: 'layering/copy-base',
  title: 'Copy the operating system of the release into the registry',
  uses: ['host', 'clock'],
  needs: { order: OsImageOrder, rendered: RenderedConfigs, registry: StagingRegistry },
  when: buildsOsImages,
  skipIf: unlessStaged,
  limit: hours(3),
  preview: () => previewOf(),
  run: async (scope, { order, rendered, registry }) => {
    if (order.kind === 'off' || registry.kind === 'stock') return;
    // Without it the build takes the base from where it comes from; if that fails too, the build tells.
    await orStock(scope, async () => {
      await keepRegistry(scope, registry);
      const copied = new Set<string>();
      for (const { pool, osImage } of rendered) {
        if (copied.has(osImage)) continue;
        const from = order.pools.find((one) => one.pool === pool);
        await copyOne(scope, { registry, osImage, baseSecret: from?.baseSecret });
        copied.add(osImage);
      }
    });
  },
});

interface BaseToCopy extends Pick<PoolOrder, 'baseSecret'> {
  readonly registry: RunningRegistry;
  readonly osImage: string;
}

async function copyOne(
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

function previewOf(): readonly (readonly string[])[] {
  const base = { image: '<osImageURL>', authFile: '<pull secret>' };
  const to = { image: '<registry>/layering/os:<base>', authFile: '<its user>' };
  return [architectureArgv, configArgv(base), rawArgv(base), copyImageArgv({ from: base, to })];
}
