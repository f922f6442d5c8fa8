import { describe, expect, it } from 'vitest';
import { isGreen, renderCounts, sumOf } from './suite.ts';

describe('a suite', () => {
  it.each([
    ['with a test that passed', { passed: 1, failed: 0, skipped: 0 }, true],
    ['that ran no test', { passed: 0, failed: 0, skipped: 0 }, false],
    ['with a failure', { passed: 3, failed: 1, skipped: 0 }, false],
    ['with a skipped test', { passed: 3, failed: 0, skipped: 1 }, false],
  ])('%s', (_, counts, expected) => {
    expect(isGreen(counts)).toBe(expected);
  });

  it('is added up to one line', () => {
    const sum = sumOf([
      { passed: 2, failed: 0, skipped: 0 },
      { passed: 3, failed: 1, skipped: 2 },
    ]);
    expect(renderCounts('tests', sum)).toBe('tests: 5 passed, 1 failed, 2 skipped');
  });
});
