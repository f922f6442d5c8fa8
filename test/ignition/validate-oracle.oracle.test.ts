import fc from '../support/properties.ts';
import { beforeAll, describe, expect, it } from 'vitest';

import { validationCases } from './cases.ts';
import { configs } from './arbitrary.ts';
import { type MergeOracle, startMergeOracle, verify } from './oracles.ts';

/** Texts made of a few pieces, so that they often come close to the limits of a syntax. */
function joined(...chunks: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...chunks), { maxLength: 12 }).map((parts) => parts.join(''));
}

/** JSON, or almost JSON. Exponents are omitted: Go refuses numbers beyond a double. */
const jsonTexts = joined(
  ...['{', '}', '"', 'a', ':', '1', ',', '[', ']', ' ', '1.0', '-', '0', '\ufeff', 'null', 'true'],
  ...['\n', '\\', '"a"', 'u00e9', 'n', '.', '\t', '\u0001'],
);

/** Text that may come before and after a config. */
const context = fc.tuple(
  joined(' ', '\n', '\ufeff', '<', 'a'),
  joined(' ', '\n', 'x', '}', '{}', '\u0000', ','),
);

const file = (members: string): string => `"storage":{"files":[{${members}}]}`;

/** The name of a member for Go, which ignores case. */
const nameOf = (member: string): string =>
  Object.keys(JSON.parse(`{${member}}`) as object)
    .join()
    .toLowerCase();

/** Members of a config in every type and state that Go's decoder distinguishes. */
const members = fc.uniqueArray(
  fc.constantFrom(
    ...['"ignition":{"version":"3.3.0"}', '"ignition":null', '"ignition":{"version":null}'],
    ...['"ignition":[]', '"ignition":{"version":3}', '"storage":null', '"storage":{}'],
    ...['"storage":[]', '"storage":{"files":null}', '"storage":{"files":[null]}'],
    ...['"storage":{"files":{}}', '"Storage":{"files":[{}]}', file('"path":"/a","mode":"1"')],
    ...[file('"path":"/a","mode":1.0'), file('"path":"/a","mode":5000,"mode":1')],
    ...['"kernelArguments":{"shouldExist":[1]}', '"pa\\u0073swd":{"users":[{"name":"a"}]}'],
    ...['"passwd":{"users":[{"name":1}]}', '"x":{"y":[1.5,null]}'],
    ...['"__proto__":{}', '"constructor":1'],
  ),
  { minLength: 1, maxLength: 3, selector: nameOf },
);

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
    ['JSON', jsonTexts.map((text) => `{${version},"x":${text}}`)],
    ['text around', context.map(([before, after]) => `${before}{${version}}${after}`)],
  ])('agrees with ours for any %s', async (_, configTexts) => {
    const property = fc.asyncProperty(configTexts, async (text) => {
      expect(await difference(text)).toBe('none');
    });
    await fc.assert(property, { numRuns: 2000 });
  });

  it('is at least as strict as ours for any types and states of members', async () => {
    const property = fc.asyncProperty(members, async (list) => {
      expect(await difference(`{${list.join(',')}}`, stricterThan)).toBe('none');
    });
    await fc.assert(property, { numRuns: 2000 });
  });
});
