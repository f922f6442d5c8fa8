import { describe, expect, it } from 'vitest';
import { isGreen, outcomeOf, renderCounts, sumOf, type VitestReport } from './outcome.ts';

const root = '/tree';
const green = {
  name: '/tree/test/a.test.ts',
  status: 'passed',
  message: '',
  assertionResults: [{ fullName: 'a does', status: 'passed' }],
};
const reportOf = (more: Partial<VitestReport> = {}): VitestReport => ({
  ...{ numPassedTests: 1, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 },
  testResults: [green],
  ...more,
});

describe('a run of vitest', () => {
  it('that is green failed in nothing', () => {
    expect(outcomeOf(reportOf(), { exitCode: 0, root })).toEqual({
      ...{ passed: 1, failed: 0, skipped: 0 },
      failures: [],
    });
  });

  it('names each test that failed, with the first line of its reason', () => {
    const failing = {
      name: '/tree/test/b.test.ts',
      status: 'failed',
      message: '',
      assertionResults: [
        { fullName: 'b does', status: 'passed' },
        {
          fullName: 'b gives up',
          status: 'failed',
          failureMessages: ['AssertionError: expected 1 to be 2\n    at b.test.ts:3:4'],
        },
      ],
    };
    const report = reportOf({ numFailedTests: 1, numTodoTests: 1, testResults: [green, failing] });
    expect(outcomeOf(report, { exitCode: 1, root })).toEqual({
      ...{ passed: 1, failed: 1, skipped: 1 },
      failures: ['test/b.test.ts > b gives up: AssertionError: expected 1 to be 2'],
    });
  });

  it('names a file that could not be run', () => {
    const unreadable = {
      name: '/tree/test/b.test.ts',
      status: 'failed',
      message: 'Cannot find module c',
      assertionResults: [],
    };
    const report = reportOf({ testResults: [green, unreadable] });
    expect(outcomeOf(report, { exitCode: 1, root })).toMatchObject({
      failed: 1,
      failures: ['test/b.test.ts: Cannot find module c'],
    });
  });

  it('names a file beside its tests where both failed', () => {
    const both = {
      name: '/tree/test/b.test.ts',
      status: 'failed',
      message: 'a hook gave up',
      assertionResults: [{ fullName: 'b does', status: 'failed' }],
    };
    const report = reportOf({ numFailedTests: 1, testResults: [both] });
    expect(outcomeOf(report, { exitCode: 1, root })).toMatchObject({
      failed: 2,
      failures: ['test/b.test.ts > b does', 'test/b.test.ts: a hook gave up'],
    });
  });

  it('names an error that belongs to no test, with its stack', () => {
    const unhandled = ['Unhandled Rejection: Error: late\n    at /tree/src/a.ts:3:4'];
    expect(outcomeOf(reportOf(), { exitCode: 1, root, unhandled })).toMatchObject({
      ...{ passed: 1, failed: 1 },
      failures: ['Unhandled Rejection: Error: late\n    at src/a.ts:3:4'],
    });
  });

  it.each([
    ['whose tests all passed', reportOf(), 1],
    ['that left no report', undefined, 0],
  ])('%s counts as a failure when it broke', (_, report, passed) => {
    expect(outcomeOf(report, { exitCode: 137, root })).toEqual({
      ...{ passed, failed: 1, skipped: 0 },
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
