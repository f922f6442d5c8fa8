import { digestOf, repositoryOf } from '../../lib/image-name.ts';
import { layeringFailure } from '../../layering/failures.ts';
import type { StepScope } from '../step.ts';
import { withSecretFile } from './auth-files.ts';
import { imageWork } from './image-work.ts';
import { copyImage } from './images/copy-image.ts';

/** An image that is to have a further name in its repository. */
export interface ImageTag {
  /** HOST/[NAMESPACE/]NAME@sha256:… */
  readonly final: string;
  readonly tag: string;
  /** Manifest of the Secret that may push. */
  readonly pushSecret: string;
}

/**
 * Gives a published image a further tag; it moves no data, and a tag that is there already stays.
 * @throws AgentError `layering.registry-unreachable` after three attempts, `layering.registry-denied`,
 * `layering.copy-failed`, `layering.digest-changed`, `layering.bad-credentials`
 */
export async function tagImage(
  scope: StepScope<'host' | 'clock'>,
  { final, tag, pushSecret }: ImageTag,
): Promise<void> {
  const digest = digestOf(final);
  if (digest === undefined) {
    throw layeringFailure('layering.copy-failed', `${final} names no digest`);
  }
  await withSecretFile(scope, { secret: pushSecret, name: `tag-${tag}` }, (authFile) =>
    copyImage(imageWork(scope), {
      what: `tagging ${final} as ${tag}`,
      from: { image: final, authFile },
      to: { image: `${repositoryOf(final)}:${tag}`, authFile },
      digest,
    }),
  );
}
