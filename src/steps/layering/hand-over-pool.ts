import { Buffer } from 'node:buffer';
import { secrets } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { machineOSBuildObject } from '../../layering/api/os-build.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import type { Fields } from '../../lib/fields.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  operatorNamespace,
  readSecretManifest,
} from '../../layering/manifests/bootstrap-manifests.ts';
import { minutes, renderDuration } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import { isEarlyPool } from './conditions.ts';
import { type ImageTag, tagImage } from './publish-images.ts';
import type { PoolRequest, PublishedImage, RenderedConfig } from './facts.ts';
import {
  createUnlessThere,
  putBuild,
  putOsConfig,
  submitOsConfig,
  tieBuild,
} from './hand-over-objects.ts';
import {
  nameOfBuild,
  type OtherRendering,
  type RenderedPool,
  settlesWithin,
  waitForPool,
  waitForRendering,
} from './rendered-pool.ts';

/** A pool with what was made for it. */
export interface PoolHandOver {
  readonly request: PoolRequest;
  readonly rendered: RenderedConfig;
  readonly image: PublishedImage;
}

/** An image with the names of what it is handed over by. */
interface HandedImage {
  readonly pool: string;
  /** The rendered MachineConfig that it is handed over for. */
  readonly renderedConfig: string;
  /** Name of the MachineOSBuild, as the cluster's builder would choose it. */
  readonly machineOSBuild: string;
  /** HOST/[NAMESPACE/]NAME@sha256:… */
  readonly image: string;
  /** The user's MachineOSConfig. */
  readonly osConfig: Fields;
}

type HandOverScope = StepScope<'host' | 'kube' | 'clock'>;

/**
 * Hands the image of a pool over: Secrets, tag, MachineOSBuild, its status, MachineOSConfig, its
 * status, owner. Each is there before the controllers of the cluster look for it, in an order in
 * which none of them ever sees a reason to build or to take an image away. What exists already is
 * kept, so that an attempt that was cut off at any point is taken up by the next. A pool that was
 * rendered again meanwhile is looked at again. Where the image does not fit what is rendered, the
 * cluster builds.
 * @throws AgentError `layering.*`, `wait.timed-out`, `kube.*`
 */
export async function handOverPool(scope: HandOverScope, pool: PoolHandOver): Promise<void> {
  const { request } = pool;
  const isServed = isEarlyPool(request.pool);
  const first = await prepareImage(scope, pool, { settles: settlesWithin, mustFit: isServed });
  if (first.difference !== undefined && !isServed) {
    await leaveBuildToCluster(scope, pool, first.difference);
    return;
  }
  for (let image: HandedImage | undefined = first.image; image !== undefined;) {
    const untagged = await tryTag(scope, tagOf(image, request));
    await handOverImage(scope, image, request.config);
    if (untagged !== undefined) warnOfTag(scope, image, untagged);
    image = await renderedSince(scope, pool, image);
  }
}

/**
 * The image for what the pool was rendered as since it was looked at; undefined where it is as
 * before, or needs another image.
 */
async function renderedSince(
  scope: HandOverScope,
  pool: PoolHandOver,
  { renderedConfig }: HandedImage,
): Promise<HandedImage | undefined> {
  const name = pool.request.pool;
  if ((await waitForPool(scope, name)) === renderedConfig) return undefined;
  const again = await prepareImage(scope, pool, { settles: 0, mustFit: false });
  scope.note('info', `pool ${name} was rendered again: ${again.difference ?? 'as before'}`);
  return again.isImageForBoth ? again.image : undefined;
}

/**
 * Hands an image over, once its Secrets are there.
 * @param config the MachineOSConfig of the image as the API server would keep it
 * @throws AgentError `layering.*`, `kube.*`
 */
async function handOverImage(
  scope: StepScope<'kube' | 'clock'>,
  { pool, renderedConfig, machineOSBuild: build, image, osConfig }: HandedImage,
  config: MachineOSConfig,
): Promise<void> {
  const wanted = machineOSBuildObject(config, { name: build, renderedConfig });
  await putBuild(scope, wanted, image);
  const uid = await putOsConfig(scope, { osConfig, build, image });
  await tieBuild(scope, wanted, { name: config.name, uid });
  scope.note('info', `the OS image of pool ${pool} is handed over`, {
    image,
    machineOSBuild: build,
  });
}

const tagOf = ({ image, machineOSBuild }: HandedImage, { pushSecret }: PoolRequest): ImageTag => ({
  final: image,
  tag: machineOSBuild,
  pushSecret,
});

/** An image that can be handed over for what its pool is rendered as now. */
async function prepareImage(
  scope: HandOverScope,
  { request, rendered, image: { final: image } }: PoolHandOver,
  other: OtherRendering,
): Promise<Omit<RenderedPool, 'pool'> & { readonly image: HandedImage }> {
  const { pool, config, object: osConfig } = request;
  const found = await waitForRendering(scope, rendered, other);
  scope.progress({ info: `Handing the image of ${pool} over` });
  await putSecrets(scope, request, config);
  const machineOSBuild = await nameOfBuild(scope, config, found.pool);
  const renderedConfig = renderedNameOf(found.pool);
  return { ...found, image: { pool, renderedConfig, machineOSBuild, image, osConfig } };
}

async function leaveBuildToCluster(
  scope: StepScope<'kube'>,
  { request, rendered }: PoolHandOver,
  why: string,
): Promise<void> {
  const { pool, object } = request;
  scope.note('warn', `the OS image of pool ${pool} is not used, the cluster builds one: ${why}`, {
    builtFor: rendered.name,
  });
  await submitOsConfig(scope, object);
}

/**
 * A tag moves no data; the pool is paused, or has no node with the image, as long as a registry
 * takes.
 */
const tagWithin = minutes(5);

/**
 * Tags the image by the name of its build. By the tag the builder finds the image again should a
 * MachineOSConfig lose the name of its build.
 * @returns why there is no tag; undefined when there is one
 */
async function tryTag(scope: HandOverScope, tag: ImageTag): Promise<AgentError | undefined> {
  const { clock, signal } = scope;
  const late = (): Error =>
    layeringFailure(
      'layering.registry-unreachable',
      `tagging ${tag.final} as ${tag.tag}: not within ${renderDuration(tagWithin)}`,
    );
  try {
    await limited(clock, { limit: tagWithin, signal, late }, (inner) =>
      tagImage({ ...scope, signal: inner }, tag),
    );
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return asAgentError(error);
  }
}

/** All but the tag is there, which is no reason to end an installation. */
const warnOfTag = (scope: HandOverScope, image: HandedImage, { code, message }: AgentError): void =>
  scope.note(
    'warn',
    `the OS image of pool ${image.pool} has no tag ${image.machineOSBuild} in its registry: add it by hand`,
    { code, reason: message, image: image.image },
  );

/**
 * Puts the Secrets of a pool where the Machine Config Operator looks for them. One that exists is
 * kept: the manifests of the installation put it there, and somebody may have given it newer
 * credentials since.
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
    throw layeringFailure('layering.manifest-unusable', `${path} holds no Secret ${name}`, {
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
