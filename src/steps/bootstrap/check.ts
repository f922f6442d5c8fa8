import type { Config } from '../../config/schema.ts';
import { seconds } from '../../model/duration.ts';
import { step } from '../step.ts';
import { chooseBootstrapSource } from './choose-source.ts';
import { bootstrapFailure } from './failures.ts';

/**
 * The image that applies bootstrap.ign.
 * @throws AgentError `bootstrap.no-mco-image`
 */
export function mcoImageOf({ images }: Pick<Config, 'images'>): string {
  if (images.mco !== '') return images.mco;
  throw bootstrapFailure('bootstrap.no-mco-image', 'no machine-config-operator image is given');
}

/** Finds out what the bootstrap would lack before a disk is touched for it. */
export const check = step({
  id: 'bootstrap/check',
  title: 'Check that everything for the bootstrap is known',
  uses: [],
  preflight: true,
  limit: seconds(5),
  run: async ({ config }) => {
    chooseBootstrapSource(config);
    mcoImageOf(config);
    if (config.images.controller === '' && config.service.url !== '') {
      throw bootstrapFailure('bootstrap.no-controller-image', 'no controller image is given');
    }
    await Promise.resolve();
  },
});
