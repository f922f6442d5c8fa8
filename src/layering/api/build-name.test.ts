import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { httpd, images, osConfig, pool } from '../../../test/layering/samples.ts';
import { buildName, hashedTexts, hashSalt } from './build-name.ts';

const nameOf = (spec = {}, ofPool = pool()): string =>
  buildName({ config: osConfig(spec), pool: ofPool, images });

describe('buildName', () => {
  it('hashes with the salt of the operator', () => {
    expect(createHash('sha256').update(hashSalt).digest('hex')).toBe(
      'aafce7669756d588db0a3588f252e4f40df4a89355218b519f52be2a4cd89aac',
    );
  });

  // Names that the machine-os-builder itself gave to builds of these objects.
  it.each([
    ['the unchanged objects', {}, pool(), 'master-b3ffe60c1714f15a7c675f2d775b5940'],
    [
      'another package',
      { containerFile: [{ content: httpd.replace('httpd', 'tcpdump') }] },
      pool(),
      'master-95ee052386acc29f52d1488feb949b07',
    ],
    [
      'one more MachineConfig in the pool',
      {},
      pool('f345e141d527137bb86304eb819c1abd', ['zz-test']),
      'master-de9b3c7101f7cc78fd36e084a692ca14',
    ],
    [
      'no Containerfile',
      { containerFile: null },
      pool(),
      'master-6306a7260fe47501db578b8e637371b0',
    ],
  ])(
    'equals the name that the machine-os-builder gives for %s',
    (...[, spec, ofPool, expected]) => {
      expect(nameOf(spec, ofPool)).toBe(expected);
    },
  );

  it('distinguishes a null containerFile from an empty list', () => {
    const textsOf = (containerFile: null | []) =>
      hashedTexts({ config: osConfig({ containerFile }), pool: pool(), images })[1];
    expect(textsOf(null)).toMatch(/^containerFile: null\n/);
    expect(textsOf([])).toMatch(/^containerFile: \[\]\n/);
  });

  it('refuses a character that the operator cannot hash, with its line', () => {
    const content = 'FROM configs AS final\nRUN printf "\u007f"\n';
    expect(() => nameOf({ containerFile: [{ content }] })).toThrow(
      /U\+007F in line 2 .* is one that the Machine Config Operator cannot hash/,
    );
  });

  it('refuses a pool other than that of the MachineOSConfig', () => {
    const config = osConfig({}, 'worker');
    expect(() => buildName({ config, pool: pool(), images })).toThrow(
      expect.objectContaining({ code: 'layering.pools-differ' }) as Error,
    );
  });
});
