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
  it('takes being stopped for no failure', async () => {
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(withReleaseFallback(scopeOf('fallback-stock', stopped), failing)).rejects.toThrow(
      'stopped',
    );
  });
});
