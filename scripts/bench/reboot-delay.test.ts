import { describe, expect, it } from 'vitest';
import { rebootDelaySeconds } from './reboot-delay.ts';

describe('the delay of a reboot', () => {
  it.each([
    ['now', 0],
    ['+0', 0],
    ['+1', 60],
    ['+10', 600],
  ])('is counted in minutes: %s', (when, seconds) => {
    expect(rebootDelaySeconds(when)).toBe(seconds);
  });

  it.each(['12:00', '+', '', undefined])('is not guessed: %s', (when) => {
    expect(() => rebootDelaySeconds(when)).toThrow(RangeError);
  });
});
