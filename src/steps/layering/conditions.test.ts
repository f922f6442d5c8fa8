import { describe, expect, it } from 'vitest';
import { PublishedImages, StagingRegistry, WorkerBoot, WorkerImage } from './facts.ts';
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

it.each([PublishedImages, StagingRegistry, WorkerBoot, WorkerImage])(
  'the fact $name is read as version 0.1 wrote it',
  ({ schema }) => {
    const release = { kind: 'release', why: 'no room' };
    expect(schema.parse({ kind: 'stock', why: 'no room' })).toEqual(release);
    expect(schema.parse(release)).toEqual(release);
  },
);
