import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import {
  baseTag,
  type Builder,
  copyImageArgv,
  type ImageAt,
  pushArgv,
  type RegistryAccess,
  registryDigestArgv,
  registryManifestArgv,
} from '../../layering/build/container-tools.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { digestOf, repositoryOf, withTag } from '../../lib/image-name.ts';
import { jsonIn } from '../../lib/json.ts';
import { hours, minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { digestInList, goArchitecture, lacksArchitecture } from '../../os/registry-image.ts';
import { buildsOsImages } from '../conditions.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { readArchitecture, unreadableOutput } from '../host-commands.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { whyRelease, withReleaseFallback } from './conditions.ts';
import {
  BuiltPools,
  type PublishedPool,
  PublishedPools,
  type RenderedPool,
  RenderedPools,
  StagingRegistry,
} from './facts.ts';
import { type ImageWork, registryFacts, stderrOf, withTries } from './image-work.ts';
import { pullSecretFor, withAuthFile, withSecretFile } from './manifests.ts';
import { accessTo, keepRegistry, stagingRepository } from './staging-registry.ts';

/** The properties that the steps share which copy the base. */
const copying = {
  uses: ['host', 'clock'],
  needs: { rendered: RenderedPools, registry: StagingRegistry },
  when: buildsOsImages,
} as const;

/**
 * Copies the operating system of the release to the registry of this host, with the same digests,
 * and no other image of the release. Pools usually share it.
 */
export const copyBase = step({
  ...copying,
  id: 'layering/copy-base',
  title: 'Copy the OS image of the release to the staging registry',
  skipIf: ({ rendered, registry }) => whyRelease(rendered) ?? whyRelease(registry),
  limit: hours(3),
  preview: () => callsOf('skopeo', 'uname'),
  run: async (scope, { rendered, registry }) => {
    if (rendered.kind === 'release' || registry.kind === 'release') return;
    // Without it the build pulls the base from its source; if that fails too, the build fails.
    await withReleaseFallback(
      scope,
      async () => {
        await keepRegistry(scope, registry);
        const repository = stagingRepository(registry);
        const bases = new Map(rendered.pools.map((pool) => [pool.osImage, pool.baseSecret]));
        for (const [image, baseSecret] of bases) {
          const text = await pullSecretFor(scope, baseSecret);
          await withAuthFile(scope, 'base', text, (authFile) =>
            copyBaseImage(scope, { image, authFile }, repository, accessTo(registry)),
          );
        }
      },
      'the OS image of the release was not copied; the build pulls it from its source',
    );
  },
});

/**
 * Sends the operating system of the release ahead to the repositories of the images. They need its
 * layers in any case; a copy before the build shows half an hour earlier that a push or pull is
 * denied.
 */
export const sendBase = step({
  ...copying,
  id: 'layering/send-base',
  title: 'Copy the OS image of the release to the final registry',
  skipIf: ({ rendered, registry }) => whyRelease(rendered) ?? whyRelease(registry),
  limit: hours(4),
  preview: () => callsOf('skopeo'),
  run: async (scope, { rendered, registry }) => {
    if (rendered.kind === 'release' || registry.kind === 'release') return;
    // If the policy is to continue, the failure is reported when the images themselves are
    // published.
    await withReleaseFallback(
      scope,
      async () => {
        await keepRegistry(scope, registry);
        for (const pool of rendered.pools) {
          const tag = baseTag(pool.osImage);
          const from = { image: `${stagingRepository(registry)}:${tag}`, ...accessTo(registry) };
          const what = copyingTo(pool, 'base image');
          scope.progress({ info: `Sending the base image of ${pool.pool} ahead` });
          const digest = await withTries(scope, what, 'layering.copy-failed', () =>
            digestAt(scope, from),
          );
          const image = `${pool.repository}:${tag}`;
          await publish(scope, pool, { what, from, image, digest });
          await requirePullable(scope, image, digest);
        }
      },
      'the OS image of the release was not sent ahead; it is sent with the built images',
    );
  },
});

/**
 * Copies the images, byte for byte, to the registry where nodes and cluster find them permanently.
 * The step refuses a registry that changes their digests, because all clients identify an image by
 * its digest, and a registry that denies the images to nodes.
 */
export const publishImages = step({
  id: 'layering/publish-images',
  title: 'Copy the built OS images to their final registry',
  uses: ['host', 'clock'],
  needs: { registry: StagingRegistry, built: BuiltPools },
  gives: PublishedPools,
  when: buildsOsImages,
  limit: hours(4),
  preview: () => callsOf('skopeo'),
  run: async (scope, { registry, built }) => {
    if (built.kind === 'release') return built;
    if (registry.kind === 'release') return registry;
    return withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const pools: PublishedPool[] = [];
      for (const pool of built.pools) {
        const { repository, staged, digest } = pool;
        const from = { image: staged, ...accessTo(registry) };
        const what = copyingTo(pool, 'OS image');
        scope.progress({ info: `Publishing OS image of ${pool.pool}` });
        const image = `${repository}:${pool.rendered}`;
        await publish(scope, pool, { what, from, image, digest });
        const final = `${repository}@${digest}`;
        await requirePullable(scope, final, digest);
        pools.push({ ...pool, final });
      }
      return { kind: 'pools', pools } as const;
    });
  },
});

