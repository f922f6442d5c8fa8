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
      'made-up: all hosts are nodes, but the installation failed: console is degraded (after 9.0 s)',
      'operator console is degraded: no route',
      'next: oc describe clusteroperator console',
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
  const endedBecause = 'Host failed to install because …';
  const stopped = { ...host, outcome: 'stopped', log, endedBecause } as const;
  const text = summaryOf({ ...failed, hosts: [stopped] }, '/tmp/run');
  expect(text).toContain('the service: Host failed to install because …\n');
  expect(text).toContain('reset at the service: "Reset Cluster" in its UI, or POST /api/');
  expect(text).toMatch(
    /it has no bundle of logs, [^\n]*\n +next: scripts\/bootwright logs read \/tmp\/run\/m1\/agent-1\.log\n/,
  );
});

it('shows that a host had rebooted before the bootstrap host failed', () => {
  const bootstrap = { ...host, name: 'm0', role: 'bootstrap', outcome: 'failed' } as const;
  const rebooted = { ...host, outcome: 'rebooted', stage: 'Rebooting', log: '/x' } as const;
  const text = summaryOf({ ...failed, hosts: [bootstrap, rebooted] }, '/tmp/run');
  expect(text).toContain('m1 (master) rebooted into its disk after 9.0 s');
  expect(text).toMatch(
    /it cannot join, because m0 failed\n +next: reset the cluster at the service/,
  );
  expect(text).not.toMatch(/stopped|five seconds|console/);
  expect(summaryOf({ ...failed, hosts: [rebooted] }, '/tmp/run')).toContain(
    'it has not requested its Ignition: look at its console',
  );
});

it('shows what a failed host was waiting for', () => {
  const text = summaryOf(failed, undefined);
  expect(text).toMatch(
    /disk\.busy: in use\n[^]*\n +when it ended, it was waiting until 2 masters are ready: 1 of 2, for 4 s/,
  );
  expect(text).not.toContain('still');
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
