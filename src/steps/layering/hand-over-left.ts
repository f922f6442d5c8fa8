import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import type { StepScope } from '../step.ts';
import { submitOsConfig } from './hand-over-objects.ts';
import { handOverImage } from './hand-over-pool.ts';
import { waitForPool } from './rendered-pool.ts';

type LeftScope = StepScope<'kube' | 'clock'>;

/**
 * Hands images over, one pool after the other; a pool that fails keeps none behind it. `handedOver` is called after each.
 * @throws AgentError the first failure: `layering.*`, `wait.timed-out`, `kube.*`
 */
export async function handOverLeft(
  scope: LeftScope,
  images: readonly LeftImage[],
  handedOver: (image: LeftImage) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const image of images) {
    try {
      await handOverIfFitting(scope, image);
      await handedOver(image);
    } catch (error) {
      scope.signal.throwIfAborted();
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** An image of another MachineConfig than that of its pool is none to hand over, and neither is one without its tag. */
async function handOverIfFitting(scope: LeftScope, image: LeftImage): Promise<void> {
  const { pool, renderedConfig, osConfig, isTagged = true } = image;
  const rendered = await waitForPool(scope, pool);
  if (rendered === renderedConfig && isTagged) {
    await handOverImage(scope, image, { delivery: 'after-join' });
    return;
  }
  scope.note(
    'warn',
    isTagged
      ? `pool ${pool} is now rendered as ${rendered}, and its OS image was built for ${renderedConfig}: the cluster builds a new one`
      : `the OS image of pool ${pool} has no tag in its registry: the cluster builds a new one`,
  );
  await submitOsConfig(scope, osConfig);
}
