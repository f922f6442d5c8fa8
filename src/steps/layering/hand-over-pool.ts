import { Buffer } from 'node:buffer';
import { configMaps, machineConfigs, secrets } from '../../cluster/kinds.ts';
import { isAtLeast, releaseVersion } from '../../cluster/release-version.ts';
import { buildName } from '../../layering/api/build-name.ts';
import { readMachineConfigPool } from '../../layering/api/machine-config-pool.ts';
import { type MachineConfig, readMachineConfig } from '../../layering/api/machine-config.ts';
import { machineOSBuildObject } from '../../layering/api/os-build.ts';
import { type MachineOSConfig, readMachineOSConfig } from '../../layering/api/os-config.ts';
import {
  imagesOfMachineConfig,
  type OSImages,
  readOSImages,
} from '../../layering/api/os-images.ts';
import type { Fields } from '../../layering/api/schema.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import {
  operatorNamespace,
  readSecretManifest,
} from '../../layering/manifests/bootstrap-manifests.ts';
import { lineless } from '../../layering/source-object.ts';
import { seconds } from '../../model/duration.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import { type ImageTag, tagImage } from './copy-image.ts';
import type { PoolRequest, PublishedImage, RenderedConfig } from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { createUnlessThere, putBuild, putOsConfig, tieBuild } from './hand-over-objects.ts';
import { waitForSameRendered } from './rendered-pool.ts';

/** A pool with what was made for it. */
export interface PoolHandOver {
  readonly request: PoolRequest;
  readonly rendered: RenderedConfig;
  readonly image: PublishedImage;
}

/**
 * Hands the image of a pool over: Secrets, tag, MachineOSBuild, its status, MachineOSConfig, its status, owner.
 * Each is there before the controllers of the cluster look for it, in an order in which none of them ever sees a
 * reason to build or to take an image away. What is there already is left as it is, so that an attempt that was
 * cut off at any point is taken up by the next.
 * @throws AgentError `layering.*`, `wait.timed-out`, `kube.*`
 */
export async function handOverPool(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  pool: PoolHandOver,
): Promise<void> {
  const image = await prepareImage(scope, pool);
  const { config } = pool.request;
  await tagAndWrite(scope, tagOf(image, pool), () => handOverImage(scope, image, config));
}

/**
 * Puts there what has to be before the objects that name an image, Secrets and tag, and gives what these are made from.
 * None of the controllers does anything about it.
 * @throws AgentError `layering.*`, `wait.timed-out`, `kube.*`
 */
export async function stageImage(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  pool: PoolHandOver,
): Promise<LeftImage> {
  const image = await prepareImage(scope, pool);
  await tagImage(scope, tagOf(image, pool));
  return image;
}

/**
 * Hands an image over, once its Secrets are there.
 * @param config the MachineOSConfig of the image as the API server would keep it
 * @throws AgentError `layering.*`, `kube.*`
 */
export async function handOverImage(
  scope: StepScope<'kube' | 'clock'>,
  { pool, renderedConfig, machineOSBuild: build, image, osConfig }: LeftImage,
  config: MachineOSConfig = readMachineOSConfig(lineless(osConfig, `MachineOSConfig ${pool}`)),
): Promise<void> {
  const wanted = machineOSBuildObject(config, { name: build, renderedConfig });
  await putBuild(scope, { wanted, image });
  const uid = await putOsConfig(scope, { osConfig, build, image });
  await tieBuild(scope, wanted, { name: config.name, uid });
  scope.note('info', `the OS image of pool ${pool} is handed over`, {
    image,
    machineOSBuild: build,
  });
}

const tagOf = ({ image, machineOSBuild }: LeftImage, { request }: PoolHandOver) => ({
  final: image,
  tag: machineOSBuild,
  pushSecret: request.pushSecret,
});

async function prepareImage(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  { request, rendered, image: { final: image } }: PoolHandOver,
): Promise<LeftImage> {
  const { pool, config, object: osConfig } = request;
  const found = await waitForSameRendered(scope, rendered);
  scope.progress({ info: `Handing the image of ${pool} over` });
  await putSecrets(scope, request, config);
  const machineOSBuild = await nameOfBuild(scope, config, found);
  return { pool, renderedConfig: rendered.name, machineOSBuild, image, osConfig };
}

/**
 * What a registry may take before the objects are written all the same: five seconds after a pool is rendered the
 * node controller takes the image off the nodes of one that nobody layered, which is worse than a build without a tag.
 */
const headStart = seconds(2);

