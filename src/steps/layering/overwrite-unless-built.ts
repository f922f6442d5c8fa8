import { all, not } from '../../engine/condition.ts';
import { finalOverwrite, overwriteNeeds, overwriteOs } from '../image/overwrite-os.ts';
import { step } from '../step.ts';
import { looksForOsConfigs } from './conditions.ts';
import { OsImageOrder, PublishedImages } from './facts.ts';
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

/** As `image/overwrite-os`, on a host whose own operating system was to be built and could not be. */
export const overwriteAfterAll = step({
  ...finalOverwrite,
  id: 'layering/overwrite-os-after-all',
  title: 'Write the final operating system before the first boot, as none could be built',
  when: all(finalOverwrite.when, looksForOsConfigs),
  needs: { ...overwriteNeeds, order: OsImageOrder, published: PublishedImages },
  skipIf: ({ order, published }) => {
    if (order.kind === 'off' || joinsWithStock(order)) return 'it is written already';
    return published.kind === 'stock'
      ? undefined
      : 'the operating system that was built is written';
  },
});
