import { dirname } from 'node:path/posix';
import {
  buildSettings,
  type MachineConfig,
  readMachineConfig,
} from '../../layering/api/machine-config.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import { readObjects } from '../../layering/api/source-object.ts';
import {
  buildContext,
  containerfileFile,
  entitlements,
  registriesWithBase,
} from '../../layering/build/build-plan.ts';
import {
  buildArgv,
  type Builder,
  buildSteps,
  localConfigArgv,
  registryManifestArgv,
  type RegistryAccess,
  removeArgv,
} from '../../layering/build/container-tools.ts';
import {
  type ImageFacts,
  type ImageContent,
  insideReader,
  inspectionContainerfile,
  inspectionTag,
  readImageFacts,
  requireBootable,
  requireStream,
} from '../../layering/build/verify-image.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { fieldsOf, textOf } from '../../lib/fields.ts';
import { proxyEnv, revealedProxies } from '../../lib/proxies.ts';
import { hours, type Millis, minutes, renderDuration } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { classifyPullError, isNetworkFailure } from '../../os/pull-failure.ts';
import { buildsOsImages } from '../conditions.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { withReleaseFallback } from './conditions.ts';
import {
  type BuiltPool,
  BuiltPools,
  type RenderedPool,
  RenderedPools,
  StagingRegistry,
} from './facts.ts';
import { findBuilder, type ImageWork, registryFacts, stderrOf } from './image-work.ts';
import { pullSecretFor, readManifest, withAuthFile } from './manifests.ts';
import { digestAt, pushImage } from './publish-images.ts';
import { accessTo, keepRegistry, stagedBase, stagingRepository } from './staging-registry.ts';

type BuildScope = StepScope<'host' | 'clock'>;

/**
 * Builds the image of each pool, masters first, verifies it and pushes it to the registry of this
 * host. Images that an earlier run pushed were verified then, and are not built again.
 */
export const buildImages = step({
  id: 'layering/build-images',
  title: 'Build the OS images of the pools',
  uses: ['host', 'clock'],
  needs: { rendered: RenderedPools, registry: StagingRegistry },
  gives: BuiltPools,
  when: buildsOsImages,
  limit: hours(6),
  explain: ({ layering }) =>
    `each build may take ${layering.buildMinutes} minutes; each image is checked before it is pushed, with bootc container lint where it has bootc`,
  preview: () => callsOf('podman', 'skopeo'),
  run: async (scope, { rendered, registry }) => {
    if (rendered.kind === 'release') return rendered;
    if (registry.kind === 'release') return registry;
    // The image of the release is no alternative to a wrong stream: it is of the same stream.
    for (const pool of rendered.pools) await checkStream(scope, pool);
    return withReleaseFallback(scope, async () => {
      await keepRegistry(scope, registry);
      const name = await findBuilder(scope);
      scope.note('info', `OS images are built with ${name}`);
      const builder = { name, store: stagingPlaces.store };
      const pools: BuiltPool[] = [];
      for (const pool of rendered.pools) {
        // An image is pushed under the name of its MachineConfig, and only after its verification.
        const pushed = `${stagingRepository(registry)}:${pool.rendered}`;
        const digest =
          (await digestIfPushed(scope, { image: pushed, ...accessTo(registry) })) ??
          (await build(scope, pool, registry, builder, pushed));
        pools.push({ ...pool, digest, staged: `${stagingRepository(registry)}@${digest}` });
      }
      return { kind: 'pools', pools } as const;
    });
  },
});

/** @throws AgentError `layering.image-stream` if the base is of another stream than its pool */
async function checkStream(scope: BuildScope, pool: RenderedPool): Promise<void> {
  const { stream, osImage: image } = pool;
  if (stream === undefined) return;
  const text = await pullSecretFor(scope, pool.baseSecret);
  const { labels } = await withAuthFile(scope, 'stream', text, (authFile) =>
    registryFacts(scope, { image, authFile }),
  );
  requireStream(pool.pool, stream, image, labels);
}

async function digestIfPushed(
  scope: BuildScope,
  at: { readonly image: string } & RegistryAccess,
): Promise<string | undefined> {
  try {
    return await digestAt(scope, at);
  } catch (error) {
    scope.signal.throwIfAborted();
    if (error instanceof AgentError && error.code === 'command.failed') return undefined;
    throw error;
  }
}

