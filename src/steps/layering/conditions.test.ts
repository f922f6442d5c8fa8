import { describe, expect, it, vi } from 'vitest';
import { Config } from '../../config/schema.ts';
import { isActive } from '../../engine/condition.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import { buildsOsImages, looksForOsConfigs } from '../conditions.ts';
import { withReleaseFallback } from './conditions.ts';

describe('conditions of the configuration', () => {
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
    it('is false without an install disk', () => {
      const config = Config.parse({
        layering: { mode: 'on' },
        image: { existingRoot: 'quay.io/release/os' },
      });
      expect(isActive(looksForOsConfigs, config)).toBe(true);
      expect(isActive(buildsOsImages, config)).toBe(false);
    });
  });
});

describe('withReleaseFallback', () => {
  const failing = (): Promise<never> =>
    Promise.reject(hostFailure('file.not-written', 'the disk is full'));
  const scopeOf = (
    failurePolicy: 'fail' | 'fallback-stock',
    signal = new AbortController().signal,
  ) => ({
    config: Config.parse({ layering: { failurePolicy } }),
    signal,
    note: vi.fn(),
  });

  it.each([
    [
      'the built OS image',
      undefined,
      'no built OS image can be used; the OS image of the release is installed',
    ],
    ['a copy', 'it is sent later', 'it is sent later'],
  ])('warns about a failure of %s under fallback-stock', async (_, consequence, warning) => {
    const scope = scopeOf('fallback-stock');
    const release = await withReleaseFallback(scope, failing, consequence);
    expect(release).toEqual({ kind: 'release', why: 'file.not-written: the disk is full' });
    expect(scope.note).toHaveBeenCalledExactlyOnceWith('warn', warning, {
      code: 'file.not-written',
      reason: 'the disk is full',
      hint: 'check free space and mounts on the host',
    });
  });

  it('fails under the policy fail', async () => {
    const scope = scopeOf('fail');
    await expect(withReleaseFallback(scope, failing)).rejects.toMatchObject({
      code: 'file.not-written',
    });
    expect(scope.note).not.toHaveBeenCalled();
  });

  it('does not fall back when the run is stopped', async () => {
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(withReleaseFallback(scopeOf('fallback-stock', stopped), failing)).rejects.toThrow(
      'stopped',
    );
  });
});
