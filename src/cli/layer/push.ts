import { builtFrom } from '../../layering/build/built-from.ts';
import { planBuild } from '../../layering/build/plan.ts';
import { repositoryOf, withDigest } from '../../lib/image-name.ts';
import { localTag } from '../../steps/layering/images/build-image.ts';
import { copyBaseImage } from '../../steps/layering/images/copy-base-image.ts';
import { requireBuilt } from '../../steps/layering/images/find-built.ts';
import { pushImage } from '../../steps/layering/images/push-image.ts';
import { type ImageCall, type ImageJob, onThisMachine } from './image-work.ts';

/**
 * Pushes an image that `layer build` built of the same files to where its MachineOSConfig says, and prints its digest
 * and its pull spec.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export const runLayerPush = (call: ImageCall): Promise<number> =>
  onThisMachine(call, async (job) => {
    const { digest, pullSpec } = await pushBuilt(job);
    process.stdout.write(`digest     ${digest}\npull spec  ${pullSpec}\n`);
  });

/**
 * Pushes the image, once it is known that there is one. The base goes first, so that the image keeps its blobs and
 * nodes pull what is new alone.
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
