import { PULL_SECRET_PATH } from '../../../ignition/resource.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import { AgentError } from '../../../model/failure.ts';
import { requireDigest } from './copy-image.ts';
import { type ImageWork, withTries } from './work.ts';

/**
 * Asks for a published image as a node will: with the pull secret of the cluster. Masters that are served an image
 * which they may not pull would try for ever.
 * @throws AgentError `layering.not-pullable`, `layering.registry-unreachable` after three attempts,
 * `layering.digest-changed`
 */
export async function requirePullable(
  work: ImageWork,
  { image, digest }: { readonly image: string; readonly digest: string },
): Promise<void> {
  const what = `asking for ${image} as a node will`;
  try {
    await withTries(work, { what, otherwise: 'layering.copy-failed' }, () =>
      requireDigest(work, { image, authFile: PULL_SECRET_PATH, digest }),
    );
  } catch (error) {
    if (!(error instanceof AgentError) || !refusals.includes(error.code)) throw error;
    throw layeringFailure('layering.not-pullable', error.message, {
      cause: error,
      context: { image, pullSecret: PULL_SECRET_PATH },
    });
  }
}

/** Registries often call forbidden what is not there, and absent what is forbidden. */
const refusals: readonly string[] = ['layering.registry-denied', 'layering.copy-failed'];
