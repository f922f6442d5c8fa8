import { machineOSConfigs } from '../../cluster/kinds.ts';
import { textAt } from '../../layering/api/cluster-object.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { FoundRecord, recordRef } from '../after-pivot/record.ts';
import { longestWait } from '../cluster/kube-watch.ts';
import { waitForThreeMembers } from '../cluster/wait-for-etcd.ts';
import { step, type StepScope } from '../step.ts';
import { submitOsConfig } from './hand-over-objects.ts';
import { handOverImage } from './hand-over-pool.ts';
import { waitForPool } from './rendered-pool.ts';

type RollOutScope = StepScope<'kube' | 'clock'>;

/** The job has a day: what is left by then is handed over as it is. */
const timeToRollOut = hours(22);

/**
 * Brings the images that the bootstrap host has left to their pools, one pool after the other, once etcd can lose a
 * member: then the Machine Config Operator rolls them out.
 */
export const rollOutImages = step({
  id: 'layering/bring-images',
  title: 'Hand the OS images of this installation over to their pools',
  uses: ['kube', 'clock'],
  needs: { record: FoundRecord },
  skipIf: ({ record }) =>
    (record?.images ?? []).length === 0 ? 'there is no OS image to hand over' : undefined,
  // The API server goes away for a while whenever a master restarts.
  retry: { attempts: 100, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'three healthy members of etcd',
  run: async (scope, { record }) => {
    const images = record?.images ?? [];
    const end = await endOfRollOut(scope);
    const failures: unknown[] = [];
    for (const [index, image] of images.entries()) {
      const within = Math.max(0, end - scope.clock.now()) / (images.length - index);
      await rollOutImage(scope, image, within).catch((error: unknown) => {
        reportRefusal(scope, image, error);
        failures.push(error);
      });
    }
    if (failures.length > 0) throw failures[0];
  },
});

/** @throws AgentError `layering.*`, `wait.timed-out`, `kube.*` */
async function rollOutImage(scope: RollOutScope, image: LeftImage, within: Millis): Promise<void> {
  if (within > 0 && !(await isHandedOver(scope, image))) await waitForThreeMembers(scope, within);
  await handOverIfFitting(scope, image);
}

async function isHandedOver(
  { kube, signal }: RollOutScope,
  { pool, image }: LeftImage,
): Promise<boolean> {
  const found = await kube.get({ kind: machineOSConfigs, name: pool }, signal);
  return textAt(found, 'status', 'currentImagePullSpec') === image;
}

/** What cannot be handed over stays so; an API server that is away is asked again. */
function reportRefusal(scope: RollOutScope, image: LeftImage, error: unknown): void {
  scope.signal.throwIfAborted();
  if (!(error instanceof AgentError) || error.code.startsWith('kube.')) throw error;
  scope.note('warn', `the OS image of pool ${image.pool} is not handed over: ${error.message}`, {
    code: error.code,
  });
}

/**
 * Hands images over, one pool after the other; a pool that fails keeps none behind it. `handedOver` is called after each.
 * @throws AgentError the first failure: `layering.*`, `wait.timed-out`, `kube.*`
 */
export async function handOverLeft(
  scope: RollOutScope,
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
async function handOverIfFitting(scope: RollOutScope, image: LeftImage): Promise<void> {
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

/** The time of the job counts from when it was left, whichever of its pods this is. */
async function endOfRollOut({ kube, clock, signal }: RollOutScope): Promise<number> {
  const record = await kube.get(recordRef, signal);
  const left = Date.parse(record?.metadata.creationTimestamp ?? '');
  return (Number.isNaN(left) ? clock.now() : left) + timeToRollOut;
}
