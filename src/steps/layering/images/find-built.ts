import { builtFromLabel } from '../../../layering/build/build-plan.ts';
import type { Builder } from '../../../layering/build/container-tools.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import { AgentError } from '../../../model/failure.ts';
import { factsOf } from './image-facts.ts';
import { type ImageWork, saidBy } from './work.ts';

/** What skopeo says of a name that the store does not have. */
const absent = /does not resolve to an image|identifier is not an image|no such image/i;

/**
 * Finds an image of the store, and that it was built from what it is pushed for.
 * @throws AgentError `layering.not-built`, `layering.image-unreadable`
 */
export async function requireBuilt(
  work: ImageWork,
  {
    builder,
    tag,
    builtFrom,
  }: { readonly builder: Builder; readonly tag: string; readonly builtFrom: string },
): Promise<void> {
  const { labels } = await factsOf(work, builder, tag).catch((error: unknown) => {
    const said = error instanceof AgentError ? saidBy(error.cause) : undefined;
    if (said === undefined || !absent.test(said)) throw error;
    throw layeringFailure('layering.not-built', `there is no image ${tag} in the store`);
  });
  if (labels[builtFromLabel] === builtFrom) return;
  throw layeringFailure(
    'layering.not-built',
    `${tag} was built from another Containerfile, another MachineConfig, or by another version`,
    { hint: 'build it again: bootwright layer build with the same words' },
  );
}
