import { describe, expect, it } from 'vitest';
import { type Restart } from '../engine/resume.ts';
import { minutes, seconds } from '../model/duration.ts';
import { runStatus } from '../../test/support/run-status.ts';
import type { RunStatus } from '../reporting/run-status.ts';
import { renderStatus } from './status.ts';

const status = runStatus({
  updated: minutes(3),
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
});
const now = minutes(3) + seconds(5);
const fresh = { kind: 'fresh' } as const;

/** Shows a status of an agent that is gone. */
const shown = (change: Partial<RunStatus>, restart: Restart = fresh): string =>
  renderStatus({ status: { ...status, ...change }, agent: 'gone', restart }, now);

describe('renderStatus', () => {
  it('shows the running steps with their times, progress and waits', () => {
    expect(renderStatus({ status, agent: 'running', restart: fresh }, now).split('\n')).toEqual([
      'master, bootwright 1.1.0: running for 3 min 5 s, process 4711, last event 5 s ago',
      '12 of 20 steps ended',
      'image/write               Write the image, for 2 min 5 s, attempt 2, 40%, 2.0 MB/s, 1 min 30 s left',
      'cluster/wait-for-masters  Wait for two masters, for 1 min 5 s',
      '                          waits until two masters are ready: 1 of 2: m2 NotReady, for 1 min 5 s of at most 1 h',
      '',
    ]);
  });

  it.each(['gone', 'rebooted'] as const)('shows that the agent is %s', (agent) => {
    expect(renderStatus({ status, agent, restart: fresh }, now)).toMatch(
      agent === 'gone' ? /its process is gone; last event 5 s ago/ : /the host has rebooted/,
    );
  });

  it.each<[Restart, string]>([
    [fresh, 'a restart would begin at the first step\n'],
    [{ kind: 'set-aside', because: 'b' }, 'a restart would begin at the first step: b\n'],
    [{ kind: 'resume', reused: 20, next: [] }, 'find every step finished\n'],
    [
      { kind: 'resume', reused: 0, next: [{ id: 'disk/check', title: 'Check' }] },
      'a restart would begin at the first step: nothing is destroyed yet\n',
    ],
    [
      { kind: 'resume', reused: 12, next: [{ id: 'disk/sign', title: 'Sign' }] },
      'would keep what 12 steps did, and continue with:\n  disk/sign\n',
    ],
  ])('shows what a restart would do: %o', (restart, end) => {
    expect(shown({}, restart).slice(-end.length)).toBe(end);
  });

  it.each([
    [
      'image.cut',
      0,
      'nothing is destroyed yet; the service refuses a restart until its cluster is reset',
    ],
    ['image.cut', 12, 'the service refuses a restart until its cluster is reset'],
    ['inventory.denied', 0, 'a restart would begin at the first step: nothing is destroyed yet'],
  ])(
    'shows whether the service refuses a restart after %s, %i steps done',
    (code, reused, line) => {
      const failed: Partial<RunStatus> = { state: 'failed', code, running: [] };
      const restart: Restart = { kind: 'resume', reused, next: [{ id: 'a/b', title: 'B' }] };
      const lines = shown({ ...failed, cluster: 'ID' }, restart).split('\n');
      expect(lines.slice(2)).toEqual([line, '']);
      expect(shown(failed, restart)).not.toContain('refuses');
    },
  );

  it.each<[string, Partial<RunStatus>, RegExp]>([
    [
      'that the service may refuse the restart of a stopped host',
      { state: 'stopped', cluster: 'ID' },
      / until the cluster is reset: .*\/clusters\/ID\/actions\/reset\n$/,
    ],
    [
      'that a host that left starts from its disk',
      { state: 'left the host' },
      /\n12 of 20 steps ended\nthe host starts from its disk\n$/,
    ],
    [
      'why a run failed',
      { state: 'failed', reason: 'a.b: m; h' },
      /^master, bootwright 1\.1\.0: failed 5 s ago: a\.b: m; h\n/,
    ],
  ])('shows %s', (_, change, text) => {
    expect(shown({ ...change, running: [] })).toMatch(text);
  });

  it('strips control characters from external texts', () => {
    expect(shown({ state: 'failed', reason: 'a\u001b[2J\nb' })).not.toContain('\u001b');
  });
});
