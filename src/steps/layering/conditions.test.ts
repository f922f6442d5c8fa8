import { describe, expect, it } from 'vitest';
import { Config } from '../../config/schema.ts';
import { isActive } from '../../engine/condition.ts';
import { buildsOsImages, looksForOsConfigs } from '../conditions.ts';

describe('looksForOsConfigs', () => {
  it.each([
    ['auto', '4.21.0', true],
    ['auto', '4.18.21', true],
    ['auto', '4.17.0', false],
    ['on', '4.17.0', true],
    ['off', '4.21.0', false],
    ['auto', '', true],
    ['off', '', false],
  ] as const)('with %s and %s: %s', (mode, openshiftVersion, expected) => {
    const config = Config.parse({ layering: { mode }, cluster: { openshiftVersion } });
    expect(isActive(looksForOsConfigs, config)).toBe(expected);
    expect(isActive(buildsOsImages, config)).toBe(expected);
  });
});

describe('buildsOsImages', () => {
  it('needs a disk', () => {
    const config = Config.parse({
      layering: { mode: 'on' },
      image: { existingRoot: 'quay.io/release/os' },
    });
    expect(isActive(looksForOsConfigs, config)).toBe(true);
    expect(isActive(buildsOsImages, config)).toBe(false);
  });
});
