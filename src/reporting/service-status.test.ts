import { describe, expect, it } from 'vitest';
import type { FailureReport, RunEventBody } from '../engine/events.ts';
import { seconds } from '../model/duration.ts';
import { serviceStatusOf } from './service-status.ts';

const step = 'image/write';
const started: RunEventBody = {
  type: 'run.started',
  role: 'master',
  version: '1',
  isResumed: false,
  steps: 3,
};
const begins = (attempt: number): RunEventBody => ({
  type: 'step.started',
  step,
  title: 'Write the system',
  attempt,
});
const failure: FailureReport = {
  code: 'image.disk-error',
  kind: 'media',
  message: 'm',
  hint: 'h',
  context: {},
};

/** What a service manager is to know after the last of some events. */
function after(...events: readonly RunEventBody[]) {
  const follow = serviceStatusOf();
  return events.map((event) => follow({ ...event, at: 0, run: 'r' })).at(-1);
}

describe('what a service manager is to know', () => {
  it.each<[string, readonly RunEventBody[], Readonly<Record<string, string>> | undefined]>([
    ['nothing before the run', [begins(1)], undefined],
    ['that it is ready', [started], { READY: '1', STATUS: 'master: running' }],
    [
      'how far it is',
      [
        started,
        begins(2),
        {
          type: 'step.progress',
          step,
          progress: { info: '42%', percent: 42, remaining: seconds(65) },
        },
      ],
      { STATUS: 'master: Write the system, attempt 2, 42%, 1 min 5 s left' },
    ],
    [
      'what each lane does or waits for',
      [
        started,
        begins(1),
        { type: 'step.started', step: 'a/wait', lane: 'cluster', title: 'Wait', attempt: 1 },
        {
          type: 'wait.updated',
          step: 'a/wait',
          sentence: 'two masters are ready',
          status: '1 of 2',
          waited: 1,
          limit: 2,
        },
      ],
      { STATUS: 'master: Write the system; waits until two masters are ready: 1 of 2' },
    ],
    [
      'that it ends',
      [started, { type: 'run.finished', outcome: 'left the host', duration: 1 }],
      { STOPPING: '1', STATUS: 'master: left the host' },
    ],
    [
      'why it failed, and that its logs take their time',
      [
        started,
        begins(1),
        { type: 'step.failed', step, failure },
        { type: 'run.failed', failure, duration: 1 },
      ],
      {
        STOPPING: '1',
        EXTEND_TIMEOUT_USEC: '1200000000',
        STATUS: 'master: failed: image/write: image.disk-error: m; h',
      },
    ],
  ])('%s', (_, events, assignments) => {
    expect(after(...events)).toEqual(assignments);
  });

  it('is one line, however long what is missing is', () => {
    const long: RunEventBody = {
      type: 'wait.updated',
      step,
      sentence: 's',
      status: `a\n${'x'.repeat(500)}`,
      waited: 1,
      limit: 2,
    };
    expect(after(started, begins(1), long)?.['STATUS']).toMatch(/^master: [^\n]{192}$/);
  });
});
