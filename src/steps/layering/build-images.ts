import { dirname } from 'node:path/posix';
import { readMachineConfig } from '../../layering/api/machine-config.ts';
import { isFields } from '../../layering/api/schema.ts';
import {
  buildArgv,
  type Builder,
  localConfigArgv,
  pushArgv,
  registryManifestArgv,
} from '../../layering/build/container-tools.ts';
import { lookInsideArgv, lookTag } from '../../layering/build/verify-image.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { placesIn } from '../../layering/registry/staging-registry.ts';
import { readObjects, type SourceObject } from '../../layering/api/source-object.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { buildsOsImages } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { buildImage, localTag } from './build-image.ts';
import { withReleaseFallback } from './conditions.ts';
import { digestAt, pushImage } from './copy-image.ts';
import {
  type BuiltImage,
  BuiltImages,
  BuildRequest,
  type PoolRequest,
  type RenderedConfig,
  RenderedConfigs,
  StagingRegistry,
} from './facts.ts';
import { findBuilder, imageWork } from './image-work.ts';
import { pullSecretFor, withAuthFile } from './manifests.ts';
import {
  keepRegistry,
  type RunningRegistry,
  stagedBase,
  stagingRepository,
} from './staging-registry.ts';

type BuildScope = StepScope<'host' | 'clock'>;

/** Certificates that the cluster trusts, among the manifests of the installer. */
const trustManifest = '/opt/openshift/manifests/user-ca-bundle-config.yaml';

/** Sockets of the storage lie here; their paths are short. */
export const storageRun = '/run/bootwright/storage';

/**
 * Builds the image of each pool, masters first, verifies it and pushes it into the registry of this host. What an
 * earlier run pushed was verified then, and is not built again.
 */
export const buildImages = step({
  id: 'layering/build-images',
  title: 'Build the OS images of the pools',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest, rendered: RenderedConfigs, registry: StagingRegistry },
  gives: BuiltImages,
  when: buildsOsImages,
  limit: hours(6),
  explain: ({ layering }) =>
    `each build may take ${layering.buildMinutes} minutes; each image is checked before it is pushed, with bootc container lint where it has bootc`,
  preview: () => previewOf(),
  run: async (scope, { request, rendered, registry }) => {
    if (request.kind === 'off') return { kind: 'release', why: request.why } as const;
    if (registry.kind === 'release') return registry;
    return withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const { name, reason } = await findBuilder(imageWork(scope));
      scope.note('info', `OS images are built with ${name}`, { reason });
      const store = { storage: placesIn(dirname(registry.data)).storage, run: storageRun };
      const images: BuiltImage[] = [];
      for (const pool of request.pools) {
        const config = rendered.find((one) => one.pool === pool.pool);
        if (config === undefined) continue;
        const job = { request: pool, rendered: config, registry, builder: { name, store } };
        images.push((await builtBefore(scope, job)) ?? (await build(scope, job)));
      }
      return { kind: 'built', images } as const;
    });
  },
});

interface BuildJob {
  readonly request: PoolRequest;
  readonly rendered: RenderedConfig;
  readonly registry: RunningRegistry;
  readonly builder: Builder;
}

const builtImage = ({ rendered, registry }: BuildJob, digest: string): BuiltImage => ({
  pool: rendered.pool,
  renderedConfig: rendered.name,
  staged: `${stagingRepository(registry)}@${digest}`,
  digest,
});

/** An image is pushed under the name of its MachineConfig, and only after it was verified. */
const pushedName = ({ rendered, registry }: BuildJob): string =>
  `${stagingRepository(registry)}:${rendered.name}`;

async function builtBefore(scope: BuildScope, job: BuildJob): Promise<BuiltImage | undefined> {
  const { authFile, certificates } = job.registry;
  try {
    const digest = await digestAt(imageWork(scope), {
      image: pushedName(job),
      authFile,
      certificates,
    });
    return builtImage(job, digest);
  } catch (error) {
    scope.signal.throwIfAborted();
    if (error instanceof AgentError && error.code === 'command.failed') return undefined;
    throw error;
  }
}

async function build(scope: BuildScope, job: BuildJob): Promise<BuiltImage> {
  const { config } = scope;
  const { request, rendered, registry, builder } = job;
  const scratch = `${placesIn(dirname(registry.data)).scratch}/${request.pool}`;
  const work = imageWork(scope);
  const text = await pullSecretFor(scope, request, [registry.authFile]);
  const inputs = {
    config: request.config,
    machineConfig: readMachineConfig(await readOne(scope, rendered.file)),
    caBundle: await trustedCertificates(scope),
  };
  const staged = await baseInStaging(scope, job);
  return withAuthFile(scope, { name: `build-${request.pool}`, text }, async (authFile) => {
    const access = { authFile, certificates: registry.certificates };
    const tag = await buildImage(work, {
      ...inputs,
      ...(staged === undefined ? {} : { stagedBase: staged }),
      ...{ builder, scratch, access },
      limit: minutes(Math.max(config.layering.buildMinutes, 1)),
    });
    const to = pushedName(job);
    const digest = await pushImage(work, { builder, tag, to, access, scratch });
    return builtImage(job, digest);
  });
}

/** Where the base is a list of manifests, the registry has the image for this host, and not the list. */
async function baseInStaging(
  { host, signal }: BuildScope,
  { registry, rendered }: BuildJob,
): Promise<string | undefined> {
  const image = stagedBase(registry, rendered.osImage);
  if (image === undefined) return undefined;
  const { authFile, certificates } = registry;
  const argv = registryManifestArgv({ image, authFile, certificates });
  const { exitCode } = await host.exec(argv, { signal, limit: seconds(60), accept: [0, 1] });
  return exitCode === 0 ? image : undefined;
}

async function readOne({ host, signal }: BuildScope, path: string): Promise<SourceObject> {
  const text = await host.readText(path, signal);
  const [object] = text === undefined ? [] : readObjects({ path, text });
  if (object !== undefined) return object;
  throw layeringFailure('layering.build-failed', `${path} is missing`);
}

/** PEM certificates; empty when the cluster trusts no others than the system. */
async function trustedCertificates({ host, signal }: BuildScope): Promise<string> {
  const text = await host.readText(trustManifest, signal);
  if (text === undefined) return '';
  const [object] = readObjects({ path: trustManifest, text });
  const data = object?.value['data'];
  const bundle = isFields(data) ? data['ca-bundle.crt'] : undefined;
  return typeof bundle === 'string' ? bundle : '';
}

function previewOf(): readonly (readonly string[])[] {
  const builder = { name: 'podman' as const, store: { storage: '<storage>', run: storageRun } };
  const tag = localTag('<pool>', '<rendered config>');
  const access = { authFile: '<pull secret>', certificates: '<certificates>' };
  const call = { context: '<context>', containerfile: '<context>/Containerfile', tag };
  const inspection = { context: '<look>', containerfile: '<look>/Containerfile' };
  const to = '<registry>/layering/os:<rendered config>';
  return [
    buildArgv(builder, { ...access, ...call, buildArguments: [], volumes: [] }),
    localConfigArgv(builder, tag),
    lookInsideArgv(builder, { ...inspection, tag: lookTag('<pool>') }),
    pushArgv(builder, { ...access, tag, to, digestFile: '<scratch>/digest' }),
  ];
}
