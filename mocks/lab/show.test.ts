import { expect, it } from 'vitest';
import { hostReport } from '../../test/support/lab-report.ts';
import type { LabReport } from './report.ts';
import { clusterSeed, hostSeed } from '../inventory/records.ts';
import { inventoryStore } from '../inventory/store.ts';
import { summaryOf } from './show.ts';
import { linesOf } from './shown-run.ts';

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
  why: 'sda is mounted at /var',
  hint: 'unmount it',
  logs: '/tmp/run/m1/root/opt/b.tar.gz',
};
const failed: LabReport = {
  ...report,
  outcome: 'failed',
  hosts: [{ ...host, outcome: 'failed', failure }],
};
const m2 = { ...host, name: 'm2', outcome: 'failed', failure } as const;
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
    [
      'm1 (master) failed after 9.0 s, last stage: Done',
      'disk.busy: in use',
      'why: sda is mounted at /var',
      'next: unmount it',
      'logs: scripts/bootwright logs read /tmp/run/m1/root/opt/b.tar.gz',
    ],
  ],
  [
    'a host whose files have been removed',
    failed,
    undefined,
    ['logs: removed; scripts/lab --scenario made-up --keep keeps them'],
  ],
  [
    'a stopped host',
    { ...failed, hosts: [{ ...host, outcome: 'stopped', log: '/m1.log' }, m2] },
    '/tmp/run',
    [
      'm2 (master) failed after 9.0 s, last stage: Done',
      'the cluster failed because of m2',
      'logs: scripts/bootwright logs read /m1.log',
    ],
  ],
  [
    'a host that the service failed at a limit',
    {
      ...failed,
      hosts: [
        { ...host, outcome: 'rebooted', stage: 'Joined' },
        {
          ...host,
          name: 'b1',
          outcome: 'stopped',
          stage: 'Waiting for bootkube',
          overdue: 'stage Waiting for bootkube took longer than expected 1m0s',
          wait: 'bootkube is done: bootkube.service is running',
        },
      ],
    },
    '/tmp/run',
    [
      'why: stage Waiting for bootkube took longer than expected 1m0s',
      'waited until bootkube is done: bootkube.service is running',
      'next: find the stage in docs/guides/when-it-hangs.md',
    ],
  ],
  [
    'a failed operator',
    missed,
    '/tmp/run',
    [
      'made-up: all hosts are nodes, but the installation failed: console is degraded (after 9.0 s)',
      'operator console is degraded: no route',
      'next: in a real cluster, oc describe clusteroperator console',
      'logs: scripts/bootwright logs read /tmp/run/controller-logs.tar.gz',
    ],
  ],
])('the summary shows the end and the logs of %s', (_, ended, folder, expected) => {
  const lines = summaryOf(ended, folder)
    .split('\n')
    .map((line) => line.trim());
  expect(lines).toEqual(expect.arrayContaining([...expected]));
});

it('has a line for a host that waits for the service, and for operators that a cluster waits for', () => {
  const finalizing = { stage: 'Waiting for cluster operators', isTimedOut: false, startedAt: 0 };
  const seed = clusterSeed({ status: 'finalizing', finalizing });
  const operators = seed.operators.map(
    (one) => ({ ...one, status: 'failed', statusInfo: 'x' }) as const,
  );
  const m1 = hostSeed({
    id: 'h',
    hostname: 'm1',
    clusterId: seed.id,
    infraEnvId: 'i',
    role: 'master',
  });
  const store = inventoryStore({ cluster: { ...seed, operators }, hosts: [m1] });
  const wait = {
    sentence: 'the service',
    status: '503, attempt 3',
    attempt: 3,
    since: 0,
    limit: 1,
  };
  const step = { step: 'a/b', title: 'b', state: 'running', since: 0, attempt: 1, wait } as const;
  const shown = {
    plan: { name: 'm1', role: 'master' as const },
    hostId: 'h',
    phase: '',
    boots: 0,
    events: [],
    steps: { 'a/b': step },
  };
  const run = { name: '', lab: { inventory: { store } }, hosts: [shown], startedAt: 0 };
  expect(linesOf(run).map(([, line]) => line)).toEqual([
    'cluster finalizing, Waiting for cluster operators: console is degraded: x; ClusterVersion is degraded: x',
    'm1 master: waits for the service: 503, attempt 3',
  ]);
});
