import fc from '../support/properties.ts';
import { beforeAll, describe, expect, it } from 'vitest';

import { mergeConfigs } from '../../src/ignition/merge.ts';
import { parseConfig } from '../../src/ignition/parse.ts';
import type { AgentError } from '../../src/model/failure.ts';
import { configPairs } from './arbitrary.ts';
import { asNewest, verify, type MergeOracle, startMergeOracle } from './oracles.ts';

const NEWEST_MINOR = 5;

/** The newest spec in most cases, because it has the most members. */
const minor = fc.oneof(fc.constant(NEWEST_MINOR), fc.integer({ min: 0, max: NEWEST_MINOR }));

/** Pairs of valid configs as text. */
const validPairs = fc
  .tuple(minor, minor)
  .chain((minors) => configPairs(minors))
  .map((pair) => pair.map((config) => JSON.stringify(config)))
  .filter((pair) => pair.every((text) => verify(text).isValid));

function mergedByUs(parent: string, child: string): unknown {
  try {
    return mergeConfigs(parseConfig(parent), parseConfig(child));
  } catch (failure) {
    return (failure as AgentError).code;
  }
}

describe('mergeConfigs', () => {
  let oracle: MergeOracle;
  beforeAll(() => {
    oracle = startMergeOracle();
    return () => oracle.stop();
  });

  it('merges any two valid configs like Ignition', async () => {
    const property = fc.asyncProperty(validPairs, async ([parent = '', child = '']) => {
      const { merged } = await oracle.ask(parent, child);
      // A result that only Ignition refuses is passed on.
      fc.pre(merged !== undefined);
      const isValid = (await oracle.ask(merged)).error === undefined;
      const ours = mergedByUs(parent, child);
      if (ours === 'ignition.merge-invalid') expect(isValid).toBe(false);
      else expect(asNewest(ours)).toEqual(asNewest(merged));
    });
    await fc.assert(property, { numRuns: 3000 });
  });
});
