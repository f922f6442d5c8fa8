import { describe, expect, it } from 'vitest';
import { endedOutcome, isGreen, outcomeOf, renderCounts, sumOf, type TestFile } from './outcome.ts';

const stack = 'AssertionError: expected 1 to be 2\n    at b.test.ts:3:4';

type State = 'passed' | 'failed' | 'skipped';

const fileOf = (name: string, tests: Readonly<Record<string, State>>, hook?: string): TestFile => ({
  relativeModuleId: `test/${name}.test.ts`,
  errors: () => [],
  children: {
    allSuites: () => [{ errors: () => (hook === undefined ? [] : [{ message: hook }]) }],
    allTests: () =>
      Object.entries(tests).map(([fullName, state]) => ({
        fullName,
        result: () => ({ state, errors: state === 'failed' ? [{ message: 'x', stack }] : [] }),
      })),
  },
});
const green = fileOf('a', { 'a does': 'passed' });

describe('a run of vitest', () => {
  it('that is green failed in nothing', () => {
    expect(outcomeOf([green])).toEqual({ passed: 1, failed: 0, skipped: 0, failures: [] });
  });

  it('names each test that failed, with the first line of its reason', () => {
    const failing = fileOf('b', { 'b does': 'skipped', 'b gives up': 'failed' });
    expect(outcomeOf([green, failing])).toEqual({
      passed: 1,
      failed: 1,
      skipped: 1,
      failures: ['test/b.test.ts > b gives up: AssertionError: expected 1 to be 2'],
    });
  });

  it('names the seed and the counterexample of a property that failed', () => {
    const found = 'Property failed after 2 tests\n{ seed: 1, path: "1" }\nCounterexample: ["a"]';
    const errors = () => [{ message: `${found}\nShrunk 0 time(s)` }];
    expect(outcomeOf([{ ...fileOf('b', {}), errors }]).failures).toEqual([
      `test/b.test.ts: ${found.replaceAll('\n', ' ')}`,
    ]);
  });

  it('names a file that could not be run', () => {
    const errors = () => [{ message: 'Cannot find module c\nfrom d' }];
    expect(outcomeOf([green, { ...fileOf('b', {}), errors }])).toMatchObject({
      failed: 1,
      failures: ['test/b.test.ts: Cannot find module c'],
    });
  });

  it('names a file beside its tests where a hook failed too', () => {
    const both = fileOf('b', { 'b does': 'failed' }, 'a hook gave up');
    const [test, hook] = outcomeOf([both]).failures;
    expect(test).toMatch(/^test\/b.test.ts > b does: /);
    expect(hook).toBe('test/b.test.ts: a hook gave up');
  });

  it('names an error that belongs to no test, with its stack', () => {
    const late = { message: 'late', stack: 'Error: late\n    at /tree/src/a.ts:3:4' };
    expect(outcomeOf([green], [{ ...late, VITEST_TEST_PATH: 'test/a.test.ts' }])).toMatchObject({
      passed: 1,
      failed: 1,
      failures: ['beside test/a.test.ts: Error: late\n    at /tree/src/a.ts:3:4'],
    });
  });
});

describe('what vitest leaves', () => {
  const passed = outcomeOf([green]);
  const failed = outcomeOf([fileOf('b', { 'b does': 'failed' })]);

  it.each([
    [passed, 0],
    [failed, 1],
  ])('is the outcome of a run that came to its end', (left, exitCode) => {
    expect(endedOutcome(left, exitCode)).toBe(left);
  });

  it.each([
    [passed, 1],
    [undefined, 0],
  ])('counts as a failure when it broke', (left, count) => {
    expect(endedOutcome(left, 137)).toEqual({
      passed: count,
      failed: 1,
      skipped: 0,
      failures: ['vitest ended with exit code 137; its output is above'],
    });
  });
});

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
