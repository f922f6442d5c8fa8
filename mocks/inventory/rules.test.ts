import { describe, expect, it } from 'vitest';
import { clusterSeed, type HostRecord, hostSeed, type HostStatus } from './records.ts';
import { decideProgress, LONGEST_TEXT, type ProgressContext, settle } from './rules.ts';

const master = hostSeed({ clusterId: 'c', infraEnvId: 'i', hostname: 'm1', role: 'master' });
const worker: HostRecord = { ...master, role: 'worker' };
const bootstrap: HostRecord = { ...master, isBootstrap: true };
const underWay: Partial<HostRecord> = { status: 'installing-in-progress' };
const context: ProgressContext = { api: 'v2', isSingleNode: false, isDay2: false, now: 77 };

interface Row {
  readonly name: string;
  readonly host: HostRecord;
  readonly stage: string;
  readonly info?: string;
  readonly context?: Partial<ProgressContext>;
  readonly expected: unknown;
}

const refused = (reason: string) => ({ kind: 'refused', status: 409, reason });
const changedTo = (host: Partial<HostRecord>) => ({ kind: 'changed', host });

const rows: readonly Row[] = [
  {
    name: 'the first report starts the installation',
    host: master,
    stage: 'Starting installation',
    info: 'master',
    expected: changedTo({ status: 'installing-in-progress', stageInfo: 'master' }),
  },
  {
    name: 'the first report of all may be any stage',
    host: master,
    stage: 'Waiting for bootkube',
    expected: changedTo({ stage: 'Waiting for bootkube' }),
  },
  {
    name: 'stages may be skipped',
    host: { ...master, ...underWay, stage: 'Installing' },
    stage: 'Rebooting',
    expected: changedTo({ stage: 'Rebooting', stageStartedAt: 77 }),
  },
  {
    name: 'the same stage and text change nothing',
    host: { ...master, status: 'error', stage: 'Installing', stageInfo: 'master' },
    stage: 'Installing',
    info: 'master',
    expected: { kind: 'unchanged' },
  },
  {
    name: 'a new text of the same stage keeps the start of the stage',
    host: { ...master, ...underWay, stage: 'Writing image to disk', stageStartedAt: 5 },
    stage: 'Writing image to disk',
    info: '7%',
    expected: changedTo({ stageInfo: '7%', stageStartedAt: 5, stageUpdatedAt: 77 }),
  },
  {
    name: 'a new text of the same stage is accepted in any status and keeps the status',
    host: { ...master, status: 'cancelled', stage: 'Installing' },
    stage: 'Installing',
    info: 'x',
    expected: changedTo({ status: 'cancelled', stageInfo: 'x' }),
  },
  {
    name: 'a lower stage is refused',
    host: { ...master, ...underWay, stage: 'Writing image to disk' },
    stage: 'Installing',
    expected: refused(
      `Can't assign lower stage "Installing" after host has been in stage "Writing image to disk"`,
    ),
  },
  {
    name: 'a stage of another role is refused',
    host: { ...master, ...underWay, stage: 'Writing image to disk' },
    stage: 'Waiting for control plane',
    expected: refused(
      `Stages Waiting for control plane isn't available for host role master bootstrap false`,
    ),
  },
  {
    name: 'the bootstrap host may wait for the control plane',
    host: { ...bootstrap, ...underWay, stage: 'Writing image to disk' },
    stage: 'Waiting for control plane',
    expected: changedTo({ stage: 'Waiting for control plane' }),
  },
  {
    name: 'a worker has no stage for copying the registry',
    host: { ...worker, ...underWay, stage: 'Writing image to disk' },
    stage: 'Copying registry data to disk',
    expected: refused(
      `Stages Copying registry data to disk isn't available for host role worker bootstrap false`,
    ),
  },
  {
    name: 'a single node has no stage Configuring',
    host: { ...bootstrap, ...underWay, stage: 'Rebooting' },
    stage: 'Configuring',
    context: { isSingleNode: true },
    expected: refused(`Stages Configuring isn't available for host role master bootstrap true`),
  },
  {
    name: 'a new stage of a cancelled host is refused',
    host: { ...master, status: 'cancelled', stage: 'Installing' },
    stage: 'Writing image to disk',
    expected: refused(`Can't set progress <Writing image to disk> to host in status <cancelled>`),
  },
  {
    name: 'a second Failed is refused',
    host: { ...master, status: 'error', stage: 'Installing' },
    stage: 'Failed',
    info: 'again',
    expected: refused(`Can't set progress <Failed> to host in status <error>`),
  },
  {
    name: 'Failed keeps the stage and sets the status text',
    host: { ...master, ...underWay, stage: 'Writing image to disk', stageInfo: '7%' },
    stage: 'Failed',
    info: 'disk.busy',
    expected: changedTo({
      status: 'error',
      statusInfo: 'Failed - disk.busy',
      stage: 'Writing image to disk',
      stageInfo: '7%',
    }),
  },
  {
    name: 'Done installs the host',
    host: { ...master, ...underWay, stage: 'Joined' },
    stage: 'Done',
    expected: changedTo({ status: 'installed' }),
  },
  {
    name: 'a host of day 2 is done when it reboots',
    host: { ...worker, ...underWay, stage: 'Waiting for control plane' },
    stage: 'Rebooting',
    context: { isDay2: true },
    expected: changedTo({ status: 'added-to-existing-cluster', stage: 'Done' }),
  },
  {
    name: 'a host that waited for its user continues',
    host: { ...master, status: 'installing-pending-user-action', stage: 'Rebooting' },
    stage: 'Configuring',
    expected: changedTo({ status: 'installing-in-progress' }),
  },
  {
    name: 'version 1 has no stage for waiting workers',
    host: { ...worker, ...underWay, stage: 'Writing image to disk' },
    stage: 'Waiting for control plane',
    context: { api: 'v1' },
    expected: refused(
      `Stages Waiting for control plane isn't available for host role worker bootstrap false`,
    ),
  },
];

