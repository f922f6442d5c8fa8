import { writeFile } from 'node:fs/promises';
import { flagFailure } from '../../config/failures.ts';
import { buildSettings } from '../../layering/api/machine-config.ts';
import { repositoryOf, withDigest } from '../../lib/image-name.ts';
import { minutes } from '../../model/duration.ts';
import { buildImage } from '../../steps/layering/build-images.ts';
import { findBuilder } from '../../steps/layering/image-work.ts';
import { copyBaseImage, pushImage } from '../../steps/layering/publish-images.ts';
import { print, printJson } from '../messages.ts';
import { untilStopped } from '../stop-signal.ts';
import { type BuildFiles, readBuildFiles } from './files.ts';
import { type ImagePlace, type PlaceCall, placeOnHost, placeOnThisMachine } from './image-place.ts';

/** Arguments of `layer build`. */
export interface BuildCommand extends BuildFiles, PlaceCall {
  /** `text` or `json`; default: `text`. */
  readonly format?: string;
  /** File into which the digest of the pushed image is written. */
  readonly digestfile?: string;
  /** Build on the host of a privileged container. */
  readonly onHost?: boolean;
}

/**
 * Builds and verifies the image of a pool on this machine, with the code of an installation, and
 * prints the image's name in the store. With credentials to push, also pushes the image, and prints
 * its digest and its pull spec. Progress goes to standard error. A signal ends the command with its
 * exit code.
 * @throws AgentError `config.file-not-read`, `layering.*`, `cli.bad-flag`
 */
export async function runLayerBuild(call: BuildCommand): Promise<number> {
  const { pushAuthfile, digestfile, onHost = false } = call;
  if (pushAuthfile === undefined && (digestfile !== undefined || onHost)) {
    const flag = onHost ? '--on-host' : '--digestfile';
    throw flagFailure('cli.bad-flag', `${flag} needs --push-authfile: what is built would be lost`);
  }
  const files = await readBuildFiles(call);
  return untilStopped(async (signal) => {
    await using place = await (onHost ? placeOnHost : placeOnThisMachine)(call, signal);
    const { name, pushed } = await buildAndPush(place, files);
    if (pushed !== undefined && digestfile !== undefined) {
      await writeFile(digestfile, pushed.digest);
    }
    if (call.format === 'json') printJson({ v: 1, name, pushed });
    else if (pushed === undefined) print(`${name}\n`);
    else print(`digest     ${pushed.digest}\npull spec  ${pushed.pullSpec}\n`);
    return 0;
  });
}

/**
 * Builds the image, and pushes it if there are credentials to push. Pushes the base first: the
 * image then shares its blobs, and nodes pull only new blobs. The base is read from the machine's
 * mirrors. Resolves with the image's name in the store.
 * @throws AgentError `layering.*`
 */
export async function buildAndPush(
  { work, scratch, store, buildArguments, access, pushAccess }: ImagePlace,
  files: Awaited<ReturnType<typeof readBuildFiles>>,
): Promise<{
  readonly name: string;
  readonly pushed: { readonly digest: string; readonly pullSpec: string } | undefined;
}> {
  const { config, machineConfig } = files;
  const program = await findBuilder(work);
  work.note('info', `images are built with ${program}`);
  const builder = { name: program, ...(store === undefined ? {} : { store }) };
  const name = await buildImage(work, {
    ...files,
    builder,
    scratch: `${scratch}/build`,
    access,
    buildArguments,
    // Only the user waits for this build, so the limit is long.
    limit: minutes(120),
  });
  if (pushAccess === undefined) return { name, pushed: undefined };
  const to = config.spec.renderedImagePushSpec;
  const base = { image: machineConfig.osImageURL, ...access };
  const mirrors = buildSettings(machineConfig).get('registries.conf');
  const registries = `${scratch}/mirrors.conf`;
  if (mirrors !== undefined) {
    await work.host.writeFile(registries, mirrors, { signal: work.signal, mode: 0o600 });
  }
  const from = mirrors === undefined ? base : { ...base, registries };
  await copyBaseImage(work, from, repositoryOf(to), pushAccess);
  const digest = await pushImage(work, { builder, tag: name, to, access: pushAccess, scratch });
  return { name, pushed: { digest, pullSpec: withDigest(to, digest) } };
}
