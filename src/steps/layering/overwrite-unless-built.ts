import { all, not } from '../../engine/condition.ts';
import { finalOverwrite, overwriteNeeds, overwriteOs } from '../image/overwrite-os.ts';
import { step } from '../step.ts';
import { looksForOsConfigs } from './conditions.ts';
import { OsImageOrder } from './facts.ts';
import { joinsWithStock } from './skips.ts';

/** As `image/overwrite-os`, where nobody looks for anything to build. */
export const overwriteWithoutOrders = step({
  ...overwriteOs,
  when: all(finalOverwrite.when, not(looksForOsConfigs, 'no operating system is to be built')),
});

/**
 * As `image/overwrite-os`, on a host that may build its own operating system: masters are served nothing before
 * it is built, so there is nothing to wait for, and the built one is written later.
 */
export const overwriteUnlessBuilt = step({
  ...finalOverwrite,
  id: 'layering/overwrite-os',
  when: all(finalOverwrite.when, looksForOsConfigs),
  needs: { ...overwriteNeeds, order: OsImageOrder },
  skipIf: ({ order }) =>
    order.kind === 'on' && !joinsWithStock(order)
      ? 'the operating system that is built is written instead'
      : undefined,
});
