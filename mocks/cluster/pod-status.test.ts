import { describe, expect, it } from 'vitest';
import { podStatus, type PodPhase, type PodRuns } from './pod-status.ts';

const at = new Date('2026-01-01T00:00:00Z');
const runs: PodRuns = { name: 'stage', image: 'self', at, restarts: 0 };
const last = { exitCode: 4, message: 'no' };

describe('podStatus', () => {
  it.each<readonly [string, PodRuns, PodPhase, object]>([
    [
      'runs',
      runs,
      'running',
      { phase: 'Running', containerStatuses: [{ restartCount: 0, ready: true, lastState: {} }] },
    ],
    [
      'waits after a failure',
      { ...runs, restarts: 1, last },
      'waiting',
      {
        phase: 'Running',
        containerStatuses: [
          {
            restartCount: 1,
            ready: false,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: last },
          },
        ],
      },
    ],
    [
      'has succeeded after a failure',
      { ...runs, restarts: 1, last },
      'succeeded',
      {
        phase: 'Succeeded',
        containerStatuses: [
          { state: { terminated: { exitCode: 0 } }, lastState: { terminated: last } },
        ],
      },
    ],
  ])('says of a pod that it %s', (...[, of, phase, expected]) => {
    expect(podStatus(of, phase, at)).toMatchObject(expected);
  });
});
