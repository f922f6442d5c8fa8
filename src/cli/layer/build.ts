import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '../../adapters/clock.ts';
import { localHost } from '../../adapters/host/local-host.ts';
import type { Environment } from '../../config/environment.ts';
import { buildSettings, type MachineConfig } from '../../layering/api/machine-config.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import { builtFrom, builtFromLabel, planBuild } from '../../layering/build/build-plan.ts';
import type { Builder, ImageStore } from '../../layering/build/container-tools.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { mergePullSecrets } from '../../layering/registry/credentials.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { repositoryOf, withDigest } from '../../lib/image-name.ts';
import { minutes } from '../../model/duration.ts';
import { buildImage, localTag } from '../../steps/layering/build-image.ts';
import { copyBaseImage, pushImage, requireBuilt } from '../../steps/layering/copy-image.ts';
import { findBuilder, type ImageWork } from '../../steps/layering/image-work.ts';
import { print, printError, printNote } from '../messages.ts';
import { stopSignal } from '../stop-signal.ts';
import { type BuildFiles, readBuildFiles, readSource } from './files.ts';

/** Only the user waits for this build. */
const longestBuild = minutes(120);

/**
 * Builds and verifies the image of a pool on this machine, by the code of an installation, and prints its name in
 * the store.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export const runLayerBuild = (call: ImageCall): Promise<number> =>
  onThisMachine(call, async ({ work, scratch, ...job }) => {
    const labels = { [builtFromLabel]: builtFrom(planBuild(job), job.machineConfig) };
    const build = { ...job, labels, scratch: `${scratch}/build`, limit: longestBuild };
    const name = await buildImage(work, build);
    print(`${name}\n`);
  });

/**
 * Pushes an image that `layer build` built of the same files to where its MachineOSConfig says, and prints its digest
 * and its pull spec.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export const runLayerPush = (call: ImageCall): Promise<number> =>
  onThisMachine(call, async (job) => {
    const { digest, pullSpec } = await pushBuilt(job);
    print(`digest     ${digest}\npull spec  ${pullSpec}\n`);
  });

/**
 * Pushes the image, once it was found. The base goes first: the image then shares its blobs, and nodes pull only
 * what is new.
 * @throws AgentError `layering.not-built` before anything went anywhere, `layering.*`
 */
export async function pushBuilt({
  work,
  config,
  machineConfig,
  builder,
  scratch,
  access,
  mirrors,
}: ImageJob): Promise<{ readonly digest: string; readonly pullSpec: string }> {
  const tag = localTag(machineConfig.pool, machineConfig.name);
  const wanted = builtFrom(planBuild({ config, machineConfig }), machineConfig);
  await requireBuilt(work, { builder, tag, builtFrom: wanted });
  const to = config.spec.renderedImagePushSpec;
  const base = { image: machineConfig.osImageURL, ...access, ...mirrors };
  await copyBaseImage(work, { base, repository: repositoryOf(to), access });
  const digest = await pushImage(work, { builder, tag, to, access, scratch });
  return { digest, pullSpec: withDigest(to, digest) };
}

/** Arguments of `layer build` and `layer push`. */
export interface ImageCall extends BuildFiles {
  /** Registry credentials, in the form of a pull secret; default: those of the user. */
  readonly authfile?: string;
  /** Directory for the images; default: the storage of the user. */
  readonly storage?: string;
  readonly environment: Environment;
}

/** What both work on. */
export interface ImageJob {
  readonly work: ImageWork;
  readonly config: MachineOSConfig;
  readonly machineConfig: MachineConfig;
  readonly builder: Builder;
  readonly scratch: string;
  readonly access: { readonly authFile?: string };
  /** The mirrors of the machines, where their MachineConfig has any. */
  readonly mirrors: { readonly registries?: string };
}

/**
 * Reads the files, finds the program that builds on this machine, and calls `run`. Progress goes to standard error; a
 * signal ends it with the code of that signal.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export async function onThisMachine(
  call: ImageCall,
  run: (job: ImageJob) => Promise<void>,
): Promise<number> {
  const files = await readBuildFiles(call);
  const access = await accessBy(call.authfile);
  using stop = stopSignal();
  const scratch = await mkdtemp(join(tmpdir(), 'bootwright-layer-'));
  try {
    const work = workWithNotes(call.environment, stop.signal);
    const { name, reason } = await findBuilder(work);
    work.note('info', `images are built with ${name}: ${reason}`);
    const builder = { name, ...(await storeFor(call)) };
    const mirrors = await writeMirrors(files.machineConfig, scratch);
    await run({ work, ...files, builder, scratch, access, mirrors });
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    throw thrown;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function writeMirrors(
  machineConfig: MachineConfig,
  scratch: string,
): Promise<ImageJob['mirrors']> {
  const settings = buildSettings(machineConfig).get('registries.conf');
  if (settings === undefined) return {};
  const registries = join(scratch, 'registries.conf');
  await writeFile(registries, settings);
  return { registries };
}

/** Credentials that cannot be read would be missed only once something is built. */
async function accessBy(authfile: string | undefined): Promise<ImageJob['access']> {
  if (authfile === undefined) return {};
  const { path, text } = await readSource(authfile);
  mergePullSecrets([{ from: path, text }]);
  return { authFile: resolve(path) };
}

async function storeFor({ storage, environment }: ImageCall): Promise<Pick<Builder, 'store'>> {
  if (storage === undefined) return {};
  const store = storeIn(storage, environment);
  await prepareRunRoot(store);
  return { store };
}

function workWithNotes(environment: Environment, signal: AbortSignal): ImageWork {
  return {
    host: localHost({ environment }),
    clock: systemClock,
    signal,
    // Commands inherit the proxies of the user, and so do builds.
    buildArguments: [],
    progress: ({ info }) => {
      printError(`${plainLine(info)}\n`);
    },
    // Whoever runs the command sees that it runs.
    alive: () => undefined,
    note: (level, message, { reason } = {}) => {
      if (level === 'debug') return;
      const kind = level === 'info' ? 'note' : 'warning';
      printNote(kind, reason === undefined ? message : `${message}: ${String(reason)}`);
    },
  };
}

/** podman takes no longer name for its run root. */
const longestRun = 50;

/**
 * The store of images in a folder. Its run root is the same each time, as podman keeps its name in the store, and is
 * never removed: another command may use the same store.
 */
export function storeIn(folder: string, environment: Environment): ImageStore {
  const storage = resolve(folder);
  const sum = createHash('sha256').update(storage).digest('hex').slice(0, 12);
  const { XDG_RUNTIME_DIR: session = '' } = environment;
  const places = [
    ...(session === '' ? [] : [join(session, 'bootwright', sum)]),
    join(storage, 'run'),
  ];
  const run = places.find(({ length }) => length <= longestRun);
  return { storage, run: run ?? join(tmpdir(), `bootwright-${process.getuid?.() ?? 0}-${sum}`) };
}

/** A link has these bits as well. */
const writableByOthers = 0o022;

/**
 * Creates the run root, which may be in a directory that everybody can write to.
 * @throws AgentError `layering.store-taken` when it belongs to another user
 */
export async function prepareRunRoot({ run }: ImageStore): Promise<void> {
  await mkdir(run, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(run);
  const isOurs = process.getuid === undefined || uid === process.getuid();
  if (isOurs && (mode & writableByOthers) === 0) return;
  throw layeringFailure('layering.store-taken', `${run} belongs to another user`);
}
