import { describe, expect, it } from 'vitest';
import type { HostReport, LabReport } from './report.ts';
import { summaryOf } from './show.ts';

const host = (changes: Partial<HostReport>): HostReport => ({
  name: 'm1',
  role: 'master',
  outcome: 'done',
  stage: 'Done',
  boots: 1,
  agentStarts: 1,
  seconds: 12.34,
  waited: [],
  steps: [],
  writes: 1,
  commands: 1,
  unknownCommands: [],
  ...changes,
});
const report = (changes: Partial<LabReport>): LabReport => ({
  scenario: 'cluster',
  outcome: 'installed',
  isAsExpected: true,
  differences: [],
  seconds: 60,
  clusterStatus: 'installed',
  operators: [],
  requests: 1,
  faults: 0,
  hosts: [host({})],
  ...changes,
});

const gone = { keeps: false };

describe('the end of a run', () => {
  it('says once that the cluster is installed', () => {
    expect(summaryOf(report({}), gone).trim().split('\n')).toEqual([
      'cluster: installed after 60.0 s',
      '',
      '  m1 (master) is a node after 12.3 s, one boot',
      '',
      'as expected',
    ]);
  });

  it('says what the service has where that is another thing', () => {
    const operators = [{ name: 'console', status: 'failed', info: 'RouteHealth' }];
    const summary = summaryOf(report({ clusterStatus: 'error', operators }), gone);
    expect(summary).toContain('operator console never became available: RouteHealth\n');
    expect(summary).not.toContain('installed after');
  });

  it('names operators and logs only where that helps', () => {
    const failure = { code: 'disk.busy', message: 'in use', logs: '/tmp/lab/bundle.tar.gz' };
    const failed = report({
      outcome: 'failed',
      clusterStatus: 'error',
      hosts: [host({ outcome: 'failed', failure })],
      operators: [{ name: 'console', status: 'progressing', info: '' }],
    });
    expect(summaryOf(failed, gone)).not.toMatch(/console|bundle/);
    expect(summaryOf(failed, { keeps: true })).toContain('logs: /tmp/lab/bundle.tar.gz\n');
  });

  it('says what was waited for and which steps were long, and nothing of no time', () => {
    const waited = [
      { step: 's', for: 'two masters are ready', seconds: 4.2 },
      { step: 's', for: 'etcd is healthy', seconds: 0.04 },
    ];
    const steps = [
      { step: 'image/write', seconds: 9 },
      { step: 'disk/check', seconds: 0.01 },
    ];
    const summary = summaryOf(report({ hosts: [host({ waited, steps, idleSeconds: 0 })] }), gone);
    expect(summary).toContain('waited 4.2 s: two masters are ready\n');
    expect(summary).toContain('   9.0 s  image/write (longest on m1)\n');
    expect(summary).not.toMatch(/ 0\.0 s|idle|etcd|disk\/check/);
  });

  it('breaks lines between words at the width of a terminal, and none in a pipe', () => {
    const digest = `registry.example.test:5000/openshift/layered-master@sha256:${'ab'.repeat(32)}`;
    const failure = {
      code: 'image.disk-error',
      message: `${'word '.repeat(60)}${'x'.repeat(140)}`,
    };
    const ended = report({
      hosts: [host({ outcome: 'failed', failure })],
      layering: { images: [{ pool: 'master', image: digest }], registries: [] },
    });
    const lines = summaryOf(ended, { ...gone, width: 100 }).split('\n');
    expect(lines).toContain(`    ${digest}`.trimEnd());
    for (const line of lines)
      expect(line.length <= 100 || !line.trim().includes(' '), line).toBe(true);
    expect(
      summaryOf(ended, gone)
        .split('\n')
        .map((line) => line.trim()),
    ).toContain(`${failure.code}: ${failure.message}`);
  });
});