const copyingTo = ({ pool, repository }: RenderedPool, what: string): string =>
  `copying the ${what} of ${pool} to ${repository}`;

/** Copies an image with the push credentials of its pool. */
const publish = (
  scope: StepScope<'host' | 'clock'>,
  { pool, pushSecret }: RenderedPool,
  copy: Readonly<Record<'what' | 'image' | 'digest', string>> & { readonly from: ImageAt },
): Promise<void> =>
  withSecretFile(scope, pushSecret, `push-${pool}`, (authFile) =>
    copyImage(scope, copy.what, copy.from, { image: copy.image, authFile }, copy.digest),
  );

/** Time limit of a question to a registry. */
const quick = minutes(2);

/**
 * Copies an image and asks the registry for its digest.
 * @param what begins the message: `copying the base image`
 * @param digest the required digest of the copy
 * @throws AgentError `layering.registry-unreachable` after three attempts,
 * `layering.registry-denied`, `layering.copy-failed`, `layering.digest-changed`
 */
async function copyImage(
  work: ImageWork,
  what: string,
  from: ImageAt,
  to: ImageAt,
  digest: string,
): Promise<void> {
  const { host, signal } = work;
  // Gigabytes over a slow connection.
  const limit = minutes(30);
  await withTries(work, what, 'layering.copy-failed', async () => {
    await withHeartbeat(what, work, () => host.exec(copyImageArgv(from, to), { signal, limit }));
    await requireDigest(work, to, digest);
  });
}

/** @throws AgentError `layering.digest-changed` if a registry has another one, `command.*` */
async function requireDigest(work: ImageWork, at: ImageAt, sent: string): Promise<void> {
  const found = await digestAt(work, at);
  if (found === sent) return;
  const { image } = at;
  const message = `${image} is ${found} in its registry and was ${sent} when it was sent`;
  throw layeringFailure('layering.digest-changed', message, { context: { image, sent, found } });
}

/**
 * The digest of a name in a registry.
 * @throws AgentError `command.*`
 */
export async function digestAt({ host, signal }: ImageWork, at: ImageAt): Promise<string> {
  const { stdout } = await host.exec(registryDigestArgv(at), { signal, limit: quick });
  if (/^sha\d+:[0-9a-f]+$/.test(stdout)) return stdout;
  throw unreadableOutput('skopeo', `digest of ${at.image}`, stdout);
}

/**
 * Pushes an image of a store to HOST/PATH:TAG; returns its digest in the registry.
 * @throws AgentError `layering.push-failed`, `layering.registry-unreachable`,
 * `layering.registry-denied`, `layering.digest-changed`
 */
export async function pushImage(
  work: ImageWork,
  {
    builder,
    access,
    tag,
    to,
    scratch,
  }: { readonly builder: Builder; readonly access: RegistryAccess } & Readonly<
    Record<'tag' | 'to' | 'scratch', string>
  >,
): Promise<string> {
  const { host, signal, progress } = work;
  const digestFile = `${scratch}/digest`;
  const argv = pushArgv(builder, { ...access, tag, to, digestFile });
  const options = { signal, limit: minutes(15), env: { TMPDIR: scratch } };
  progress({ info: 'Pushing OS image' });
  return withTries(work, `pushing ${to}`, 'layering.push-failed', async () => {
    await withHeartbeat(undefined, work, () => host.exec(argv, options));
    const digest = digestOf(`@${((await host.readText(digestFile, signal)) ?? '').trim()}`);
    if (digest === undefined) {
      throw layeringFailure('layering.push-failed', `${builder.name} reported no digest for ${to}`);
    }
    await requireDigest(work, { ...access, image: to }, digest);
    return digest;
  });
}

