import { dirname } from 'node:path/posix';
import { readMachineConfig } from '../../layering/api/machine-config.ts';
import { fieldsOf, textOf } from '../../lib/fields.ts';
import { readObjects } from '../../layering/api/source-object.ts';
import {
  type BuildPlan,
  containerfileFile,
  entitlementFolders,
  entitlementMounts,
  planBuild,
  type PlanRequest,
  registriesWithBase,
} from '../../layering/build/build-plan.ts';
import {
  buildArgv,
  type Builder,
  registryConfigArgv,
  registryManifestArgv,
  type BuildCall,
  buildSteps,
  type RegistryAccess,
  removeArgv,
  classifyPullError,
} from '../../layering/build/container-tools.ts';
import {
  lookTag,
  type Inside,
  insideReader,
  lookInsideContainerfile,
  imageViolation,
  readImageFacts,
  streamViolation,
} from '../../layering/build/verify-image.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { placesIn, storageRun } from '../../layering/registry/staging-registry.ts';
import { hours, minutes, seconds, type Millis, renderDuration } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { buildsOsImages } from '../conditions.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { withReleaseFallback } from './conditions.ts';
import {
  type BuiltImage,
  BuiltImages,
  BuildRequest,
  type PoolRequest,
  type RenderedConfig,
  RenderedConfigs,
  StagingRegistry,
} from './facts.ts';
import {
  findBuilder,
  imageWork,
  factsOf,
  type ImageWork,
  stderrOf,
  unreadable,
} from './image-work.ts';
import { pullSecretFor, withAuthFile, readManifest } from './manifests.ts';
import { digestAt, pushImage } from './publish-images.ts';
import {
  accessTo,
  keepRegistry,
  type RunningRegistry,
  stagedBase,
  stagingRepository,
} from './staging-registry.ts';

type BuildScope = StepScope<'host' | 'clock'>;

/** Certificates that the cluster trusts, among the manifests of the installer. */
const trustManifest = '/opt/openshift/manifests/user-ca-bundle-config.yaml';

/**
 * Builds the image of each pool, masters first, verifies it and pushes it into the registry of this
 * host. What an earlier run pushed was verified then, and is not built again.
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
  preview: () => callsOf('podman', 'skopeo'),
  run: async (scope, { request, rendered, registry }) => {
    if (request.kind !== 'on') return { kind: 'release', why: request.why } as const;
    if (registry.kind === 'release') return registry;
    const other = await streamOfBases(scope, request.pools, rendered);
    if (other !== undefined) throw other;
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

/**
 * Why a pool that asks for an OS stream is refused; undefined where each base is of the stream of
 * its pool. The image of the release is no way out: it is of another stream too.
 */
async function streamOfBases(
  scope: BuildScope,
  pools: readonly PoolRequest[],
  rendered: readonly RenderedConfig[],
): Promise<AgentError | undefined> {
  const { host, signal } = scope;
  for (const { pool, osImage: image, stream } of rendered) {
    if (stream === undefined) continue;
    const text = await pullSecretFor(scope, pools.find((one) => one.pool === pool)?.baseSecret);
    const violation = await withAuthFile(scope, { name: 'stream', text }, async (authFile) => {
      const argv = registryConfigArgv({ image, authFile });
      const { stdout } = await host.exec(argv, { signal, limit: minutes(2) });
      return streamViolation({ pool, stream, image }, readImageFacts(stdout, image));
    });
    if (violation !== undefined) return violation;
  }
  return undefined;
}

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
  try {
    const at = { image: pushedName(job), ...accessTo(job.registry) };
    return builtImage(job, await digestAt(imageWork(scope), at));
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
  const text = await pullSecretFor(scope, request.baseSecret, [registry.authFile]);
  const inputs = {
    config: request.config,
    machineConfig: readMachineConfig(
      await readManifest(scope, { path: rendered.file, kind: 'MachineConfig' }),
    ),
    caBundle: await trustedCertificates(scope),
  };
  const staged = await baseInStaging(scope, job);
  return withAuthFile(scope, { name: `build-${request.pool}`, text }, async (authFile) => {
    const access = { authFile, certificates: registry.certificates };
    const tag = await buildImage(work, {
      ...inputs,
      ...(staged === undefined ? {} : { stagedBase: staged }),
      builder,
      scratch,
      access,
      limit: minutes(Math.max(config.layering.buildMinutes, 1)),
    });
    const to = pushedName(job);
    const digest = await pushImage(work, { builder, tag, to, access, scratch });
    return builtImage(job, digest);
  });
}

/**
 * Where the base is a list of manifests, the registry has the image for this host, and not the
 * list.
 */
async function baseInStaging(
  { host, signal }: BuildScope,
  { registry, rendered }: BuildJob,
): Promise<string | undefined> {
  const image = stagedBase(registry, rendered.osImage);
  if (image === undefined) return undefined;
  const argv = registryManifestArgv({ image, ...accessTo(registry) });
  const { exitCode } = await host.exec(argv, { signal, limit: seconds(60), accept: [0, 1] });
  return exitCode === 0 ? image : undefined;
}