describe('a progress report', () => {
  it.each(rows)('$name', ({ host, stage, info = '', context: more, expected }) => {
    expect(decideProgress(host, { stage, info }, { ...context, ...more })).toMatchObject(
      expected as object,
    );
  });

  it.each([
    { stage: 'Installing', length: LONGEST_TEXT, kind: 'changed' },
    { stage: 'Installing', length: LONGEST_TEXT + 1, kind: 'refused' },
    { stage: 'Failed', length: LONGEST_TEXT - 9, kind: 'changed' },
    { stage: 'Failed', length: LONGEST_TEXT - 8, kind: 'refused' },
  ])('$stage with a text of $length characters is $kind', ({ stage, length, kind }) => {
    const info = 'x'.repeat(length);
    const decision = decideProgress({ ...master, ...underWay }, { stage, info }, context);
    expect(decision).toMatchObject(kind === 'refused' ? { kind, status: 500 } : { kind });
  });
});

const cluster = clusterSeed();

const host = (role: HostRecord['role'], status: HostStatus): HostRecord =>
  hostSeed({ clusterId: cluster.id, infraEnvId: 'i', hostname: role, role, status });

const masters = (...statuses: readonly HostStatus[]) => statuses.map((one) => host('master', one));
const workers = (...statuses: readonly HostStatus[]) => statuses.map((one) => host('worker', one));
const going: HostStatus = 'installing-in-progress';
const waiting = 'installing-pending-user-action';

describe('a cluster that is being installed', () => {
  it.each([
    { name: 'continues', hosts: masters(going, going, 'installed'), expected: 'installing' },
    {
      name: 'finalises when every master is installed',
      hosts: masters('installed', 'installed', 'installed'),
      expected: 'finalizing',
    },
    {
      name: 'waits for two workers',
      hosts: [...masters('installed'), ...workers('installed', going, going)],
      expected: 'installing',
    },
    {
      name: 'does not wait for the third worker',
      hosts: [...masters('installed'), ...workers('installed', 'installed', going)],
      expected: 'finalizing',
    },
    {
      name: 'does not count a disabled host',
      hosts: [...masters('installed', 'disabled'), ...workers('installed', 'installed')],
      expected: 'finalizing',
    },
    { name: 'fails when a master fails', hosts: masters('error', going, going), expected: 'error' },
    {
      name: 'fails when fewer than two workers remain',
      hosts: [...masters(going), ...workers('error', going)],
      expected: 'error',
    },
    {
      name: 'survives the loss of one worker of three',
      hosts: [...masters(going), ...workers('error', going, going)],
      expected: 'installing',
    },
  ])('$name', ({ hosts, expected }) => {
    expect(settle({ cluster, hosts }).cluster.status).toBe(expected);
  });

  it.each([
    ['installing', masters(waiting, going), waiting],
    [
      'finalizing',
      [...masters('installed'), ...workers('installed', 'installed', waiting)],
      waiting,
    ],
    [waiting, masters(waiting, 'installed'), waiting],
    [waiting, masters(going, 'installed'), 'installing'],
    [waiting, [...masters('installed'), ...workers('installed', 'installed', going)], 'finalizing'],
    [waiting, masters('error', going), 'error'],
  ] as const)('in status %s follows its hosts, case %#', (status, hosts, expected) => {
    expect(settle({ cluster: { ...cluster, status }, hosts }).cluster.status).toBe(expected);
  });

  it('fails its hosts when it fails', () => {
    const after = settle({ cluster, hosts: masters('error', going, 'installed', 'disabled') });
    expect(after.hosts.map(({ status }) => status)).toEqual([
      'error',
      'error',
      'error',
      'disabled',
    ]);
    expect(after.hosts[1]?.statusInfo).toBe('Host is part of a cluster that failed to install');
  });

  it('stays unchanged when it is cancelled', () => {
    const view = { cluster: { ...cluster, status: 'cancelled' as const }, hosts: masters('error') };
    expect(settle(view)).toBe(view);
  });
});
