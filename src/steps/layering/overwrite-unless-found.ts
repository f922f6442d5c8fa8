import { all } from '../../engine/condition.ts';
import { takesBuiltImage } from '../conditions.ts';
import { finalOverwrite, overwriteNeeds } from '../image/overwrite-os.ts';
import { step } from '../step.ts';
import { WorkerBoot } from './worker-facts.ts';

/** As `image/overwrite-os`, on a worker that has looked for the image of its pool. */
export const overwriteUnlessFound = step({
  ...finalOverwrite,
  id: 'layering/overwrite-os',
  when: all(finalOverwrite.when, takesBuiltImage),
  needs: { ...overwriteNeeds, boot: WorkerBoot },
  skipIf: ({ boot }) =>
    boot.kind === 'stock' ? undefined : 'the image of the pool is written instead',
});