/** Builds the image of a pool and pushes it; returns its digest. */
async function build(
  scope: BuildScope,
  { pool, config, baseSecret, file, osImage }: RenderedPool,
  registry: StagingRegistry,
  builder: Builder,
  to: string,
): Promise<string> {
  const { layering, proxy } = scope.config;
  const text = await pullSecretFor(scope, baseSecret, [registry.authFile]);
  const staged = await baseInStaging(scope, registry, osImage);
  const scratch = `${stagingPlaces.scratch}/${pool}`;
  const machineConfig = readMachineConfig(await readManifest(scope, file, 'MachineConfig'));
  const caBundle = await trustedCertificates(scope);
  return withAuthFile(scope, `build-${pool}`, text, async (authFile) => {
    const access = { authFile, certificates: registry.certificates };
    const tag = await buildImage(scope, {
      config,
      machineConfig,
      caBundle,
      stagedBase: staged,
      builder,
      scratch,
      access,
      // Proxies may contain a password: the argv has only their names.
      buildArguments: Object.keys(proxyEnv(revealedProxies(proxy))).filter(
        (name) => name === name.toUpperCase(),
      ),
      limit: minutes(Math.max(layering.buildMinutes, 1)),
    });
    return pushImage(scope, { builder, tag, to, access, scratch });
  });
}

/** If the base is a manifest list, the registry has the image for this host, not the list. */
async function baseInStaging(
  { host, signal }: BuildScope,
  registry: StagingRegistry,
  osImage: string,
): Promise<string | undefined> {
  const image = stagedBase(registry, osImage);
  if (image === undefined) return undefined;
  const argv = registryManifestArgv({ image, ...accessTo(registry) });
  const { exitCode } = await host.exec(argv, { signal, limit: minutes(2), accept: [0, 1] });
  return exitCode === 0 ? image : undefined;
}

/** The manifest of the certificates that the cluster trusts, written by the installer. */
const trustManifest = '/opt/openshift/manifests/user-ca-bundle-config.yaml';

/** PEM certificates; empty if the cluster trusts only the certificates of the system. */
async function trustedCertificates({ host, signal }: BuildScope): Promise<string> {
  const text = await host.readText(trustManifest, signal);
  if (text === undefined) return '';
  const [object] = readObjects({ path: trustManifest, text });
  return textOf(fieldsOf(object?.value['data'])['ca-bundle.crt']);
}

interface ImageBuild {
  readonly config: MachineOSConfig;
  readonly machineConfig: MachineConfig;
  /** PEM certificates; none if undefined. */
  readonly caBundle?: string;
  readonly builder: Builder;
  /** Folder for this build alone. */
  readonly scratch: string;
  readonly access: RegistryAccess;
  /**
   * The base in the staging registry, by its digest; undefined if the registry does not have it.
   */
  readonly stagedBase?: string | undefined;
  /** Names of build arguments; the environment has their values. */
  readonly buildArguments: readonly string[];
  readonly limit: Millis;
}

const quick = minutes(2);

/**
 * Builds the image of a pool and verifies it; returns its name in the store.
 * @throws AgentError `layering.build-failed`, `layering.build-cut-off`, `layering.build-too-long`,
 * `layering.image-*`, `ignition.*` for settings of the MachineConfig that cannot be decoded, and
 * those of `buildContext`
 */
export async function buildImage(work: ImageWork, build: ImageBuild): Promise<string> {
  const { config, machineConfig, scratch, builder } = build;
  const context = `${scratch}/context`;
  const files = buildContext(config, machineConfig, build.caBundle);
  const settings = buildSettings(machineConfig);
  const tag = `localhost/bootwright/os-${machineConfig.pool}:${machineConfig.name}`;
  await writeFiles(work, context, files);
  await writeFiles(work, scratch, settings);
  const registries = await writeRegistries(work, build, settings.get('registries.conf'));
  const argv = buildArgv(builder, {
    ...build.access,
    context,
    containerfile: `${context}/${containerfileFile}`,
    tag,
    buildArguments: build.buildArguments,
    volumes: await copyEntitlement(work, scratch),
    policy: settings.has('policy.json') ? `${scratch}/policy.json` : undefined,
  });
  const env = {
    TMPDIR: scratch,
    ...(registries === undefined ? {} : { CONTAINERS_REGISTRIES_CONF: registries }),
  };
  await runBuild(work, build, argv, env, files.get(containerfileFile) ?? '');
  await verifyImage(work, build, tag);
  return tag;
}

