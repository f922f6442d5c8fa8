import { expect, it } from 'vitest';
import { hostReport } from '../../test/support/lab-report.ts';
import type { LabReport } from './report.ts';
import { summaryOf } from './show.ts';

const host = hostReport({ seconds: 9 });

const report: LabReport = {
  scenario: 'made-up',
  outcome: 'installed',
  isAsExpected: true,
  differences: [],
  seconds: 9,
  clusterStatus: 'installed',
  operators: [],
  faults: 0,
  hosts: [host],
};

const failure = {
  code: 'disk.busy',
  message: 'in use',
  hint: 'unmount it',
  logs: '/tmp/run/m1/root/opt/b.tar.gz',
};
const failed: LabReport = {
  ...report,
  outcome: 'failed',
  hosts: [
    {
      ...host,
      outcome: 'failed',
      failure,
      waits: ['was waiting until 2 masters are ready: 1 of 2, for 4 s of at most 1 h'],
    },
  ],
};
const missed: LabReport = {
  ...report,
  clusterStatus: 'error',
  operators: [
    { name: 'console', status: 'failed', info: 'no route' },
    { name: 'cvo', status: 'progressing', info: 'waiting on console' },
  ],
};

it.each<[string, LabReport, string | undefined, readonly string[]]>([
  [
    'a failed host',
    failed,
    '/tmp/run',
    ['next: unmount it', 'next: scripts/bootwright logs read /tmp/run/m1/root/opt/b.tar.gz'],
  ],
  [
    'a host whose files have been removed',
    failed,
    undefined,
    ['logs: removed; scripts/lab --scenario made-up --keep keeps them'],
  ],
  [
    'a failed operator',
    missed,
    '/tmp/run',
    [
      'operator console: Degraded: no route',
      'next: the API server of the lab has ended; the command on a real cluster is: oc describe clusteroperator console',
      'next: scripts/bootwright logs read /tmp/run/controller-logs.tar.gz',
    ],
  ],
])('the summary shows the next commands for %s', (_, ended, folder, expected) => {
  const lines = summaryOf(ended, folder)
    .split('\n')
    .map((line) => line.trim());
  for (const line of expected) expect(lines).toContain(line);
  expect(lines.join()).not.toContain('operator cvo');
});

it('shows why a stopped host has no bundle, and where its log is', () => {
  const log = '/tmp/run/m1/agent-1.log';
  const text = summaryOf({ ...failed, hosts: [{ ...host, outcome: 'stopped', log }] }, '/tmp/run');
  expect(text).toContain('reset at the service: "Reset Cluster" in its UI, or POST /api/');
  expect(text).toMatch(
    /it has no bundle of logs, [^\n]*\n +next: scripts\/bootwright logs read \/tmp\/run\/m1\/agent-1\.log\n/,
  );
});

it('shows what a failed host was waiting for', () => {
  const text = summaryOf(failed, undefined);
  expect(text).toMatch(
    /disk\.busy: in use\n[^]*\n +when it ended, it was waiting until 2 masters are ready: 1 of 2, for 4 s/,
  );
  expect(text).not.toContain('still');
});
