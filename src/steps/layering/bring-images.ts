import { machineConfigPools } from '../../cluster/kinds.ts';
import type { LeftImage } from '../../layering/hand-over/left-image.ts';
import { lineless } from '../../layering/source-object.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { FoundRecord, recordRef } from '../after-pivot/record.ts';
import { longestWait } from '../cluster/cluster-wait.ts';
import { waitForThreeMembers } from '../cluster/three-members.ts';
import { step, type StepScope } from '../step.ts';
import { submitOsConfig } from './hand-over-os-config.ts';
import { handOverImage } from './hand-over-pool.ts';
import { endPause } from './pool-pause.ts';
import { waitForPool } from './rendered-pool.ts';
import { switchPool } from './switch-pool.ts';

type BringScope = StepScope<'kube' | 'clock'>;

/** The job has a day; a pool is never left paused when that ends. */
const timeToSwitch = hours(22);

/**
 * Brings the images that the bootstrap host has left to their pools, one pool after the other, once etcd can lose a
 * member: nodes are switched where that is asked for, then the image is handed over, and the Machine Config Operator
 * rolls it out to whatever does not run it yet.
 */
export const bringImages = step({
  id: 'layering/bring-images',
  title: 'Bring the images that the bootstrap host has left to their pools',
  uses: ['kube', 'clock'],
  needs: { record: FoundRecord },
  skipIf: ({ record }) =>
    (record?.images ?? []).length === 0 ? 'no image was left to be handed over' : undefined,
  // The API server goes away for a while whenever a master restarts.
  retry: { attempts: 100, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'three healthy members of etcd, and each node that is switched to run its image',
  run: async (scope, { record }) => {
    await waitForThreeMembers(scope);
    const images = record?.images ?? [];
    const end = await endOfSwitching(scope);
    for (const [index, image] of images.entries()) {
      const left = Math.max(minutes(1), end - scope.clock.now());
      await bringImage(scope, image, left / (images.length - index));
    }
  },
});

async function bringImage(scope: BringScope, image: LeftImage, within: Millis): Promise<void> {
  const { pool, switchedBy } = image;
  await waitForPool(scope, pool);
  if (switchedBy !== undefined) await switchPool(scope, image, { program: switchedBy, within });
  await handOverIfFitting(scope, image);
  await endPause(scope, { kind: machineConfigPools, name: pool });
}

/** An image of another MachineConfig than that of its pool is none to hand over. */
async function handOverIfFitting(scope: BringScope, image: LeftImage): Promise<void> {
  const { pool, renderedConfig, osConfig } = image;
  const rendered = await waitForPool(scope, pool);
  if (rendered === renderedConfig) {
    await handOverImage(scope, image);
    return;
  }
  scope.note(
    'warn',
    `pool ${pool} is rendered as ${rendered} by now, and its image was built for ${renderedConfig}: the cluster builds anew`,
  );
  await submitOsConfig(
    scope,
    lineless(osConfig, `the MachineOSConfig ${pool} of the installation`),
  );
}

/** The time of the job counts from when it was left, whichever of its pods this is. */
async function endOfSwitching({ kube, clock, signal }: BringScope): Promise<number> {
  const record = await kube.get(recordRef, signal);
  const left = Date.parse(record?.metadata.creationTimestamp ?? '');
  return (Number.isNaN(left) ? clock.now() : left) + timeToSwitch;
}