/** A rendered MachineConfig contains the pull secret and keys of its machines. */
async function writeFiles(
  { host, signal }: ImageWork,
  folder: string,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  const folders = [...files.keys()].map((path) => dirname(`${folder}/${path}`));
  const argv = ['install', '--directory', '--mode', '0700', ...new Set([folder, ...folders])];
  await host.exec(argv, { signal, limit: quick });
  for (const [path, content] of files) {
    await host.writeFile(`${folder}/${path}`, content, { signal, mode: 0o600 });
  }
}

/**
 * Writes registry settings for the build if they differ from the settings of the host: those of its
 * machines, or those that pull the base from the staging registry.
 */
async function writeRegistries(
  { host, signal }: ImageWork,
  { scratch, stagedBase: staged, machineConfig }: ImageBuild,
  own: string | undefined,
): Promise<string | undefined> {
  const path = `${scratch}/registries.conf`;
  if (staged === undefined) return own === undefined ? undefined : path;
  const before = own ?? (await host.readText('/etc/containers/registries.conf', signal)) ?? '';
  const text = registriesWithBase(before, machineConfig.osImageURL, staged);
  await host.writeFile(path, text, { signal, mode: 0o600 });
  return path;
}

/**
 * Copies the subscription for the build, so that the build cannot change the subscription of the
 * host.
 */
async function copyEntitlement(
  { host, signal, note }: ImageWork,
  scratch: string,
): Promise<readonly string[]> {
  const volumes: string[] = [];
  for (const { from, to, holds } of entitlements) {
    const isThere = (await host.list(from, signal)).some((name) => holds.test(name));
    if (!isThere && volumes.length === 0) return [];
    if (!isThere) continue;
    const copy = `${scratch}/entitlement${from}`;
    await host.exec(['mkdir', '-p', copy], { signal, limit: quick });
    const argv = ['cp', '--recursive', '--dereference', `${from}/.`, copy];
    await host.exec(argv, { signal, limit: quick });
    volumes.push(`${copy}:${to}:rw`);
  }
  note('info', 'the build uses the entitlement of this host');
  return volumes;
}

/** Repeats the build once if the network failed; any other failure would recur. */
async function runBuild(
  work: ImageWork,
  build: ImageBuild,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  containerfile: string,
): Promise<void> {
  const { host, signal, progress, note } = work;
  const { machineConfig, limit } = build;
  const logFile = `${build.scratch}/build.log`;
  for (let attempt = 1; ; attempt += 1) {
    const log: string[] = [];
    const stepAt = buildSteps(containerfile);
    const onLine = (line: string): void => {
      log.push(line);
      const reached = stepAt(line);
      if (reached === undefined) return;
      progress({
        info: `Building OS image of ${machineConfig.pool}: step ${reached.at} of ${reached.of}`,
        percent: Math.floor(((reached.at - 1) * 100) / reached.of),
      });
    };
    try {
      await withHeartbeat(undefined, work, () => host.exec(argv, { signal, limit, env, onLine }));
      return;
    } catch (error) {
      signal.throwIfAborted();
      const failure = buildFailure(error, build, log, logFile);
      if (failure.code !== 'layering.build-cut-off' || attempt > 1) throw failure;
      note('warn', 'the build lost its network; it is retried once', { reason: failure.message });
    } finally {
      // The log helps a person; a failure to write it must not hide the failure of the build.
      const { signal: unheard } = new AbortController();
      const text = `${log.join('\n')}\n`;
      await host.writeFile(logFile, text, { signal: unheard }).catch(() => undefined);
    }
  }
}

/** Number of the last build output lines in the failure message. */
const LINES_SHOWN = 5;

