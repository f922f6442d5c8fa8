import fc from '../support/properties.ts';
import { beforeAll, describe, expect, it } from 'vitest';

import { mergeConfigs, translateUp } from '../../src/ignition/merge.ts';
import { parseConfig, renderConfig } from '../../src/ignition/parse.ts';
import { NEWEST_MINOR } from '../../src/ignition/version.ts';
import { configPairs } from './arbitrary.ts';
import { verify, type MergeOracle, startMergeOracle } from './oracles.ts';

/** More often than not the newest spec, which has the most members. */
const minor = fc.oneof(fc.constant(NEWEST_MINOR), fc.integer({ min: 0, max: NEWEST_MINOR }));

/** Valid configs as text, two and two. */
const validPairs = fc
  .tuple(minor, minor)
  .chain((minors) => configPairs(minors))
  .map((pair) => pair.map((config) => JSON.stringify(config)))
  .filter((pair) => pair.every((text) => verify(text).isValid && !isTranslatedWrongly(text)));

/** Ignition 2.24 loses the advertisement of a tang server on the way from spec 3.4 to 3.5. */
const isTranslatedWrongly = (text: string): boolean =>
  text.includes('"version":"3.4.0"') && text.includes('"advertisement"');

describe('merging as Ignition does', () => {
  let oracle: MergeOracle;
  beforeAll(() => {
    oracle = startMergeOracle();
    return () => oracle.stop();
  });

  it('gives the same config for any two valid ones, and refuses none that is valid', async () => {
    const property = fc.asyncProperty(validPairs, async ([parent = '', child = '']) => {
      const { merged } = await oracle.ask(parent, child);
      // What only Ignition refuses is passed on.
      fc.pre(merged !== undefined);
      const ours = mergeConfigs(parseConfig(parent).config, parseConfig(child).config);
      const newest = renderConfig(translateUp(ours, NEWEST_MINOR));
      const theirs = renderConfig(parseConfig(JSON.stringify(merged)).config);
      expect(JSON.parse(newest)).toEqual(JSON.parse(theirs));
      const isValid = (await oracle.ask(merged)).error === undefined;
      expect(isValid && !verify(newest).isValid).toBe(false);
    });
    await fc.assert(property, { numRuns: 3000 });
  });
});
