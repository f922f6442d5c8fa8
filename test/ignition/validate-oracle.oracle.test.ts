import fc from '../support/properties.ts';
import { beforeAll, describe, expect, it } from 'vitest';

import { validationCases } from './cases/all.ts';
import { textOfCase } from './cases/case.ts';
import { configs } from './arbitrary.ts';
import { askIgnitionValidate, type MergeOracle, startMergeOracle, verify } from './oracles.ts';
import * as texts from './texts.ts';

/** Debian's Ignition 2.14 knows specs up to this one. */
const NEWEST_MINOR_OF_DEBIAN = 3;

/** Both verdicts beside each other, with the reasons, so that a difference explains itself. */
function differenceTo(config: unknown, theirs: { isValid: boolean; report: string }): string {
  const ours = verify(config);
  if (ours.isValid === theirs.isValid) return 'none';
  return `ours: ${ours.code ?? 'valid'} ${ours.rules.join(' ')}; theirs: ${theirs.report}`;
}

/** What only Ignition refuses is passed on: our refusal that is not its own is the mistake. */
function stricterThan(config: unknown, theirs: { isValid: boolean; report: string }): string {
  return theirs.isValid ? differenceTo(config, theirs) : 'none';
}

describe('the verdict of ignition-validate 2.14', () => {
  const known = validationCases.filter(
    ({ isNewRule = false, minor = 3 }) => !isNewRule && minor <= NEWEST_MINOR_OF_DEBIAN,
  );

  it.each(known)('is ours too: $name', (row) => {
    const text = textOfCase(row);
    expect(differenceTo(text, askIgnitionValidate(text))).toBe('none');
  });

  it.each([0, 1, 2, 3])('is no milder than ours for any config of spec 3.%i', (minor) => {
    const property = fc.property(configs({ minor, oneBrokenIn: 25 }), (config) => {
      // That rule came with Ignition 2.15.
      fc.pre(!verify(config).rules.includes('path-is-unit'));
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

  it.each(validationCases)('is ours too: $name', async (row) => {
    expect(await difference(textOfCase(row))).toBe('none');
  });

  it.each([0, 1, 2, 3, 4, 5])(
    'is no milder than ours for any config of spec 3.%i',
    async (minor) => {
      const property = fc.asyncProperty(configs({ minor, oneBrokenIn: 25 }), async (config) => {
        expect(await difference(config, stricterThan)).toBe('none');
      });
      await fc.assert(property, { numRuns: 1000 });
    },
  );

  const version = '"ignition":{"version":"3.5.0"}';
  const sections = (members: object, ignition: object = {}): string =>
    JSON.stringify({ ignition: { version: '3.5.0', ...ignition }, ...members });
  const fetched = (source: string): string => sections({}, { config: { replace: { source } } });
  const linked = (target: string): string => {
    const directories = ['/', '/a', '/a/c', '/d'].map((path) => ({ path }));
    const links = [{ path: '/a/b', target, hard: true }];
    return sections({ storage: { directories, links } });
  };

  it.each<[string, fc.Arbitrary<string>]>([
    ['data URL', texts.dataUrls.map(fetched)],
    ['path', texts.paths.map((path) => sections({ storage: { files: [{ path }] } }))],
    ['target of a hard link', texts.paths.map(linked)],
    ['JSON', texts.jsonTexts.map((text) => `{${version},"x":${text}}`)],
    ['text around', texts.context.map(([before, after]) => `${before}{${version}}${after}`)],
    ['types and states of members', texts.members.map((list) => `{${list.join(',')}}`)],
  ])('is ours too for any %s', async (_, configTexts) => {
    const property = fc.asyncProperty(configTexts, async (text) => {
      expect(await difference(text)).toBe('none');
    });
    await fc.assert(property, { numRuns: 2000 });
  });
});
