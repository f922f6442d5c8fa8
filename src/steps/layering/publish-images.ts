import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { builtFromLabel } from '../../layering/build/build-plan.ts';
import {
  baseTag,
  registryConfigArgv,
  copyImageArgv,
  registryDigestArgv,
  type ImageAt,
  registryManifestArgv,
  type Builder,
  pushArgv,
  type RegistryAccess,
} from '../../layering/build/container-tools.ts';
import { readImageFacts } from '../../layering/build/verify-image.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { digestOf, repositoryOf } from '../../lib/image-name.ts';
import { jsonIn } from '../../lib/json.ts';
import { hours, minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { digestInList, goArchitecture, lacksArchitecture } from '../../os/registry-image.ts';
import { buildsOsImages } from '../conditions.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { readArchitecture, unreadableOutput } from '../host-commands.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { withReleaseFallback, unlessStaged } from './conditions.ts';
import {
  BuiltImages,
  BuildRequest,
  type PoolRequest,
  type PublishedImage,
  PublishedImages,
  RenderedConfigs,
  StagingRegistry,
} from './facts.ts';
import { imageWork, withTries, factsOf, type ImageWork, stderrOf } from './image-work.ts';
import { pullSecretFor, withAuthFile, withSecretFile } from './manifests.ts';
import { accessTo, keepRegistry, stagingRepository } from './staging-registry.ts';

/**
 * Copies the operating system of the release into the registry of this host, digests kept, and
 * nothing else of the release. Pools mostly share it.
 */
export const copyBase = step({
  id: 'layering/copy-base',
  title: 'Copy the OS image of the release to the staging registry',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest, rendered: RenderedConfigs, registry: StagingRegistry },
  when: buildsOsImages,
  skipIf: unlessStaged,
  limit: hours(3),
  preview: () => callsOf('skopeo', 'uname'),
  run: async (scope, { request, rendered, registry }) => {
    if (request.kind !== 'on' || registry.kind === 'release') return;
    // Without it the build takes the base from where it comes from; if that fails too, the build
    // fails.
    await withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const copied = new Set<string>();
      for (const { pool, osImage } of rendered) {
        if (copied.has(osImage)) continue;
        const baseSecret = request.pools.find((one) => one.pool === pool)?.baseSecret;
        const text = await pullSecretFor(scope, baseSecret);
        await withAuthFile(scope, { name: 'base', text }, (authFile) =>
          copyBaseImage(imageWork(scope), {
            base: { image: osImage, authFile },
            repository: stagingRepository(registry),
            access: accessTo(registry),
          }),
        );
        copied.add(osImage);
      }
    });
  },
});

/**
 * Sends the operating system of the release ahead to the repositories of the images. They need its
 * layers in any case; copied before the build, they show half an hour earlier that a push or pull
 * is denied.
 */
export const sendBase = step({
  id: 'layering/send-base',
  title: 'Copy the OS image of the release to the final registry',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest, rendered: RenderedConfigs, registry: StagingRegistry },
  when: buildsOsImages,
  skipIf: unlessStaged,
  limit: hours(4),
  preview: () => callsOf('skopeo'),
  run: async (scope, { request, rendered, registry }) => {
    if (request.kind !== 'on' || registry.kind === 'release') return;
    // Where the policy is to continue, a failure is reported when the images themselves are
    // published.
    await withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const work = imageWork(scope);
      for (const { pool, osImage } of rendered) {
        const goal = request.pools.find((one) => one.pool === pool);
        if (goal === undefined) continue;
        const tag = baseTag(osImage);
        const from = { image: `${stagingRepository(registry)}:${tag}`, ...accessTo(registry) };
        const what = `copying the base image of ${pool} to ${goal.repository}`;
        scope.progress({ info: `Sending the base image of ${pool} ahead` });
        const tried = { what, otherwise: 'layering.copy-failed' } as const;
        const digest = await withTries(work, tried, () => digestAt(work, from));
        const image = await copyToRepository(scope, goal, { what, from, tag, digest });
        await requirePullable(work, { image, digest });
      }
    });
  },
});

/**
 * Copies the images to where nodes and cluster find them for good, byte by byte. A registry that
 * makes something else of them is refused: all know an image by its digest. So is one that does not
 * give it to nodes.
 */
export const publishImages = step({
  id: 'layering/publish-images',
  title: 'Copy the built OS images to their final registry',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest, registry: StagingRegistry, built: BuiltImages },
  gives: PublishedImages,
  when: buildsOsImages,
  limit: hours(4),
  preview: () => callsOf('skopeo'),
  run: async (scope, { request, registry, built }) => {
    if (built.kind === 'release') return built;
    if (request.kind !== 'on') return { kind: 'release', why: request.why } as const;
    if (registry.kind === 'release') return registry;
    return withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const images: PublishedImage[] = [];
      for (const image of built.images) {
        const goal = request.pools.find((one) => one.pool === image.pool);
        if (goal === undefined) continue;
        const { pool, repository } = goal;
        const { staged, digest, renderedConfig: tag } = image;
        const from = { image: staged, ...accessTo(registry) };
        const what = `copying the OS image of ${pool} to ${repository}`;
        scope.progress({ info: `Publishing OS image of ${pool}` });
        await copyToRepository(scope, goal, { what, from, tag, digest });
        const final = `${repository}@${digest}`;
        await requirePullable(imageWork(scope), { image: final, digest });
        images.push({ ...image, final });
      }
      return { kind: 'published', images } as const;
    });
  },
});

