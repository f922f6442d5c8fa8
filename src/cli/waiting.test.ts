import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { limitedBy, printWaiting } from './waiting.ts';

let shown: string[];
beforeEach(() => {
  vi.useFakeTimers();
  shown = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => shown.push(String(text)) > 0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it('printWaiting prints the current text after a second and then every ten seconds', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  let reason = '';
  const ended = printWaiting(
    () => `the cluster${reason}`,
    () => promise,
  );
  await vi.advanceTimersByTimeAsync(999);
  expect(shown).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  reason = ': connection\nrefused';
  await vi.advanceTimersByTimeAsync(10_000);
  expect(shown).toEqual([
    'waiting for the cluster, 1 s so far\n',
    'waiting for the cluster: connection refused, 11 s so far\n',
  ]);
  resolve('done');
  await expect(ended).resolves.toBe('done');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(shown.length).toBe(2);
});

it('printWaiting prints nothing for work that fails immediately', async () => {
  const work = () => Promise.reject(new Error('no'));
  await expect(printWaiting(() => 'nothing', work)).rejects.toThrow('no');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(shown).toEqual([]);
});

it('accepts limits with fractions of a millisecond, and very long ones', () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  const stop = new AbortController();
  const limits = [1234.5, 0.2, 2 ** 31, Number.MAX_SAFE_INTEGER];
  const signals = limits.map((limit) => limitedBy(stop.signal, limit));
  expect(timeout.mock.calls).toEqual([[1235], [1], [2 ** 31 - 1], [2 ** 31 - 1]]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false, false]);
  stop.abort(new Error('stopped'));
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true]);
});
