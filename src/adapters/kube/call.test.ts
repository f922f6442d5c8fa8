import { expect, it } from 'vitest';
import { fakeRandom } from '../../../test/support/fake-random.ts';
import { pauses } from './call.ts';

it('pauses double from 50 to 100 ms up to a second, and begin again after a success', () => {
  const pace = pauses(fakeRandom());
  const taken = Array.from({ length: 8 }, () => pace.next());
  for (const [index, pause] of taken.entries()) {
    expect(pause).toBeGreaterThanOrEqual(Math.min(1000, 50 * 2 ** index));
    expect(pause).toBeLessThanOrEqual(Math.min(1000, 100 * 2 ** index));
  }
  pace.reset();
  expect(pace.next()).toBeLessThanOrEqual(100);
});
