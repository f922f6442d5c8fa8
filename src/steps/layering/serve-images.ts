import { servedMachineConfig } from '../../layering/delivery/serve.ts';
import { minutes } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, PublishedImages, type RenderedConfig, RenderedConfigs } from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { unlessAtFirstBoot } from './skips.ts';

/** The machine-config-server of a bootstrap host serves no other pools (machine-config-operator, `pkg/server`). */
const servedPools = ['master', 'arbiter'];

/**
 * Lets the masters be served the built image under the name of their rendered MachineConfig. A host where this
 * fails serves what was rendered, or all of the change: each file is replaced as a whole.
 */
export const serveImages = step({
  id: 'layering/serve-images',
  title: 'Put the built image into what the masters are served',
  uses: ['host'],
  needs: { order: OsImageOrder, rendered: RenderedConfigs, published: PublishedImages },
  when: buildsOsImages,
  skipIf: ({ order, published }) =>
    unlessAtFirstBoot({ order }) ?? (published.kind === 'stock' ? published.why : undefined),
  limit: minutes(5),
  run: async (scope, { rendered, published }) => {
    if (published.kind === 'stock') return;
    for (const { pool, final } of published.images) {
      const config = rendered.find((one) => one.pool === pool);
      if (config !== undefined && servedPools.includes(pool)) await serve(scope, config, final);
    }
  },
});

async function serve(
  { host, signal }: StepScope<'host'>,
  { file }: RenderedConfig,
  image: string,
): Promise<void> {
  const text = await host.readText(file, signal);
  if (text === undefined) throw layeringStepFailure('layering.not-rendered', `there is no ${file}`);
  const served = servedMachineConfig(text, { image, path: file });
  await host.writeFile(file, served, { signal, mode: 0o644 });
  if ((await host.readText(file, signal)) === served) return;
  throw layeringStepFailure('layering.not-served', `${file} does not hold what was written`);
}
