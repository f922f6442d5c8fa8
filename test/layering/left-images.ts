import type { LeftImage } from '../../src/layering/hand-over/hand-over.ts';
import { workerBuild, workerFinal, workerOsConfig, workerRendered } from './both-pools.ts';
import { buildNamed, final, rendered } from './hand-over-site.ts';
import { osConfigObject } from './samples.ts';

/** The image of the masters, left for the operator to roll out. */
export const leftImage: LeftImage = {
  pool: 'master',
  renderedConfig: rendered,
  machineOSBuild: buildNamed,
  image: final,
  osConfig: osConfigObject(),
};

/** The image of the workers. */
export const leftWorkers: LeftImage = {
  pool: 'worker',
  renderedConfig: workerRendered,
  machineOSBuild: workerBuild,
  image: workerFinal,
  osConfig: workerOsConfig,
};
