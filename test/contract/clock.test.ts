import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../src/adapters/clock.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { quickClock } from '../support/quick-clock.ts';

const clocks: readonly [string, () => Clock][] = [
  ['the system clock', () => systemClock],
  ['the fake clock', () => fakeClock({ start: Date.now() })],
  ['the quick clock', () => quickClock()],
];

describe.each(clocks)('%s implements the clock port', (_, make) => {
  const forever = new AbortController().signal;

  it('rejects with the abort reason', async () => {
    const clock = make();
    const controller = new AbortController();
    const reason = new Error('enough');
    const sleep = clock.sleep(3_600_000, controller.signal);
    controller.abort(reason);
    await expect(sleep).rejects.toBe(reason);
    await expect(clock.sleep(1, controller.signal)).rejects.toBe(reason);
  });

  it('yields to the event loop, even for a sleep of zero', async () => {
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    const clock = make();
    for (let count = 0; count < 3; count += 1) await clock.sleep(0, forever);
    expect(hasTurned).toBe(true);
  });

  it('sleeps at least as long as requested', async () => {
    const clock = make();
    const before = clock.elapsed();
    await clock.sleep(20, forever);
    expect(clock.elapsed() - before).toBeGreaterThanOrEqual(19);
  });

  it('sleeps longer than the maximum of setTimeout', async () => {
    const clock = make();
    const controller = new AbortController();
    const warn = vi.spyOn(process, 'emitWarning');
    onTestFinished(() => warn.mockRestore());
    let isAwake = false;
    const sleep = clock.sleep(40 * 24 * 3_600_000, controller.signal).then(
      () => (isAwake = true),
      () => undefined,
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(isAwake).toBe(false);
    // Node warns of a timer that is too long, and fires it after a millisecond.
    expect(warn).not.toHaveBeenCalled();
    controller.abort(new Error('enough'));
    await sleep;
  });
});
