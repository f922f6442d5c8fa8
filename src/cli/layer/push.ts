import { repositoryOf, withDigest } from '../../layering/pull-spec.ts';
import { localTag } from '../../steps/layering/images/build-image.ts';
import { copyBaseImage } from '../../steps/layering/images/copy-base-image.ts';
import { pushImage } from '../../steps/layering/images/push-image.ts';
import { type ImageCall, onThisMachine } from './image-work.ts';

/**
 * Pushes an image that `layer build` built to where its MachineOSConfig says, and prints its digest and its pull
 * spec. The base goes first, so that the image keeps its blobs and nodes pull what is new alone.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export const runLayerPush = (call: ImageCall): Promise<number> =>
  onThisMachine(
    call,
    async ({ work, config, machineConfig, builder, scratch, access, mirrors }) => {
      const to = config.spec.renderedImagePushSpec;
      const base = { image: machineConfig.osImageURL, ...access, ...mirrors };
      await copyBaseImage(work, { base, repository: repositoryOf(to), access });
      const tag = localTag(machineConfig.pool, machineConfig.name);
      const digest = await pushImage(work, { builder, tag, to, access, scratch });
      process.stdout.write(`digest     ${digest}\npull spec  ${withDigest(to, digest)}\n`);
    },
  );