/** PEM certificates; empty when the cluster trusts no others than the system. */
async function trustedCertificates({ host, signal }: BuildScope): Promise<string> {
  const text = await host.readText(trustManifest, signal);
  if (text === undefined) return '';
  const [object] = readObjects({ path: trustManifest, text });
  return textOf(fieldsOf(object?.value['data'])['ca-bundle.crt']);
}

interface ImageBuild extends PlanRequest {
  readonly builder: Builder;
  /** Folder that is this build's own. */
  readonly scratch: string;
  readonly access: RegistryAccess;
  /** Where the staging registry has the base, by its digest; left out when it has not. */
  readonly stagedBase?: string;
  readonly limit: Millis;
  /** Labels of the image beside those of its Containerfile. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** The settings that the live system has itself. */
const hostRegistries = '/etc/containers/registries.conf';

const quick = minutes(1);

/** A rendered MachineConfig holds the pull secret and keys of its machines. */
const makeFolders = ['install', '--directory', '--mode', '0700'] as const;

/** The name of a built image in the store. */
export const localTag = (pool: string, renderedConfig: string): string =>
  `localhost/bootwright/os-${pool}:${renderedConfig}`;

/**
 * Builds the image of a pool and verifies it; gives its name in the store.
 * @throws AgentError `layering.build-failed`, `layering.build-cut-off`, `layering.build-too-long`,
 * `layering.image-*`, and what `planBuild` throws
 */
export async function buildImage(work: ImageWork, build: ImageBuild): Promise<string> {
  const { machineConfig, scratch, builder } = build;
  const { name: renderedConfig, pool } = machineConfig;
  const plan = planBuild(build);
  const context = `${scratch}/context`;
  await writeFiles(work, context, plan.context);
  const tag = localTag(pool, renderedConfig);
  const env = { ...(await settingsEnv(work, build, plan)), TMPDIR: scratch };
  const call: BuildCall = {
    ...build.access,
    context,
    containerfile: `${context}/${containerfileFile}`,
    tag,
    buildArguments: work.buildArguments,
    volumes: await mountEntitlement(work, scratch),
    ...(build.labels === undefined ? {} : { labels: build.labels }),
    ...(plan.settings.some(({ path }) => path === 'policy.json')
      ? { policy: `${scratch}/policy.json` }
      : {}),
  };
  await runBuild(work, build, { argv: buildArgv(builder, call), env, plan });
  const image = { tag, base: plan.baseImage, renderedConfig, pool };
  await verifyImage(work, { builder, scratch, ...image });
  return tag;
}

async function writeFiles(
  { host, signal }: ImageWork,
  folder: string,
  files: BuildPlan['context'],
): Promise<void> {
  const folders = new Set([folder, ...files.map(({ path }) => dirname(`${folder}/${path}`))]);
  await host.exec([...makeFolders, ...folders], { signal, limit: quick });
  for (const { path, content } of files) {
    await host.writeFile(`${folder}/${path}`, content, { signal, mode: 0o600 });
  }
}

/**
 * Writes what the program that builds goes by beside the settings of the host, which stay
 * unchanged.
 */
async function settingsEnv(
  work: ImageWork,
  { scratch, stagedBase }: ImageBuild,
  { settings, baseImage }: BuildPlan,
): Promise<Readonly<Record<string, string>>> {
  const { host, signal } = work;
  const own = settings.find(({ path }) => path === 'registries.conf')?.content;
  await writeFiles(work, scratch, settings);
  if (own === undefined && stagedBase === undefined) return {};
  const registries = own ?? (await host.readText(hostRegistries, signal)) ?? '';
  const path = `${scratch}/registries.conf`;
  if (stagedBase !== undefined) {
    const text = registriesWithBase(registries, { base: baseImage, staged: stagedBase });
    await host.writeFile(path, text, { signal, mode: 0o600 });
  }
  return { CONTAINERS_REGISTRIES_CONF: path };
}

/** Gives the build copies, so that nothing it does reaches the host. */
async function mountEntitlement(
  { host, signal, note }: ImageWork,
  scratch: string,
): Promise<readonly string[]> {
  const names = new Map<string, readonly string[]>();
  for (const folder of entitlementFolders) names.set(folder, await host.list(folder, signal));
  const mounts = entitlementMounts(names, `${scratch}/entitlement`);
  for (const { from, copy } of mounts) {
    await host.exec(['mkdir', '-p', copy], { signal, limit: quick });
    await host.exec(['cp', '--recursive', '--dereference', `${from}/.`, copy], {
      signal,
      limit: quick,
    });
  }
  if (mounts.length > 0) note('info', 'the build uses the entitlement of this host');
  return mounts.map(({ volume }) => volume);
}

interface BuildRun {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly plan: BuildPlan;
}

/** A second attempt follows when the network failed; whatever else failed would fail again. */
async function runBuild(work: ImageWork, build: ImageBuild, run: BuildRun): Promise<void> {
  const { signal, note } = work;
  try {
    await attempt(work, build, run);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'layering.build-cut-off') throw error;
    note('warn', 'the build lost its network; it is retried once', { reason: error.message });
    await attempt(work, build, run);
  }
}

