import type { Journal } from '../../engine/journal.ts';

/**
 * A journal that is not kept, for a run whose steps look at the world each time and may all be run
 * again: a pod has no place that the next one finds.
 */
export const noJournal: Journal = {
  read: () => Promise.resolve([]),
  append: () => Promise.resolve(),
  setAside: () => Promise.resolve(),
};
