import { describe, expect, it, vi } from 'vitest';
import { Config } from '../../config/schema.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import { withReleaseFallback } from './conditions.ts';

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

describe('withReleaseFallback', () => {
  it('gives what was made', async () => {
    const scope = scopeOf('fallback-stock');
    await expect(withReleaseFallback(scope, () => Promise.resolve(1))).resolves.toBe(1);
    expect(scope.note).not.toHaveBeenCalled();
  });

  it('fails where nothing else is asked for', async () => {
    await expect(withReleaseFallback(scopeOf('fail'), failing)).rejects.toMatchObject({
      code: 'file.not-written',
    });
  });

  it('falls back, and says why', async () => {
    const scope = scopeOf('fallback-stock');
    await expect(withReleaseFallback(scope, failing)).resolves.toEqual({
      kind: 'release',
      why: 'file.not-written: the disk is full',
    });
    expect(scope.note).toHaveBeenCalledWith(
      'warn',
      expect.any(String),
      expect.objectContaining({ code: 'file.not-written', reason: 'the disk is full' }),
    );
  });

  it('takes being stopped for no failure', async () => {
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(withReleaseFallback(scopeOf('fallback-stock', stopped), failing)).rejects.toThrow(
      'stopped',
    );
  });
});
