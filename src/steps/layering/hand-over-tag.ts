import { seconds } from '../../model/duration.ts';
import type { StepScope } from '../step.ts';
import { type ImageTag, tagImage } from './tag-image.ts';

/**
 * What a registry may take before the objects are written all the same: five seconds after a pool is rendered the
 * node controller takes the image off the nodes of one that nobody layered, which is worse than a build without a tag.
 */
const headStart = seconds(2);

/**
 * Tags the image, then writes; a registry that is slow is waited for behind the objects and not before them. The tag
 * is what lets the builder find the image again should a MachineOSConfig lose the name of its build.
 * @throws AgentError `layering.*` of the tag, once all is written; what `write` throws
 */
export async function tagAndWrite(
  scope: StepScope<'host' | 'kube' | 'clock'>,
  tag: ImageTag,
  write: () => Promise<void>,
): Promise<void> {
  const tagged = tagImage(scope, tag);
  const over = tagged.then(
    () => undefined,
    () => undefined,
  );
  await atMost(scope, over);
  try {
    await write();
  } finally {
    await over;
  }
  await tagged;
}

async function atMost({ clock, signal }: StepScope<'clock'>, over: Promise<void>): Promise<void> {
  const enough = new AbortController();
  const limit = clock
    .sleep(headStart, AbortSignal.any([signal, enough.signal]))
    .catch(() => undefined);
  await Promise.race([over, limit]);
  enough.abort(new Error('the tag is there'));
  await limit;
  signal.throwIfAborted();
}
