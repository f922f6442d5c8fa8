import { describe, expect, it } from 'vitest';
import { all, condition, not, renderCondition } from './condition.ts';

interface Sky {
  readonly clouds: number;
}

const isClear = condition<Sky>(
  'the sky is clear',
  ({ clouds }) => clouds === 0,
  ({ clouds }) => `there are ${clouds} clouds`,
);
const isSky = condition<Sky>('there is a sky', () => true);

describe('a condition as people read it', () => {
  it.each<[string, Sky, string]>([
    ['with the reason for a no', { clouds: 2 }, 'the sky is clear (there are 2 clouds)'],
    ['without one for a yes', { clouds: 0 }, 'the sky is clear'],
  ])('is told %s', (_, sky, text) => {
    expect(renderCondition(isClear, sky)).toBe(text);
    expect(renderCondition(all(isSky, isClear), sky)).toBe(`there is a sky, and ${text}`);
  });

  it('has a name of its own when it is turned round', () => {
    expect(renderCondition(not(isClear, 'it may rain'), { clouds: 2 })).toBe('it may rain');
  });
});