/** Gigabytes over a slow line. */
const longestCopy = minutes(30);

const longestQuestion = minutes(2);

interface ImageCopy {
  readonly what: string;
  readonly from: ImageAt;
  readonly to: ImageAt;
  /** What must arrive. */
  readonly digest: string;
}

/**
 * Copies an image to the repository of a pool, with the Secret that may push there; gives its name.
 */
async function copyToRepository(
  scope: StepScope<'host' | 'clock'>,
  { pool, repository, pushSecret }: PoolRequest,
  { tag, ...copy }: Omit<ImageCopy, 'to'> & { readonly tag: string },
): Promise<string> {
  const image = `${repository}:${tag}`;
  await withSecretFile(scope, { secret: pushSecret, name: `push-${pool}` }, (authFile) =>
    copyImage(imageWork(scope), { ...copy, to: { image, authFile } }),
  );
  return image;
}

/**
 * Copies an image and asks the registry what it has made of it.
 * @throws AgentError `layering.registry-unreachable` after three attempts,
 * `layering.registry-denied`, `layering.copy-failed`, `layering.digest-changed`
 */
async function copyImage(work: ImageWork, { what, from, to, digest }: ImageCopy): Promise<void> {
  const { host, signal } = work;
  await withTries(work, { what, otherwise: 'layering.copy-failed' }, async () => {
    await withHeartbeat(what, work, () =>
      host.exec(copyImageArgv(from, to), { signal, limit: longestCopy }),
    );
    await requireDigest(work, { ...to, digest });
  });
}

/**
 * Asks a registry under which digest it has an image, by its tag and by the digest itself.
 * @throws AgentError `layering.digest-changed`, `command.*`
 */
async function requireDigest(
  work: ImageWork,
  { digest, ...at }: ImageAt & { readonly digest: string },
): Promise<void> {
  const found = await digestAt(work, at);
  if (found === digest) return;
  throw layeringFailure(
    'layering.digest-changed',
    `${at.image} is ${found} in its registry and was ${digest} when it was sent`,
    { context: { image: at.image, sent: digest, found } },
  );
}

/**
 * The digest that a registry has for a name.
 * @throws AgentError `command.*`
 */
export async function digestAt({ host, signal }: ImageWork, at: ImageAt): Promise<string> {
  const { stdout } = await host.exec(registryDigestArgv(at), {
    signal,
    limit: longestQuestion,
  });
  const digest = digestOf(`@${stdout}`) ?? stdout;
  if (/^sha\d+:[0-9a-f]+$/.test(digest)) return digest;
  throw unreadableOutput('skopeo', `digest of ${at.image}`, stdout);
}

interface ImagePush {
  readonly builder: Builder;
  readonly tag: string;
  /** HOST/PATH:TAG */
  readonly to: string;
  readonly access: RegistryAccess;
  readonly scratch: string;
}

const longestPush = minutes(15);

/**
 * Pushes an image; gives the digest that the registry has for it.
 * @throws AgentError `layering.push-failed`, `layering.registry-unreachable`,
 * `layering.registry-denied`, `layering.digest-changed`
 */
export async function pushImage(
  work: ImageWork,
  { builder, tag, to, access, scratch }: ImagePush,
): Promise<string> {
  const { host, signal, progress } = work;
  const digestFile = `${scratch}/digest`;
  progress({ info: 'Pushing OS image' });
  return withTries(work, { what: `pushing ${to}`, otherwise: 'layering.push-failed' }, async () => {
    await withHeartbeat(undefined, work, () =>
      host.exec(pushArgv(builder, { ...access, tag, to, digestFile }), {
        signal,
        limit: longestPush,
        env: { TMPDIR: scratch },
      }),
    );
    const digest = digestOf(`@${((await host.readText(digestFile, signal)) ?? '').trim()}`);
    if (digest === undefined) {
      throw layeringFailure('layering.push-failed', `${builder.name} reported no digest for ${to}`);
    }
    await requireDigest(work, { ...access, image: to, digest });
    return digest;
  });
}

/** What skopeo says of a name that the store does not have. */
const absent = /does not resolve to an image|identifier is not an image|no such image/i;

/**
 * Finds an image of the store, and that it was built from what it is pushed for.
 * @throws AgentError `layering.not-built`, `layering.image-unreadable`
 */
export async function requireBuilt(
  work: ImageWork,
  {
    builder,
    tag,
    builtFrom,
  }: { readonly builder: Builder; readonly tag: string; readonly builtFrom: string },
): Promise<void> {
  const { labels } = await factsOf(work, builder, tag).catch((error: unknown) => {
    const said = error instanceof AgentError ? stderrOf(error.cause) : undefined;
    if (said === undefined || !absent.test(said)) throw error;
    throw layeringFailure('layering.not-built', `image ${tag} is not in the store`);
  });
  if (labels[builtFromLabel] === builtFrom) return;
  throw layeringFailure(
    'layering.not-built',
    `${tag} was built from another Containerfile or MachineConfig, or by another version of this program`,
    { hint: 'build it again: bootwright layer build with the same arguments' },
  );
}

