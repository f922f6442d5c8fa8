import { type Builder, localConfigArgv } from '../../../layering/build/container-tools.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import { type ImageFacts, readImageFacts } from '../../../layering/build/verify-image.ts';
import { minutes } from '../../../model/duration.ts';
import { type ImageWork, saidBy } from './work.ts';

/**
 * What an image of the store says of itself.
 * @throws AgentError `layering.image-unreadable`
 */
export async function factsOf(
  work: ImageWork,
  builder: Builder,
  image: string,
): Promise<ImageFacts> {
  const { host, signal } = work;
  const { stdout } = await host
    .exec(localConfigArgv(builder, image), { signal, limit: minutes(2) })
    .catch((error: unknown) => {
      throw unreadable(error, image);
    });
  return readImageFacts(stdout, image);
}

/** A command that could not look at an image; any other error is what it is. */
export function unreadable(error: unknown, image: string): unknown {
  const said = saidBy(error);
  if (said === undefined || !(error instanceof Error)) return error;
  return layeringFailure('layering.image-unreadable', `${image}: ${error.message}`, {
    cause: error,
  });
}
