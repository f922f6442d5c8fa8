import { describe, expect, it } from 'vitest';
import { rebootDelaySeconds } from './idle.ts';

const order = (when: string) => ({ argv: ['shutdown', '-r', when, 'a message'] });
const other = { argv: ['lsblk'] };

describe('the delay of a reboot', () => {
  it.each([
    ['now', 0],
    ['+0', 0],
    ['+1', 60],
    ['+10', 600],
  ])('is counted in minutes: %s', (when, seconds) => {
    expect(rebootDelaySeconds([other, order(when), other])).toBe(seconds);
  });

  it('is that of the last order', () => {
    expect(rebootDelaySeconds([order('+1'), order('+0')])).toBe(0);
  });

  it.each([[[order('12:00')]], [[order('+')]], [[order('')]], [[other]], [[]]])(
    'is not guessed: %j',
    (ran) => {
      expect(() => rebootDelaySeconds(ran)).toThrow(RangeError);
    },
  );
});
