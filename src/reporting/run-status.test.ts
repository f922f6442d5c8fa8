import { describe, expect, it } from 'vitest';
import type { RunEventBody } from '../engine/events.ts';
import { progressed, started, waited, waiting } from '../../test/support/run-events.ts';
import { RunStatus, runStatusOf } from './run-status.ts';

const step = 'image/write';
const begins = (attempt: number): RunEventBody =>
  started(step, undefined, { title: 'Write the image', attempt });
const progress = progressed(step, 40, {
  progress: { info: '40%', percent: 40, bytesPerSecond: 1e6, remaining: 5 },
});
const waits = waiting(step, 'md127 holds it', { waited: 2 });
const failure = { code: 'a.b', kind: 'host', message: 'm', hint: 'h', context: {} } as const;

/** Returns the status after events at intervals of one millisecond, from 10 on. */
function after(bodies: readonly RunEventBody[]): RunStatus | undefined {
  const follow = runStatusOf(new Set(['disk/check', step]));
  const begin: RunEventBody = {
    type: 'run.started',
    role: 'worker',
    version: '1',
    isResumed: false,
    steps: 2,
  };
  const statuses = [begin, ...bodies].map((body, index) =>
    follow({ ...body, at: 10 + index, run: 'r' }),
  );
  expect(RunStatus.safeParse(statuses.at(-1)).error).toBeUndefined();
  return statuses.at(-1);
}

describe('the status of a run', () => {
  it('exists from the start of the run', () => {
    expect(runStatusOf(new Set())({ ...begins(1), at: 1, run: 'r' })).toBeUndefined();
    expect(after([])).toEqual({
      v: 1,
      run: 'r',
      role: 'worker',
      version: '1',
      isResumed: false,
      state: 'running',
      since: 10,
      updated: 10,
      steps: 2,
      ended: 0,
      running: [],
    });
  });

  it.each([
    ['a step', [begins(1)], { since: 11, attempt: 1 }],
    [
      'a second attempt with the start of the first',
      [begins(1), begins(2)],
      { since: 11, attempt: 2 },
    ],
    ['progress', [begins(1), progress], { percent: 40, remaining: 5, bytesPerSecond: 1e6 }],
    ['a wait with its start', [begins(1), waits], { wait: { since: 10, limit: 100 } }],
  ])('shows %s', (_, events, shown) => {
    expect(after(events)?.running).toMatchObject([{ step, title: 'Write the image', ...shown }]);
  });

  it('removes a finished wait and a finished step', () => {
    expect(after([begins(1), waits, waited(step)])?.running[0]?.wait).toBeUndefined();
    const finished: RunEventBody = { type: 'step.finished', step, duration: 1 };
    expect(after([begins(1), finished])).toMatchObject({ running: [], ended: 1 });
  });

  it('counts each step of the role once and no others', () => {
    const ends: readonly RunEventBody[] = [
      { type: 'step.reused', step: 'disk/check', title: 't' },
      { type: 'step.skipped', step: 'disk/check', reason: 'r' },
      { type: 'step.finished', step: 'logs/follow', duration: 1 },
    ];
    expect(after(ends)?.ended).toBe(1);
  });

  it.each<[RunEventBody, object]>([
    [{ type: 'run.finished', outcome: 'left the host', duration: 1 }, { state: 'left the host' }],
    [
      { type: 'run.stopped', reason: 'SIGTERM', duration: 1 },
      { state: 'stopped', reason: 'SIGTERM' },
    ],
    [
      { type: 'run.failed', failure, duration: 1 },
      { state: 'failed', reason: `${step}: a.b: m; h` },
    ],
  ])('shows how the run ended: %o', (event, shown) => {
    expect(after([begins(1), { type: 'step.failed', step, failure }, event])).toMatchObject({
      ...shown,
      running: [],
    });
  });
});
