import { describe, expect, it } from 'vitest';
import { readLog, renderLog } from './read-log.ts';

const at = (second: number): string => `2026-11-30T05:00:${String(second).padStart(2, '0')}.000Z`;

const line = (second: number, msg: string, fields: object = {}): string =>
  `${JSON.stringify({ level: 'info', time: at(second), run: 'r', ...fields, msg })}\n`;

const shown = (...lines: readonly string[]): readonly string[] => {
  const log = readLog(lines.join(''));
  return log === undefined ? [] : renderLog(log).trimEnd().split('\n');
};

const step = 'controller/complete-installation';
const sentence = 'the operators of the cluster are available, or the installation ends';

describe('readLog', () => {
  it('shows what the controller waited for and the next command', () => {
    const begin = line(0, 'run started', { role: 'controller', version: '1.1.0' });
    const failed = 'console is failed: RouteHealthDegraded; cvo is progressing: Working';
    const idle = { step: 'controller/report-nodes', sentence: 'Report nodes', status: 'idle' };
    expect(
      shown(
        begin,
        line(1, 'step started', { step, title: 'Complete' }),
        line(40, 'step finished', { step }),
        line(2, 'waiting', { step, sentence, status: 'console is not there' }),
        line(3, 'waiting', { step, sentence, status: failed }),
        line(4, 'step started', { step: idle.step, title: idle.sentence }),
        line(4, 'waiting', idle),
        line(4, 'step finished', { step: idle.step }),
        line(5, 'waits no more', { step, sentence, isReached: true }),
        line(6, 'could not upload', { level: 'warn', step, reason: 'gone' }),
        line(7, 'could not upload', { level: 'warn', step, reason: 'gone' }),
        line(50, 'run finished'),
      ),
    ).toEqual([
      'controller, bootwright 1.1.0, run r',
      `finished ${at(50)}, 50 s after its begin`,
      `${step} waited until ${sentence}: ${failed}`,
      `warning: ${step}: could not upload: gone (2 times)`,
      'next: oc describe clusteroperator console',
    ]);
  });

  it('shows only the last run of a restarted program, from its first line', () => {
    const begin = { role: 'controller', version: '1.1.0' };
    const failure = { code: 'x.y', kind: 'bug', message: 'old', hint: 'old' };
    expect(
      shown(
        line(0, 'run started', begin),
        line(1, 'run failed', { failure }),
        line(2, 'a flag has no effect', { level: 'warn', run: 's' }),
        line(3, 'no log is kept', { level: 'warn', run: 's', hint: 'mount it' }),
        line(4, 'run started', { ...begin, run: 's' }),
        line(5, 'constructor', { level: 'warn', run: 's' }),
      ),
    ).toEqual([
      'controller, bootwright 1.1.0, run s',
      `ends without an end of the run ${at(5)}, 3 s after its begin`,
      'warning: a flag has no effect',
      'warning: no log is kept',
      'warning: constructor',
      'next: mount it',
    ]);
  });

  it('shows why an agent was stopped and what it was waiting for', () => {
    expect(
      shown(
        'failed: x\n',
        line(0, 'run started', { role: 'master', version: '1.1.0' }),
        line(1, 'step started', { step: 'a/b', title: 'Fetch it' }),
        line(2, 'waiting', { step: 'a/b', sentence: 'the service', status: '503', attempt: 2 }),
        line(3, 'run stopped', { level: 'warn', reason: 'stopped by SIGTERM' }),
      ),
    ).toEqual([
      'master, bootwright 1.1.0, run r',
      `stopped ${at(3)}, 3 s after its begin`,
      'why: stopped by SIGTERM',
      'in a/b, Fetch it',
      'a/b was waiting for the service: 503',
      expect.stringMatching(/^next: a service stops a host that .* reset the cluster there/),
    ]);
  });

  it('shows the failure of a run with its hint', () => {
    const failure = { code: 'disk.busy', message: 'm', why: 'w', hint: 'h' };
    expect(shown(line(1, 'run failed', { level: 'error', failure }))).toEqual([
      'a log, run r',
      `failed ${at(1)}, 0 ms after its begin`,
      'disk.busy: m',
      'why: w',
      'next: h',
    ]);
  });

  it('returns undefined for other text', () => {
    expect(readLog('{"v":1}\ntext\n')).toBeUndefined();
  });
});