/**
 * Tags the image, then writes; a registry that is slow is waited for behind the objects and not before them. The tag
 * is what lets the builder find the image again should a MachineOSConfig lose the name of its build.
 * @throws AgentError `layering.*` of the tag, once all is written; what `write` throws
 */
async function tagAndWrite(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  tag: ImageTag,
  write: () => Promise<void>,
): Promise<void> {
  const tagged = tagImage(scope, tag);
  const over = tagged.then(
    () => undefined,
    () => undefined,
  );
  await atMost(scope, over);
  try {
    await write();
  } finally {
    await over;
  }
  await tagged;
}

async function atMost({ clock, signal }: StepScope<'clock'>, over: Promise<void>): Promise<void> {
  const enough = new AbortController();
  const limit = clock
    .sleep(headStart, AbortSignal.any([signal, enough.signal]))
    .catch(() => undefined);
  await Promise.race([over, limit]);
  enough.abort(new Error('the tag is there'));
  await limit;
  signal.throwIfAborted();
}

/**
 * Puts the Secrets of a pool where the Machine Config Operator looks for them. One that is there is left as it is:
 * the manifests of the installation put it there, and somebody may have given it newer credentials since.
 * @throws AgentError `layering.manifest-unusable`, `kube.*`
 */
export async function putSecrets(
  scope: StepScope<'host' | 'kube'>,
  { pushSecret, baseSecret }: PoolRequest,
  { spec }: MachineOSConfig,
): Promise<void> {
  const wanted = new Map([[spec.renderedImagePushSecret.name, pushSecret]]);
  const base = spec.baseImagePullSecret?.name;
  if (base !== undefined && baseSecret !== undefined) wanted.set(base, baseSecret);
  for (const [name, path] of wanted) {
    const object = await readSecret(scope, { name, path });
    await createUnlessThere(scope, { kind: secrets, name, namespace: operatorNamespace }, object);
  }
}

async function readSecret(
  { host, signal }: StepScope<'host'>,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<KubeObject> {
  const text = await host.readText(path, signal);
  const secret = text === undefined ? undefined : readSecretManifest({ path, text }, name);
  if (secret === undefined) {
    throw layeringStepFailure('layering.manifest-unusable', `${path} holds no Secret ${name}`, {
      context: { path },
    });
  }
  const data = Object.entries(secret.data).map(
    ([key, value]) => [key, Buffer.from(value).toString('base64')] as const,
  );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: operatorNamespace },
    type: secret.type,
    data: Object.fromEntries(data),
  };
}

/** Since this release the images are taken from the rendered MachineConfig (machine-config-operator, release-4.22). */
const namesImagesItself = [4, 22, 0] as const;

const imagesMap: KubeRef = {
  kind: configMaps,
  name: 'machine-config-osimageurl',
  namespace: operatorNamespace,
};

/**
 * The name that the cluster's builder would choose for the build of a pool. With any other, a pool that loses its
 * annotation is built again.
 * @param found the MachineConfigPool of the cluster
 * @throws AgentError `layering.images-unknown`, `layering.no-name`, `layering.*` of what is read, `kube.*`
 */
async function nameOfBuild(
  scope: StepScope<'kube'>,
  config: MachineOSConfig,
  found: KubeObject,
): Promise<string> {
  const pool = readMachineConfigPool(asSource(found));
  const { name } = pool.configuration;
  const rendered = await scope.kube.get({ kind: machineConfigs, name }, scope.signal);
  if (rendered === undefined) {
    throw layeringStepFailure(
      'layering.images-unknown',
      `MachineConfig ${name} is not in the cluster`,
    );
  }
  const machineConfig = readMachineConfig(asSource({ ...rendered, kind: 'MachineConfig' }));
  return buildName({ config, pool, images: await imagesFor(scope, machineConfig) });
}

async function imagesFor(
  { kube, signal }: StepScope<'kube'>,
  machineConfig: MachineConfig,
): Promise<OSImages> {
  const version = releaseVersion(machineConfig.releaseVersion);
  if (version === undefined || isAtLeast(version, namesImagesItself)) {
    return imagesOfMachineConfig(machineConfig);
  }
  const found = await kube.get(imagesMap, signal);
  if (found !== undefined) return readOSImages(asSource({ ...found, kind: 'ConfigMap' }));
  throw layeringStepFailure(
    'layering.images-unknown',
    `ConfigMap ${imagesMap.name} is not in namespace ${operatorNamespace}`,
  );
}

const asSource = (object: KubeObject): ReturnType<typeof lineless> =>
  lineless(object as unknown as Fields, `${object.kind ?? ''} ${object.metadata.name}`);
