import { writeFile } from 'node:fs/promises';
import { buildSettings } from '../../layering/api/machine-config.ts';
import { builtFrom, builtFromLabel, planBuild } from '../../layering/build/build-plan.ts';
import { repositoryOf, withDigest } from '../../lib/image-name.ts';
import { minutes } from '../../model/duration.ts';
import { findBuilder, type ImageWork } from '../../steps/layering/image-work.ts';
import { flagFailure } from '../../config/failures.ts';
import { buildImage, localTag } from '../../steps/layering/build-images.ts';
import { copyBaseImage, pushImage, requireBuilt } from '../../steps/layering/publish-images.ts';
import { print, printJson } from '../messages.ts';
import { untilStopped } from '../stop-signal.ts';
import { type BuildFiles, readBuildFiles } from './files.ts';
import { type ImagePlace, type PlaceCall, placeOnHost, placeOnThisMachine } from './image-place.ts';

/** Only the user waits for this build. */
const longestBuild = minutes(120);

/**
 * Builds and verifies the image of a pool on this machine, by the code of an installation, and
 * prints its name in the store; where it is to be pushed, pushes it, and prints its digest and its
 * pull spec.
 * @throws AgentError `config.file-not-read`, `layering.*`, `cli.bad-flag`
 */
export async function runLayerBuild(call: BuildCommand): Promise<number> {
  const { pushAuthfile, digestfile } = call;
  if (pushAuthfile === undefined && (digestfile !== undefined || call.onHost)) {
    const flag = call.onHost ? '--on-host' : '--digestfile';
    throw flagFailure('cli.bad-flag', `${flag} needs --push-authfile: what is built would be lost`);
  }
  return withImagePlace(call, async (job) => {
    const labels = { [builtFromLabel]: builtFrom(planBuild(job), job.machineConfig) };
    const build = { ...job, labels, scratch: `${job.scratch}/build`, limit: longestBuild };
    const name = await buildImage(job.work, build);
    const pushed = pushAuthfile === undefined ? undefined : await pushBuilt(job);
    if (pushed !== undefined && digestfile !== undefined) {
      await writeFile(digestfile, pushed.digest);
    }
    if (call.format === 'json') printJson({ v: 1, name, pushed });
    else print(pushed === undefined ? `${name}\n` : pushedText(pushed));
  });
}

interface Pushed {
  readonly digest: string;
  readonly pullSpec: string;
}

const pushedText = ({ digest, pullSpec }: Pushed): string =>
  `digest     ${digest}\npull spec  ${pullSpec}\n`;

/**
 * Pushes the image, once it was found. The base goes first: the image then shares its blobs, and
 * nodes pull only what is new.
 * @throws AgentError `layering.not-built` before anything went anywhere, `layering.*`
 */
export async function pushBuilt({
  work,
  config,
  machineConfig,
  builder,
  scratch,
  access,
  pushAccess = access,
  mirrors,
}: ImageJob): Promise<Pushed> {
  const tag = localTag(machineConfig.pool, machineConfig.name);
  const wanted = builtFrom(planBuild({ config, machineConfig }), machineConfig);
  await requireBuilt(work, { builder, tag, builtFrom: wanted });
  const to = config.spec.renderedImagePushSpec;
  const base = { image: machineConfig.osImageURL, ...access, ...mirrors };
  await copyBaseImage(work, { base, repository: repositoryOf(to), access: pushAccess });
  const digest = await pushImage(work, { builder, tag, to, access: pushAccess, scratch });
  return { digest, pullSpec: withDigest(to, digest) };
}

/** Arguments of `layer build`. */
export interface BuildCommand extends BuildFiles, PlaceCall {
  /** `text`, unless it is `json`. */
  readonly format?: string;
  /** File that gets the digest of the pushed image. */
  readonly digestfile?: string;
  /** Whether the host of a privileged container builds. */
  readonly onHost?: boolean;
}

/** What is built, and where. */
export interface ImageJob
  extends Pick<ImagePlace, 'scratch' | 'access'>, Partial<Pick<ImagePlace, 'pushAccess'>> {
  readonly work: ImageWork;
  readonly config: Awaited<ReturnType<typeof readBuildFiles>>['config'];
  readonly machineConfig: Awaited<ReturnType<typeof readBuildFiles>>['machineConfig'];
  readonly builder: { readonly name: 'buildah' | 'podman' } & Pick<ImagePlace, 'store'>;
  /** The mirrors of the machines, where their MachineConfig has any. */
  readonly mirrors: { readonly registries?: string };
}

/**
 * Reads the files, finds the program that builds, and calls `run`. Progress goes to standard error;
 * a signal ends it with the code of that signal.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
async function withImagePlace(
  call: BuildCommand,
  run: (job: ImageJob) => Promise<void>,
): Promise<number> {
  const files = await readBuildFiles(call);
  const open = call.onHost === true ? placeOnHost : placeOnThisMachine;
  return untilStopped(async (signal) => {
    await using place = await open(call, signal);
    const { work, scratch, store } = place;
    const { name, reason } = await findBuilder(work);
    work.note('info', `images are built with ${name}: ${reason}`);
    const builder = { name, ...(store === undefined ? {} : { store }) };
    const mirrors = await writeMirrors(files.machineConfig, place);
    await run({ ...place, ...files, work, builder, scratch, mirrors });
    return 0;
  });
}

async function writeMirrors(
  machineConfig: ImageJob['machineConfig'],
  { scratch, work: { host, signal } }: ImagePlace,
): Promise<ImageJob['mirrors']> {
  const settings = buildSettings(machineConfig).get('registries.conf');
  if (settings === undefined) return {};
  const registries = `${scratch}/mirrors.conf`;
  await host.writeFile(registries, settings, { signal, mode: 0o600 });
  return { registries };
}