interface BaseCopy {
  readonly base: ImageAt;
  /** Repository that the built image goes to as well; without a tag. */
  readonly repository: string;
  readonly access: RegistryAccess;
}

/**
 * Copies the base image into the repository that the built image is to go to, digests kept. What is
 * pushed there afterwards then keeps the blobs of the base, and a node that has the base pulls
 * nothing of it again. Of a list of manifests only the image for this host is copied.
 * @throws AgentError `layering.base-architecture`, and what `copyImage` throws
 */
export async function copyBaseImage(
  work: ImageWork,
  { base, repository, access }: BaseCopy,
): Promise<void> {
  const what = `copying the base image ${base.image}`;
  const architecture = goArchitecture(await readArchitecture(work));
  const image = await withTries(work, { what, otherwise: 'layering.copy-failed' }, async () => {
    await requireArchitecture(work, base, architecture);
    return imageFor(work, base, architecture);
  });
  const from = { ...base, image };
  const digest = digestOf(image) ?? (await digestAt(work, from));
  work.progress({ info: 'Copying the base image' });
  const to = { ...access, image: `${repository}:${baseTag(base.image)}` };
  await copyImage(work, { what, from, to, digest });
}

async function requireArchitecture(
  { host, signal }: ImageWork,
  base: ImageAt,
  wanted: string,
): Promise<void> {
  const found = await host
    .exec(registryConfigArgv(base), { signal, limit: longestQuestion })
    .then(({ stdout }) => readImageFacts(stdout, base.image).architecture)
    .catch((error: unknown) => {
      if (lacksArchitecture(stderrOf(error) ?? '')) return 'other architectures alone';
      throw error;
    });
  if (found === wanted) return;
  throw layeringFailure(
    'layering.base-architecture',
    `${base.image} is for ${found}, this host is ${wanted}`,
    { context: { image: base.image, found, host: wanted } },
  );
}

/** The image itself, where the name is that of a list of images for several architectures. */
async function imageFor(
  { host, signal }: ImageWork,
  base: ImageAt,
  architecture: string,
): Promise<string> {
  const { stdout } = await host.exec(registryManifestArgv(base), {
    signal,
    limit: longestQuestion,
  });
  if (jsonIn(stdout) === undefined) {
    throw unreadableOutput('skopeo', `manifest of ${base.image}`, stdout);
  }
  const digest = digestInList(stdout, architecture);
  return digest === undefined ? base.image : `${repositoryOf(base.image)}@${digest}`;
}

/**
 * Asks for a published image as a node will: with the pull secret of the cluster. Masters that are
 * served an image which they may not pull would try for ever.
 * @throws AgentError `layering.not-pullable`, `layering.registry-unreachable` after three attempts,
 * `layering.digest-changed`
 */
async function requirePullable(
  work: ImageWork,
  { image, digest }: { readonly image: string; readonly digest: string },
): Promise<void> {
  const what = `inspecting ${image} with the pull secret of the cluster`;
  try {
    await withTries(work, { what, otherwise: 'layering.copy-failed' }, () =>
      requireDigest(work, { image, authFile: PULL_SECRET_PATH, digest }),
    );
  } catch (error) {
    if (!(error instanceof AgentError) || !refusals.includes(error.code)) throw error;
    throw layeringFailure('layering.not-pullable', error.message, {
      cause: error,
      context: { image, pullSecret: PULL_SECRET_PATH },
    });
  }
}

/** Registries often call forbidden what is not there, and absent what is forbidden. */
const refusals: readonly string[] = ['layering.registry-denied', 'layering.copy-failed'];

/** An image that is to have a further name in its repository. */
export interface ImageTag {
  /** HOST/[NAMESPACE/]NAME@sha256:… */
  readonly final: string;
  readonly tag: string;
  /** Manifest of the Secret that may push. */
  readonly pushSecret: string;
}

/**
 * Gives a published image a further tag; it moves no data, and a tag that is there already stays.
 * @throws AgentError `layering.registry-unreachable` after three attempts,
 * `layering.registry-denied`, `layering.copy-failed`, `layering.digest-changed`,
 * `layering.bad-credentials`
 */
export async function tagImage(
  scope: StepScope<'host' | 'clock'>,
  { final, tag, pushSecret }: ImageTag,
): Promise<void> {
  const digest = digestOf(final);
  if (digest === undefined) {
    throw layeringFailure('layering.copy-failed', `${final} has no digest`);
  }
  await withSecretFile(scope, { secret: pushSecret, name: `tag-${tag}` }, (authFile) =>
    copyImage(imageWork(scope), {
      what: `tagging ${final} as ${tag}`,
      from: { image: final, authFile },
      to: { image: `${repositoryOf(final)}:${tag}`, authFile },
      digest,
    }),
  );
}
