import { dirname } from 'node:path/posix';
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
  type BuildCall,
  type Builder,
  buildSteps,
  type RegistryAccess,
  removeArgv,
  classifyPullError,
} from '../../layering/build/container-tools.ts';
import {
  type Inside,
  insideReader,
  lookInsideArgv,
  lookInsideContainerfile,
  lookTag,
  imageViolation,
} from '../../layering/build/verify-image.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { type Millis, minutes, renderDuration } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { factsOf, type ImageWork, stderrOf, unreadable } from './image-work.ts';

/** What is built, with what, and where. */
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

/** Writes what the program that builds goes by beside the settings of the host, which stay as they are. */
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
    await keepLog(host, `${scratch}/build.log`, log);
  }
}

/** The log helps a person; that it cannot be written must not hide what happened. */
async function keepLog(
  host: ImageWork['host'],
  path: string,
  lines: readonly string[],
): Promise<void> {
  const { signal } = new AbortController();
  await host.writeFile(path, `${lines.join('\n')}\n`, { signal }).catch(() => undefined);
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

/** An image of the store, and what it has to be. */
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
 * What bootc says of the base already is not the fault of the Containerfile, and no reason to install nothing.
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

async function lookInside(
  { host, signal, note }: ImageWork,
  { builder, scratch, tag, pool }: ImageToVerify,
): Promise<Inside> {
  const context = `${scratch}/look`;
  const containerfile = `${context}/Containerfile`;
  const looked = lookTag(pool);
  await host.exec(['mkdir', '-p', context], { signal, limit: minutes(1) });
  await host.writeFile(containerfile, lookInsideContainerfile(tag), { signal, mode: 0o644 });
  const reader = insideReader();
  const argv = lookInsideArgv(builder, { context, containerfile, tag: looked });
  try {
    await host.exec(argv, {
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
