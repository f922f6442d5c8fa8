import { adapterMutants } from './adapters.ts';
import { engineMutants } from './engine.ts';
import type { MutantsByFile } from './mutant.ts';
import { reportingMutants } from './reporting.ts';
import { stepMutants } from './steps.ts';

/** Every mutant, by the file that it changes. */
export const allMutants: MutantsByFile = {
  ...engineMutants,
  ...reportingMutants,
  ...adapterMutants,
  ...stepMutants,
};