async function attempt(
  work: ImageWork,
  { machineConfig, limit, scratch }: ImageBuild,
  { argv, env, plan }: BuildRun,
): Promise<void> {
  const { host, signal, progress } = work;
  const { pool } = machineConfig;
  const log: string[] = [];
  const steps = buildSteps(
    plan.context.find(({ path }) => path === containerfileFile)?.content ?? '',
  );
  const onLine = (line: string): void => {
    log.push(line);
    const step = steps(line);
    if (step === undefined) return;
    progress({
      info: `Building OS image of ${pool}: step ${step.at} of ${step.of}`,
      percent: Math.floor(((step.at - 1) * 100) / step.of),
    });
  };
  try {
    await withHeartbeat(undefined, work, () => host.exec(argv, { signal, limit, env, onLine }));
  } catch (error) {
    throw explained(error, { pool, limit, log: `${scratch}/build.log` });
  } finally {
    // The log helps a person; that it cannot be written must not hide what happened.
    const { signal: unheard } = new AbortController();
    const text = `${log.join('\n')}\n`;
    await host.writeFile(`${scratch}/build.log`, text, { signal: unheard }).catch(() => undefined);
  }
}

function explained(
  error: unknown,
  { pool, limit, log }: { readonly pool: string; readonly limit: Millis; readonly log: string },
): unknown {
  if (error instanceof AgentError && error.code === 'command.timed-out') {
    const message = `the build for pool ${pool} did not end within ${renderDuration(limit)}`;
    return layeringFailure('layering.build-too-long', message, { cause: error, context: { log } });
  }
  const said = stderrOf(error);
  if (said === undefined || !(error instanceof AgentError)) return error;
  const code =
    classifyPullError(said) === 'network' ? 'layering.build-cut-off' : 'layering.build-failed';
  const message = `the build for pool ${pool}: ${error.message}`;
  return layeringFailure(code, message, { cause: error, context: { ...error.context, log } });
}

interface ImageToVerify {
  readonly builder: Builder;
  readonly scratch: string;
  readonly tag: string;
  readonly base: string;
  readonly renderedConfig: string;
  readonly pool: string;
}

const longestPoll = minutes(10);

/**
 * Looks at an image before anybody else gets it.
 * @throws AgentError `layering.image-*`
 */
async function verifyImage(work: ImageWork, of: ImageToVerify): Promise<void> {
  const { tag: image, renderedConfig, pool } = of;
  work.progress({ info: `Checking OS image of ${pool}` });
  const { architecture } = await factsOf(work, of.builder, of.base);
  const facts = await factsOf(work, of.builder, image);
  const inside = await lookInside(work, of);
  const violation = imageViolation({ image, renderedConfig, pool, architecture }, facts, inside);
  if (violation !== undefined) throw violation;
  if (inside.lint !== undefined) await blameForLint(work, of, inside.lint);
}

/**
 * What bootc says of the base already is not the fault of the Containerfile, and no reason to
 * install nothing.
 * @throws AgentError `layering.image-lint`
 */
async function blameForLint(work: ImageWork, of: ImageToVerify, said: string): Promise<void> {
  const { tag: image, base } = of;
  const ofBase = await lookInside(work, { ...of, tag: base });
  if (ofBase.lint === undefined) {
    throw layeringFailure('layering.image-lint', `${image}: ${said}`, { context: { image, base } });
  }
  work.note('warn', 'bootc container lint reports findings that the base image has too', {
    base,
    faults: ofBase.lint,
  });
}

/** How often an image is looked into until the last line of the look is there. */
const mostTimes = 3;

/** On a busy machine buildah loses the last output of a command (1.28.2, two of eight builds). */
async function lookInside(work: ImageWork, of: ImageToVerify): Promise<Inside> {
  let inside = await lookOnce(work, of);
  for (let times = 1; !inside.isWhole && times < mostTimes; times += 1)
    inside = await lookOnce(work, of);
  return inside;
}

async function lookOnce(
  { host, signal, note }: ImageWork,
  { builder, scratch, tag, pool }: ImageToVerify,
): Promise<Inside> {
  const context = `${scratch}/look`;
  const containerfile = `${context}/Containerfile`;
  const looked = lookTag(pool);
  await host.exec(['mkdir', '-p', context], { signal, limit: minutes(1) });
  await host.writeFile(containerfile, lookInsideContainerfile(tag), { signal, mode: 0o644 });
  const reader = insideReader();
  const call = { context, containerfile, tag: looked, buildArguments: [], volumes: [] };
  try {
    await host.exec(buildArgv(builder, call), {
      signal,
      limit: longestPoll,
      env: { TMPDIR: scratch },
      onLine: reader.line,
    });
  } catch (error) {
    throw unreadable(error, tag);
  }
  await host
    .exec(removeArgv(builder, looked), { signal, limit: longestPoll })
    .catch(() => note('debug', 'the image of the check is still in the store'));
  return reader.seen();
}
