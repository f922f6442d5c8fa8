import { adapterMutants } from './adapters.ts';
import { capiMutants } from './capi.ts';
import { controllerMutants } from './controllers.ts';
import { diskMutants } from './disk.ts';
import { engineMutants } from './engine.ts';
import { lintMutants } from './lint.ts';
import type { MutantsByFile } from './mutant.ts';
import { reportingMutants } from './reporting.ts';
import { stepMutants } from './steps.ts';

const lists = [
  engineMutants,
  reportingMutants,
  adapterMutants,
  stepMutants,
  diskMutants,
  controllerMutants,
  capiMutants,
  lintMutants,
];

/**
 * Every mutant, by the file that it changes.
 * @throws Error when a file is in two lists: the mutants of one would be lost
 */
export const allMutants: MutantsByFile = lists.reduce((all, list) => {
  const twice = Object.keys(list).find((file) => file in all);
  if (twice !== undefined) throw new Error(`${twice} is in two lists of mutants`);
  return { ...all, ...list };
}, {});