/**
 * Copies the base image to the repository of the built image, with the same digests. A later push
 * to it then keeps the blobs of the base, and a node with the base pulls none of them again. Of a
 * manifest list only the image for this host is copied.
 * @param repository without a tag
 * @param access to that repository
 * @throws AgentError `layering.base-architecture`, and those of `copyImage`
 */
export async function copyBaseImage(
  work: ImageWork,
  base: ImageAt,
  repository: string,
  access: RegistryAccess,
): Promise<void> {
  const what = `copying the base image ${base.image}`;
  const architecture = goArchitecture(await readArchitecture(work));
  const { from, digest } = await withTries(work, what, 'layering.copy-failed', async () => {
    await requireArchitecture(work, base, architecture);
    const { stdout } = await work.host.exec(registryManifestArgv(base), {
      signal: work.signal,
      limit: quick,
    });
    if (jsonIn(stdout) === undefined)
      throw unreadableOutput('skopeo', `manifest of ${base.image}`, stdout);
    const ofHost = digestInList(stdout, architecture);
    return ofHost === undefined
      ? { from: base, digest: digestOf(base.image) ?? (await digestAt(work, base)) }
      : { from: { ...base, image: `${repositoryOf(base.image)}@${ofHost}` }, digest: ofHost };
  });
  work.progress({ info: 'Copying the base image' });
  const to = { ...access, image: `${repository}:${baseTag(base.image)}` };
  await copyImage(work, what, from, to, digest);
}

async function requireArchitecture(work: ImageWork, base: ImageAt, wanted: string): Promise<void> {
  const found = await registryFacts(work, base).then(
    ({ architecture }) => architecture,
    (error: unknown) => {
      if (lacksArchitecture(stderrOf(error) ?? '')) return 'other architectures alone';
      throw error;
    },
  );
  if (found === wanted) return;
  throw layeringFailure(
    'layering.base-architecture',
    `${base.image} is for ${found}, this host is ${wanted}`,
    { context: { image: base.image, found, host: wanted } },
  );
}

/**
 * Requests a published image as a node will: with the pull secret of the cluster. Masters that are
 * served an image which they may not pull would retry for ever. Registries often report a missing
 * image as forbidden, and a forbidden one as missing.
 * @throws AgentError `layering.not-pullable`, `layering.registry-unreachable` after three attempts,
 * `layering.digest-changed`
 */
async function requirePullable(work: ImageWork, image: string, digest: string): Promise<void> {
  const what = `inspecting ${image} with the pull secret of the cluster`;
  try {
    await withTries(work, what, 'layering.copy-failed', () =>
      requireDigest(work, { image, authFile: PULL_SECRET_PATH }, digest),
    );
  } catch (error) {
    const refusals = ['layering.registry-denied', 'layering.copy-failed'];
    if (!(error instanceof AgentError) || !refusals.includes(error.code)) throw error;
    throw layeringFailure('layering.not-pullable', error.message, {
      cause: error,
      context: { image, pullSecret: PULL_SECRET_PATH },
    });
  }
}

/**
 * Adds a tag to a published image; this moves no data, and an existing tag stays.
 * @param final HOST/[NAMESPACE/]NAME@sha256:…
 * @param pushSecret manifest of the Secret for the push
 * @throws AgentError `layering.registry-unreachable` after three attempts,
 * `layering.registry-denied`, `layering.copy-failed`, `layering.digest-changed`,
 * `layering.bad-credentials`
 */
export async function tagImage(
  scope: StepScope<'host' | 'clock'>,
  final: string,
  tag: string,
  pushSecret: string,
): Promise<void> {
  const what = `tagging ${final} as ${tag}`;
  await withSecretFile(scope, pushSecret, `tag-${tag}`, (authFile) =>
    copyImage(
      scope,
      what,
      { image: final, authFile },
      { image: withTag(final, tag), authFile },
      digestOf(final) ?? '',
    ),
  );
}
