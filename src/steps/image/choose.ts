import type { Config } from '../../config/schema.ts';
import { asAgentError } from '../../engine/failures.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { step, type StepScope } from '../step.ts';
import { chooseImageSource, explainImage, type ImageWish } from './choose-source.ts';
import { ChosenImage } from './facts.ts';
import { findImage } from './find-image.ts';
import { architectureArgv } from '../host-commands.ts';
import { digestArgv, headArgv } from './image-file.ts';
import { inspectArgv, readNodeImage, refuseOtherRelease } from './node-image.ts';
import { lineOfCluster } from './release.ts';

/**
 * Chooses where the operating system comes from and looks whether it is there and fits, while the
 * disk is still as it was.
 */
export const choose = step({
  id: 'image/choose',
  title: 'Choose the operating system image',
  uses: ['host', 'web'],
  needs: { disk: TargetDisk },
  gives: ChosenImage,
  when: writesDisk,
  preflight: true,
  limit: minutes(40),
  explain: explainImage,
  preview: previewChoice,
  run: async (scope, { disk }) => {
    const wish = chooseImageSource(scope.config);
    await checkNodeImage(scope);
    const image = await findImage({ scope, disk }, wish);
    scope.note('info', 'the operating system image is chosen', {
      source: image.kind,
      ...('path' in image ? { path: image.path } : {}),
      ...('url' in image ? { url: image.url } : {}),
      because: image.because,
    });
    return image;
  },
});

/** What is looked at on the host; an image at a URL is looked at without a command. */
function previewChoice(config: Config): readonly (readonly string[])[] {
  const { nodeImage, sha256 } = config.image;
  const wish = wishOrNone(config);
  return [
    ...(nodeImage === '' ? [] : [architectureArgv, inspectArgv(nodeImage)]),
    ...(wish?.kind === 'file' ? [headArgv(wish.path)] : []),
    ...(wish?.kind === 'file' && sha256 !== '' ? [digestArgv(wish.path)] : []),
    ...(wish?.kind === 'stream' ? [architectureArgv] : []),
  ];
}

/** None where the configuration cannot be met, which `explain` tells. */
function wishOrNone(config: Config): ImageWish | undefined {
  try {
    return chooseImageSource(config);
  } catch {
    return undefined;
  }
}

async function checkNodeImage(scope: StepScope<'host' | 'web'>): Promise<void> {
  const { host, signal, config, note } = scope;
  const { nodeImage } = config.image;
  if (nodeImage === '') return;
  const { stdout: architecture } = await host.exec(architectureArgv, {
    signal,
    limit: seconds(10),
  });
  let inspected: string | undefined;
  try {
    inspected = (await host.exec(inspectArgv(nodeImage), { signal, limit: minutes(2) })).stdout;
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    note('warn', 'the node image cannot be looked at; only its tag is checked', {
      image: nodeImage,
      code,
      reason: message,
    });
  }
  const image = readNodeImage(nodeImage, inspected);
  refuseOtherRelease(image, { architecture, line: lineOfCluster(config) });
}
