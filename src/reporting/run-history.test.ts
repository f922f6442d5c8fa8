import { expect, it } from 'vitest';
import type { RunEventBody } from '../engine/events.ts';
import { historyFrom, type RunHistory, runHistoryOf } from './run-history.ts';
import { started, waiting } from '../../test/support/run-events.ts';
import { runStatus } from '../../test/support/run-status.ts';

const failure = (message: string) =>
  ({ code: 'a.b', kind: 'host', message, hint: 'h', context: {} }) as const;
const begin: RunEventBody = {
  type: 'run.started',
  role: 'worker',
  version: '1',
  isResumed: false,
  steps: 2,
};
const failed = (step: string, message: string): RunEventBody => ({
  type: 'step.failed',
  step,
  failure: failure(message),
});
const end = (message: string): RunEventBody => ({
  type: 'run.failed',
  failure: failure(message),
  duration: 1,
});

/** Returns the history after events at intervals of one millisecond, from 10 on. */
function after(...bodies: readonly RunEventBody[]): RunHistory {
  const { sink, read } = runHistoryOf('r');
  for (const [index, body] of bodies.entries()) sink({ ...body, run: 'r', at: 10 + index });
  return read();
}

it('the history of a run that did not start is empty', () => {
  expect(after(end('m'))).toEqual({ run: 'r', steps: {} });
});

it('names the step that failed the run and its last wait, not those of another lane', () => {
  const history = after(
    ...[begin, started('aside'), started('main'), waiting('main', 'one'), waiting('main', 'two')],
    ...[
      waiting('aside', 'x'),
      failed('aside', 'other'),
      started('main', undefined, { attempt: 2 }),
      failed('main', 'm'),
    ],
    ...[end('m'), started('always'), waiting('always', 'y'), failed('always', 'm')],
  );
  expect(history).toMatchObject({
    since: 10,
    failed: { step: 'main', since: 12, until: 18, attempt: 2, state: 'failed' },
    wait: { step: 'main', status: 'two', since: 14, limit: 100 },
  });
  expect(history.steps['aside']?.state).toBe('failed');
});

it('names the last wait when the failed step is unknown', () => {
  const history = after(
    ...[begin, started('a'), started('b'), waiting('a', '1'), waiting('b', '2')],
    ...[waiting('a', '3'), end('m')],
  );
  expect(history.failed).toBeUndefined();
  expect(history.wait).toMatchObject({ step: 'a', status: '3' });
});

it.each([
  ['finished', { type: 'step.finished', step: 'a', duration: 1 }],
  ['skipped', { type: 'step.skipped', step: 'a', reason: 'r' }],
  ['reused', { type: 'step.reused', step: 'a', title: 't' }],
  ['stopped', { type: 'step.stopped', step: 'a' }],
] as const)('has a %s step with its end', (state, event) => {
  expect(after(begin, event).steps['a']).toMatchObject({ state, until: 11 });
});

it('historyFrom combines the status and the journal of another process', () => {
  const running = { title: 't', attempt: 2 };
  const wait = { sentence: 's', status: 'one', since: 7, limit: 100 };
  const status = runStatus({
    since: 1,
    updated: 9,
    running: [
      { ...running, step: 'c', since: 6, wait },
      { ...running, step: 'd', since: 8 },
    ],
  });
  const history = historyFrom(status, [
    { type: 'started', step: 'a', at: 1 },
    { type: 'finished', step: 'a', at: 2, fact: undefined },
    { type: 'started', step: 'b', at: 3 },
    { type: 'failed', step: 'b', at: 4, code: 'x.y', message: 'm' },
    { type: 'started', step: 'b', at: 5 },
    { type: 'stopped', step: 'b', at: 5 },
    { type: 'started', step: 'c', at: 6 },
  ]);
  expect(history).toMatchObject({
    run: 'r',
    since: 1,
    failed: { step: 'c', title: 't', since: 6, attempt: 2 },
    wait: { step: 'c', sentence: 's', status: 'one', since: 7, limit: 100 },
  });
  const ends = Object.values(history.steps).map((one) => [one.step, one.state, one.attempt]);
  expect(ends).toEqual([
    ['a', 'finished', 1],
    ['b', 'stopped', 2],
    ['c', 'running', 2],
    ['d', 'running', 2],
  ]);
  expect(history.steps['b']?.failure).toBeUndefined();
});
