import { describe, expect, it } from 'vitest';
import { readLog, renderLog } from './read-log.ts';

const at = (second: number): string => `2026-11-30T05:00:${String(second).padStart(2, '0')}.000Z`;

const line = (second: number, msg: string, fields: object = {}): string =>
  `${JSON.stringify({ level: 'info', time: at(second), run: 'r', ...fields, msg })}\n`;

const begins = (role = 'controller'): string => line(0, 'run started', { role, version: '1.1.0' });
const stopped = (second: number): string =>
  line(second, 'run stopped', { level: 'warn', reason: 'stopped by SIGTERM' });

const shown = (...lines: readonly string[]): readonly string[] => {
  const log = readLog(lines.join(''));
  return log === undefined ? [] : renderLog(log).trimEnd().split('\n');
};

const step = 'controller/complete-installation';
const sentence = 'the operators of the cluster are available, or the installation ends';

describe('readLog', () => {
  it('shows what the controller waited for and the next command', () => {
    const failed = 'console is failed: RouteHealthDegraded; cvo is progressing: Working';
    const idle = { step: 'controller/report-nodes', sentence: 'Report nodes', status: 'idle' };
    expect(
      shown(
        begins(),
        line(1, 'step started', { step, title: 'Complete' }),
        line(40, 'step finished', { step }),
        line(2, 'waiting', { step, sentence, status: 'console is not there' }),
        line(3, 'waiting', { step, sentence, status: failed }),
        line(4, 'step started', { step: idle.step, title: idle.sentence }),
        line(4, 'waiting', idle),
        line(4, 'step finished', { step: idle.step }),
        line(5, 'wait ended', { step, sentence, isReached: true }),
        line(6, 'could not upload', { level: 'warn', step, reason: 'gone' }),
        line(7, 'could not upload', { level: 'warn', step, reason: 'gone' }),
        line(50, 'run finished'),
      ),
    ).toEqual([
      'controller, bootwright 1.1.0, run r',
      `finished ${at(50)}, 50 s after its start`,
      'next: oc describe clusteroperator console',
      `${step} waited until ${sentence}: ${failed}`,
      `warning: ${step}: could not upload: gone (2 times)`,
    ]);
  });

  it('shows only the last run of a restarted program, from its first line', () => {
    const failure = { code: 'x.y', kind: 'bug', message: 'old', hint: 'old' };
    expect(
      shown(
        begins(),
        line(1, 'run failed', { failure }),
        line(2, 'a flag has no effect', { level: 'warn', run: 's' }),
        line(3, 'no log is kept', { level: 'warn', run: 's', hint: 'mount it' }),
        line(4, 'run started', { role: 'controller', version: '1.1.0', run: 's' }),
        line(5, 'constructor', { level: 'warn', run: 's' }),
      ),
    ).toEqual([
      'controller, bootwright 1.1.0, run s',
      `the log ends before its run, ${at(5)}, 3 s after its start`,
      'next: mount it',
      'warning: a flag has no effect',
      'warning: no log is kept',
      'warning: constructor',
    ]);
  });

  it('shows why the service ended the installation, not the waits that came true', () => {
    const failed = 'console is failed: RouteHealthDegraded';
    const [ready, end] = ['controller/announce-ready', 'controller/wait-for-end'];
    const log = (text: string): readonly string[] =>
      shown(
        begins(),
        line(1, 'step started', { step: ready, title: 'Announce' }),
        line(1, 'waiting', { step: ready, sentence: 'the service answers', status: 'not yet' }),
        line(2, 'wait ended', { step: ready, sentence: 'the service answers', isReached: true }),
        line(3, 'step finished', { step: ready }),
        line(3, 'step started', { step, title: 'Complete' }),
        line(4, 'waiting', { step, sentence, status: failed }),
        line(5, 'wait ended', { step, sentence, isReached: true }),
        line(6, text, { step: end }),
        line(7, 'step finished', { step }),
        line(8, 'step started', { step: 'controller/upload-final-logs', title: 'Upload' }),
      );
    const late = 'finalizing stage took longer than expected 60 minutes';
    expect(log(`the cluster is error: ${late}`)).toEqual([
      'controller, bootwright 1.1.0, run r',
      `failed: the service ended the installation: ${late}`,
      `the log ends while the controller uploads its logs, ${at(8)}, 8 s after its start`,
      `why: ${failed}`,
      'next: oc describe clusteroperator console',
    ]);
    expect(log('the cluster is cancelled')[1]).toBe(
      'failed: the service ended the installation in status cancelled',
    );
    expect(log('the cluster is installed')[1]).toMatch(/^the log ends /);
  });

  it('shows waits that did not come true, until their step has finished', () => {
    const waits = (wait: string) => [
      line(1, 'waiting', { step: wait, sentence: 'the server', status: '500', attempt: 3 }),
      line(2, 'waits no more', { step: wait, sentence: 'the server', isReached: false }),
    ];
    expect(
      shown(
        ...['a/b', 'c/d'].map((one) => line(0, 'step started', { step: one, title: one })),
        ...['a/b', 'c/d'].flatMap(waits),
        line(3, 'step finished', { step: 'a/b' }),
      ).slice(2),
    ).toEqual(['in c/d, c/d', 'c/d waited for the server: 500']);
  });

  const reset = 'reset the cluster at the service before another run ("Reset Cluster" in its UI, ';
  it.each([
    ['error', 'the installation of the cluster failed; look for the host that failed first', reset],
    ['cancelled', 'the installation was cancelled', reset],
    ['resetting-pending-user-action', 'the cluster was reset', 'boot this host from its'],
    ['disabled', 'it has the host in status disabled', reset],
  ])('shows why the service stopped a host in status %s', (hostStatus, why, next) => {
    const refused = { code: 'inventory.refused', message: '409', context: { hostStatus } };
    const note = 'the inventory service has stopped this run: it has this host in status x';
    const lines = shown(
      line(0, 'run started', { role: 'master', version: '1.1.0', hostname: 'm1' }),
      line(1, 'stage not reported', { level: 'warn', stage: 'Failed', failure: refused }),
      stopped(2),
      line(3, note, { level: 'warn', step: 'config/load' }),
    );
    expect(lines).toEqual([
      'master m1, bootwright 1.1.0, run r',
      `stopped ${at(3)}, 3 s after its start`,
      expect.stringContaining(`why: the service stopped this host (SIGTERM) because ${why}`),
      expect.stringContaining(`next: ${next}`),
    ]);
  });

  it('shows a reset as the next action if the service has the stop as a failure', () => {
    const lines = shown(
      begins('master'),
      line(1, 'stage reported', { stage: 'Failed' }),
      stopped(2),
    );
    expect(lines.slice(1)).toEqual([
      `stopped by SIGTERM ${at(2)}, 2 s after its start`,
      expect.stringContaining(`next: ${reset}`),
    ]);
  });

  it('shows no action for a program in a pod, which is started again', () => {
    const lines = shown(begins(), stopped(1));
    expect(lines.slice(1)).toEqual([`stopped by SIGTERM ${at(1)}, 1 s after its start`]);
  });

  it('shows by which signal an agent was stopped and what it was waiting for', () => {
    expect(
      shown(
        'failed: x\n',
        begins('master'),
        line(1, 'step started', { step: 'a/b', title: 'Fetch it' }),
        line(2, 'waiting', { step: 'a/b', sentence: 'the service', status: '503', attempt: 2 }),
        line(2, 'no log is kept', { level: 'warn', hint: 'mount it' }),
        stopped(3),
      ),
    ).toEqual([
      'master, bootwright 1.1.0, run r',
      `stopped by SIGTERM ${at(3)}, 3 s after its start`,
      'next: run the same "podman run" line again; it resumes where it stopped',
      'in a/b, Fetch it',
      'a/b was waiting for the service: 503',
      'warning: no log is kept',
    ]);
  });

  it('shows the failure of a run with its hint', () => {
    const failure = { code: 'disk.busy', message: 'm', why: 'w', hint: 'h' };
    expect(
      shown(
        line(1, 'step failed', { level: 'warn', step: 'disk/check', failure }),
        line(1, 'run failed', { level: 'error', failure }),
      ),
    ).toEqual([
      'a log, run r',
      `failed ${at(1)}, 0 ms after its start`,
      'disk.busy: m',
      'why: w',
      'next: h',
    ]);
  });

  it('returns undefined for other text', () => {
    expect(readLog('{"v":1}\ntext\n')).toBeUndefined();
  });
});
