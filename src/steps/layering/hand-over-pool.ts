import { machineOSBuildObject } from '../../layering/os-build/object.ts';
import { readMachineOSConfig } from '../../layering/os-config/read.ts';
import type { StepScope } from '../step.ts';
import type { PoolOrder, PublishedImage, RenderedConfig } from './facts.ts';
import { putBuild, tieBuild } from './hand-over-build.ts';
import { readManifest } from './hand-over-manifest.ts';
import { nameOfBuild } from './hand-over-name.ts';
import { putOsConfig } from './hand-over-os-config.ts';
import { waitForSameRendered } from './hand-over-rendered.ts';
import { putSecrets } from './hand-over-secrets.ts';
import { tagAndWrite } from './hand-over-tag.ts';

/** A pool with what was made for it. */
export interface PoolHandOver {
  readonly order: PoolOrder;
  readonly rendered: RenderedConfig;
  readonly image: PublishedImage;
}

/**
 * Tells the cluster of the image of a pool: Secrets, tag, MachineOSBuild, its status, MachineOSConfig, its status, owner.
 * Each is there before the controllers of the cluster look for it, in an order in which none of them ever sees a
 * reason to build or to take an image away. What is there already is left as it is, so that an attempt that was
 * cut off at any point is taken up by the next.
 * @throws AgentError `layering.*`, `wait.timed-out`, `kube.*`
 */
export async function handOverPool(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  { order, rendered, image: { final: image } }: PoolHandOver,
): Promise<void> {
  const source = await readManifest(scope, { path: order.osConfig, kind: 'MachineOSConfig' });
  const config = readMachineOSConfig(source);
  const found = await waitForSameRendered(scope, rendered);
  scope.progress({ info: `Handing the image of ${order.pool} over` });
  await putSecrets(scope, order, config);
  const name = await nameOfBuild(scope, config, found);
  const wanted = machineOSBuildObject(config, { name, renderedConfig: rendered.name });
  const { pushSecret } = order;
  await tagAndWrite(scope, { final: image, tag: name, pushSecret }, async () => {
    await putBuild(scope, { wanted, image });
    const uid = await putOsConfig(scope, { source, build: name, image });
    await tieBuild(scope, wanted, { name: config.name, uid });
  });
  scope.note('info', `pool ${order.pool} has its image`, { image, machineOSBuild: name });
}
