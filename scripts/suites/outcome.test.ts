import { expect, it } from 'vitest';
import { isGreen, none, outcomeOf, summaryOf } from './outcome.ts';

const test = (status: string, ...failureMessages: readonly string[]) => ({
  fullName: `it ${status}`,
  status,
  failureMessages,
});
const file = (name: string, ...assertionResults: readonly ReturnType<typeof test>[]) => ({
  name,
  status: assertionResults.some(({ status }) => status === 'passed') ? 'passed' : 'failed',
  message: 'cannot be loaded\nstack',
  assertionResults,
});

it('every suite is added up, and what failed, was skipped or did not run is named', () => {
  const mixed = {
    numPassedTests: 1,
    numTotalTests: 3,
    testResults: [
      file('a.ts', test('passed'), test('skipped')),
      file('b.ts', test('failed', 'not 2\nstack')),
      file('c.ts'),
    ],
  };
  const green = { ...none, numPassedTests: 2, numTotalTests: 2 };
  const results = new Map([
    ['one', outcomeOf(mixed, 1)],
    ['two', outcomeOf(green, 0)],
    ['three', outcomeOf(none, 0)],
  ]);
  expect(summaryOf(results)).toEqual([
    'one: 1 passed, 2 failed, 1 skipped',
    'two: 2 passed, 0 failed, 0 skipped',
    'three: 0 passed, 0 failed, 0 skipped',
    'FAIL one: b.ts > it failed: not 2',
    'FAIL one: c.ts: cannot be loaded',
    'FAIL one skipped 1 tests',
    'FAIL three ran no test',
    'tests: 3 passed, 2 failed, 1 skipped',
  ]);
  expect([...results.values()].map(isGreen)).toEqual([false, true, false]);
});

it('a run that broke beside its tests, or left nothing, has failed', () => {
  const green = { ...none, numPassedTests: 2, numTotalTests: 2 };
  for (const report of [green, none])
    expect(outcomeOf(report, 1)).toMatchObject({
      failed: 1,
      failures: [expect.stringContaining('exit code 1')],
    });
});
