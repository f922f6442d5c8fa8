import { machineOSBuildObject } from '../../layering/api/os-build.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { readMachineOSConfig } from '../../layering/api/os-config.ts';
import { lineless, type SourceObject } from '../../layering/source-object.ts';
import type { StepScope } from '../step.ts';
import type { PoolOrder, PublishedImage, RenderedConfig } from './facts.ts';
import { putBuild, tieBuild } from './hand-over-build.ts';
import { readManifest } from './hand-over-manifest.ts';
import { nameOfBuild } from './hand-over-name.ts';
import { putOsConfig } from './hand-over-os-config.ts';
import { waitForSameRendered } from './hand-over-rendered.ts';
import { putSecrets } from './hand-over-secrets.ts';
import { tagAndWrite } from './hand-over-tag.ts';
import { tagImage } from './tag-image.ts';

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
  pool: PoolHandOver,
): Promise<void> {
  const { image, source } = await prepareImage(scope, pool);
  await tagAndWrite(scope, tagOf(image, pool), () => handOverImage(scope, image, source));
}

/**
 * Puts there what has to be before the objects that name an image, Secrets and tag, and gives what these are made from.
 * None of the controllers does anything about it.
 * @throws AgentError `layering.*`, `wait.timed-out`, `kube.*`
 */
export async function leaveImage(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  pool: PoolHandOver,
): Promise<LeftImage> {
  const { image } = await prepareImage(scope, pool);
  await tagImage(scope, tagOf(image, pool));
  return image;
}

/**
 * Tells the cluster of an image, once its Secrets are there.
 * @param source the MachineOSConfig where it was read, for messages
 * @throws AgentError `layering.*`, `kube.*`
 */
export async function handOverImage(
  scope: StepScope<'kube' | 'clock'>,
  { pool, renderedConfig, machineOSBuild: build, image, osConfig }: LeftImage,
  source: SourceObject = lineless(osConfig, `the MachineOSConfig ${pool} of the installation`),
): Promise<void> {
  const config = readMachineOSConfig(source);
  const wanted = machineOSBuildObject(config, { name: build, renderedConfig });
  await putBuild(scope, { wanted, image });
  const uid = await putOsConfig(scope, { source, build, image });
  await tieBuild(scope, wanted, { name: config.name, uid });
  scope.note('info', `pool ${pool} has its image`, { image, machineOSBuild: build });
}

const tagOf = ({ image, machineOSBuild }: LeftImage, { order }: PoolHandOver) => ({
  final: image,
  tag: machineOSBuild,
  pushSecret: order.pushSecret,
});

async function prepareImage(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  { order, rendered, image: { final: image } }: PoolHandOver,
): Promise<{ readonly image: LeftImage; readonly source: SourceObject }> {
  const source = await readManifest(scope, { path: order.osConfig, kind: 'MachineOSConfig' });
  const config = readMachineOSConfig(source);
  const found = await waitForSameRendered(scope, rendered);
  scope.progress({ info: `Handing the image of ${order.pool} over` });
  await putSecrets(scope, order, config);
  const machineOSBuild = await nameOfBuild(scope, config, found);
  const { pool } = order;
  const left = { pool, renderedConfig: rendered.name, machineOSBuild, image };
  return { image: { ...left, osConfig: source.value }, source };
}