function buildFailure(
  error: unknown,
  { machineConfig: { pool }, limit }: ImageBuild,
  lines: readonly string[],
  log: string,
): AgentError {
  if (!(error instanceof AgentError)) throw error;
  if (error.code === 'command.timed-out') {
    const message = `the build for pool ${pool} did not end within ${renderDuration(limit)}`;
    return layeringFailure('layering.build-too-long', message, { cause: error, context: { log } });
  }
  const stderr = stderrOf(error);
  if (stderr === undefined) throw error;
  const isCutOff = isNetworkFailure(classifyPullError(stderr));
  const last = lines.filter((line) => line.trim() !== '').slice(-LINES_SHOWN);
  const more = last.filter((line) => !error.message.includes(line.trim()));
  const shown = more.length === 0 ? '' : `; its last lines: ${more.join(' | ')}`;
  const message = `the build for pool ${pool}: ${error.message}${shown}`;
  // The log has the whole output; as a reason, it would repeat the message.
  const details = { cause: error, context: { ...error.context, stderr: last.join('\n'), log } };
  if (isCutOff) return layeringFailure('layering.build-cut-off', message, details);
  const hint = `correct the Containerfile in the MachineOSConfig of pool ${pool}; ${pool}-build.log in the bundle is the whole log of the build; then install again`;
  return layeringFailure('layering.build-failed', message, { ...details, hint });
}

/**
 * Inspects an image before it is pushed. Findings of bootc that the base has already are not the
 * fault of the Containerfile, and do not prevent the installation.
 * @throws AgentError `layering.image-*`
 */
async function verifyImage(work: ImageWork, build: ImageBuild, image: string): Promise<void> {
  const { name: rendered, pool, osImageURL: base } = build.machineConfig;
  work.progress({ info: `Checking OS image of ${pool}` });
  const { architecture } = await localFacts(work, build.builder, base);
  const facts = await localFacts(work, build.builder, image);
  const inside = await inspect(work, build, image);
  requireBootable({ image, rendered, pool, architecture }, facts, inside);
  if (inside.lint === undefined) return;
  const { lint } = await inspect(work, build, base);
  if (lint === undefined) {
    throw layeringFailure('layering.image-lint', `${image}: ${inside.lint}`, {
      context: { image, base },
    });
  }
  work.note('warn', 'bootc container lint reports findings that the base image has too', {
    base,
    faults: lint,
  });
}

async function localFacts(
  { host, signal }: ImageWork,
  builder: Builder,
  image: string,
): Promise<ImageFacts> {
  const argv = localConfigArgv(builder, image);
  const reading = host.exec(argv, { signal, limit: minutes(2) });
  const { stdout } = await reading.catch(unreadable(image));
  return readImageFacts(stdout, image);
}

/** @throws AgentError `layering.image-unreadable` for a failed command */
const unreadable =
  (image: string) =>
  (error: unknown): never => {
    if (stderrOf(error) === undefined || !(error instanceof AgentError)) throw error;
    const what = `${image}: ${error.message}`;
    throw layeringFailure('layering.image-unreadable', what, { cause: error });
  };

/**
 * Runs a build on top of an image to read its content. On a busy machine buildah loses the last
 * output of a command (1.28.2, two of eight builds): there are up to three attempts.
 */
async function inspect(
  { host, signal, note }: ImageWork,
  { builder, scratch, machineConfig }: ImageBuild,
  image: string,
): Promise<ImageContent> {
  const limit = minutes(10);
  const context = `${scratch}/look`;
  const containerfile = `${context}/Containerfile`;
  const tag = inspectionTag(machineConfig.pool);
  await host.exec(['mkdir', '-p', context], { signal, limit: quick });
  await host.writeFile(containerfile, inspectionContainerfile(image), { signal, mode: 0o644 });
  const argv = buildArgv(builder, { context, containerfile, tag, buildArguments: [], volumes: [] });
  for (let times = 1; ; times += 1) {
    const reader = insideReader();
    const options = { signal, limit, env: { TMPDIR: scratch }, onLine: reader.line };
    await host.exec(argv, options).catch(unreadable(image));
    await host
      .exec(removeArgv(builder, tag), { signal, limit })
      .catch(() => note('debug', 'the image of the check is still in the store'));
    const inside = reader.seen();
    if (inside.isWhole || times >= 3) return inside;
  }
}
