import { machineConfigPools } from '../../cluster/kinds.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { FoundRecord } from '../after-pivot/record.ts';
import { longestWait } from '../cluster/cluster-wait.ts';
import { waitForThreeMembers } from '../cluster/three-members.ts';
import { step } from '../step.ts';
import { handOverImage } from './hand-over-pool.ts';
import { waitForRenderedPool } from './hand-over-rendered.ts';
import { endPause } from './pool-pause.ts';
import { unlessLeft } from './skips.ts';

/**
 * Hands over the images that the bootstrap host has left, once etcd can lose a member: the Machine Config Operator rolls
 * them out to whatever does not run them yet, with a drain and a restart of each node.
 */
export const handOverLeft = step({
  id: 'layering/hand-over-left',
  title: 'Hand over the images that the bootstrap host has left',
  uses: ['kube', 'clock'],
  needs: { record: FoundRecord },
  skipIf: ({ record }) => unlessLeft(record?.images ?? []),
  retry: { attempts: 10, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor:
    'three healthy members of etcd, and each pool to be rendered as its image was built for',
  run: async (scope, { record }) => {
    await waitForThreeMembers(scope);
    for (const image of record?.images ?? []) {
      const { pool, renderedConfig } = image;
      await waitForRenderedPool(scope, { pool, name: renderedConfig });
      await handOverImage(scope, image);
      await endPause(scope, { kind: machineConfigPools, name: pool });
    }
  },
});
