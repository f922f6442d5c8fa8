import { describe, expect, it } from 'vitest';
import { type Restart } from '../engine/resume.ts';
import { minutes, seconds } from '../model/duration.ts';
import type { RunStatus } from '../reporting/run-status.ts';
import { renderStatus } from './status.ts';

const status: RunStatus = {
  v: 1,
  run: 'r',
  role: 'master',
  version: '0.1.0',
  isResumed: false,
  state: 'running',
  since: 0,
  updated: minutes(3),
  steps: 20,
  ended: 12,
  process: { pid: 4711, startTicks: 1, bootId: 'b' },
  running: [
    {
      step: 'image/write',
      title: 'Write the image',
      since: minutes(1),
      attempt: 2,
      percent: 40,
      info: '40%',
      bytesPerSecond: 2e6,
      remaining: seconds(90),
    },
    {
      step: 'cluster/wait-for-masters',
      title: 'Wait for two masters',
      since: minutes(2),
      attempt: 1,
      wait: {
        sentence: 'two masters are ready',
        status: '1 of 2: m2 NotReady',
        since: minutes(2),
        limit: minutes(60),
      },
    },
  ],
};
const now = minutes(3) + seconds(5);
const alone = { now, cluster: undefined };
const fresh = { kind: 'fresh' } as const;

describe('renderStatus', () => {
  it('shows the running steps with their times, progress and waits', () => {
    expect(renderStatus({ status, agent: 'running', restart: fresh }, alone).split('\n')).toEqual([
      'master, bootwright 0.1.0: running for 3 min 5 s, process 4711, last event 5 s ago',
      '12 of 20 steps ended',
      'image/write               Write the image, for 2 min 5 s, attempt 2, 40%, 2.0 MB/s, 1 min 30 s left',
      'cluster/wait-for-masters  Wait for two masters, for 1 min 5 s',
      '                          waits until two masters are ready: 1 of 2: m2 NotReady, for 1 min 5 s of at most 1 h',
      '',
    ]);
  });

  it.each(['gone', 'rebooted'] as const)('shows that the agent is %s', (agent) => {
    expect(renderStatus({ status, agent, restart: fresh }, alone)).toMatch(
      agent === 'gone' ? /its process is gone; last event 5 s ago/ : /the host has rebooted/,
    );
  });

  it.each<[Restart, string]>([
    [fresh, 'a restart would begin at the first step\n'],
    [{ kind: 'set-aside', because: 'b' }, 'a restart would begin at the first step: b\n'],
    [{ kind: 'resume', reused: 20, next: [] }, 'find all 20 steps finished\n'],
    [
      { kind: 'resume', reused: 0, next: [{ id: 'disk/check', title: 'Check' }] },
      'a restart would begin at the first step: nothing is destroyed yet\n',
    ],
    [
      {
        kind: 'resume',
        reused: 12,
        next: [{ id: 'disk/sign', title: 'Sign' }],
      },
      'would keep what 12 steps did, and continue with:\n  disk/sign\n',
    ],
  ])('shows what a restart would do: %o', (restart, end) => {
    const text = renderStatus({ status, agent: 'gone', restart }, alone);
    expect(text.slice(-end.length)).toBe(end);
  });

  it('shows that the service refuses the restart of a failed host', () => {
    const failed: RunStatus = { ...status, state: 'failed', running: [] };
    const restart: Restart = { kind: 'resume', reused: 12, next: [{ id: 'a/b', title: 'B' }] };
    const text = renderStatus({ status: failed, agent: 'gone', restart }, { now, cluster: 'ID' });
    expect(text).toContain(
      '\na restart is refused until the cluster is reset at the service: "Reset Cluster" in its UI, or POST /api/assisted-install/v2/clusters/ID/actions/reset\n',
    );
  });

  it('shows why a run failed', () => {
    const failed: RunStatus = { ...status, state: 'failed', reason: 'a.b: m; h', running: [] };
    expect(renderStatus({ status: failed, agent: 'gone', restart: fresh }, alone)).toMatch(
      /^master, bootwright 0\.1\.0: failed 5 s ago: a\.b: m; h\n/,
    );
  });

  it('strips control characters from external texts', () => {
    const odd: RunStatus = { ...status, state: 'failed', reason: 'a\u001b[2J\nb' };
    expect(renderStatus({ status: odd, agent: 'gone', restart: fresh }, alone)).not.toContain(
      '\u001b',
    );
  });
});
