import fc from '../support/properties.ts';
import { beforeAll, describe, expect, it } from 'vitest';

import { validationCases } from './cases.ts';
import { configs } from './arbitrary.ts';
import { askIgnitionValidate, type MergeOracle, startMergeOracle, verify } from './oracles.ts';
import * as texts from './texts.ts';

/** Both verdicts with their reasons, so that a difference explains itself. */
function differenceTo(config: unknown, theirs: { isValid: boolean; report: string }): string {
  const ours = verify(config);
  if (ours.isValid === theirs.isValid) return 'none';
  return `ours: ${ours.code ?? 'valid'} ${ours.rules.join(' ')}; theirs: ${theirs.report}`;
}

/**
 * Configs that only Ignition refuses are passed on; an error is a config that we refuse and
 * Ignition accepts.
 */
function stricterThan(config: unknown, theirs: { isValid: boolean; report: string }): string {
  return theirs.isValid ? differenceTo(config, theirs) : 'none';
}

describe('the verdict of ignition-validate 2.14', () => {
  it.each(validationCases)('agrees with ours: $name', ({ config }) => {
    expect(differenceTo(config, askIgnitionValidate(config))).toBe('none');
  });

  it.each([0, 1, 2, 3])('is at least as strict as ours for any config of spec 3.%i', (minor) => {
    const property = fc.property(configs(minor), (config) => {
      expect(stricterThan(config, askIgnitionValidate(config))).toBe('none');
    });
    fc.assert(property, { numRuns: 250 });
  });
});

describe('the verdict of Ignition 2.24', () => {
  let oracle: MergeOracle;
  beforeAll(() => {
    oracle = startMergeOracle();
    return () => oracle.stop();
  });

  async function difference(config: unknown, compare = differenceTo): Promise<string> {
    const { error, report = '' } = await oracle.ask(config);
    return compare(config, { isValid: error === undefined, report: `${error ?? ''} ${report}` });
  }

  it.each(validationCases)('agrees with ours: $name', async ({ config }) => {
    expect(await difference(config)).toBe('none');
  });

  it.each([0, 1, 2, 3, 4, 5])(
    'is at least as strict as ours for any config of spec 3.%i',
    async (minor) => {
      const property = fc.asyncProperty(configs(minor), async (config) => {
        expect(await difference(config, stricterThan)).toBe('none');
      });
      await fc.assert(property, { numRuns: 1000 });
    },
  );

  const version = '"ignition":{"version":"3.5.0"}';
  it.each<[string, fc.Arbitrary<string>]>([
    ['JSON', texts.jsonTexts.map((text) => `{${version},"x":${text}}`)],
    ['text around', texts.context.map(([before, after]) => `${before}{${version}}${after}`)],
  ])('agrees with ours for any %s', async (_, configTexts) => {
    const property = fc.asyncProperty(configTexts, async (text) => {
      expect(await difference(text)).toBe('none');
    });
    await fc.assert(property, { numRuns: 2000 });
  });

  it('is at least as strict as ours for any types and states of members', async () => {
    const property = fc.asyncProperty(texts.members, async (list) => {
      expect(await difference(`{${list.join(',')}}`, stricterThan)).toBe('none');
    });
    await fc.assert(property, { numRuns: 2000 });
  });
});
