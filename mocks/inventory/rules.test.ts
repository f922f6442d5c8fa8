import { describe, expect, it } from 'vitest';
import { clusterSeed, type HostRecord, hostSeed, type HostStatus } from './records.ts';
import { decideProgress, LONGEST_TEXT, type ProgressContext, settle } from './rules.ts';

const master = hostSeed({ clusterId: 'c', infraEnvId: 'i', hostname: 'm1', role: 'master' });
const worker: HostRecord = { ...master, role: 'worker' };
const bootstrap: HostRecord = { ...master, isBootstrap: true };
const underWay: Partial<HostRecord> = { status: 'installing-in-progress' };
const context: ProgressContext = { api: 'v2', isSingleNode: false, isDay2: false, now: 77 };

const refused = (reason: string) => ({ kind: 'refused', status: 409, reason });
const changedTo = (host: Partial<HostRecord>) => ({ kind: 'changed', host });
const strangeTo = (stage: string, role: string, isBootstrap: boolean) =>
  refused(`Stages ${stage} isn't available for host role ${role} bootstrap ${isBootstrap}`);

const writing = 'Writing image to disk';
const waits = 'Waiting for control plane';
/** A host that has reported a stage. */
const at = (stage: string, host: HostRecord = master): HostRecord => ({
  ...host,
  ...underWay,
  stage,
});

describe('a progress report', () => {
  it.each<[string, HostRecord, [stage: string, info?: string], object, Partial<ProgressContext>?]>([
    [
      'the first report starts the installation',
      master,
      ['Starting installation', 'master'],
      changedTo({ status: 'installing-in-progress', stageInfo: 'master' }),
    ],
    [
      'the first report of all may be any stage',
      master,
      ['Waiting for bootkube'],
      changedTo({ stage: 'Waiting for bootkube' }),
    ],
    [
      'stages may be skipped',
      at('Installing'),
      ['Rebooting'],
      changedTo({ stage: 'Rebooting', stageStartedAt: 77 }),
    ],
    [
      'the same stage and text change nothing',
      { ...master, status: 'error', stage: 'Installing', stageInfo: 'master' },
      ['Installing', 'master'],
      { kind: 'unchanged' },
    ],
    [
      'a new text of the same stage keeps the start of the stage',
      { ...at(writing), stageStartedAt: 5 },
      [writing, '7%'],
      changedTo({ stageInfo: '7%', stageStartedAt: 5, stageUpdatedAt: 77 }),
    ],
    [
      'a new text of the same stage is accepted in any status and keeps the status',
      { ...at('Installing'), status: 'cancelled' },
      ['Installing', 'x'],
      changedTo({ status: 'cancelled', stageInfo: 'x' }),
    ],
    [
      'a lower stage is refused',
      at(writing),
      ['Installing'],
      refused(`Can't assign lower stage "Installing" after host has been in stage "${writing}"`),
    ],
    ['a stage of another role is refused', at(writing), [waits], strangeTo(waits, 'master', false)],
    [
      'the bootstrap host may wait for the control plane',
      at(writing, bootstrap),
      [waits],
      changedTo({ stage: waits }),
    ],
    [
      'a worker has no stage for copying the registry',
      at(writing, worker),
      ['Copying registry data to disk'],
      strangeTo('Copying registry data to disk', 'worker', false),
    ],
    [
      'a single node has no stage Configuring',
      at('Rebooting', bootstrap),
      ['Configuring'],
      strangeTo('Configuring', 'master', true),
      { isSingleNode: true },
    ],
    [
      'a new stage of a cancelled host is refused',
      { ...at('Installing'), status: 'cancelled' },
      [writing],
      refused(`Can't set progress <${writing}> to host in status <cancelled>`),
    ],
    [
      'a second Failed is refused',
      { ...at('Installing'), status: 'error' },
      ['Failed', 'again'],
      refused(`Can't set progress <Failed> to host in status <error>`),
    ],
    [
      'Failed keeps the stage and sets the status text',
      { ...at(writing), stageInfo: '7%' },
      ['Failed', 'disk.busy'],
      changedTo({
        status: 'error',
        statusInfo: 'Failed - disk.busy',
        stage: writing,
        stageInfo: '7%',
      }),
    ],
    ['Done installs the host', at('Joined'), ['Done'], changedTo({ status: 'installed' })],
    [
      'a host of day 2 is done when it reboots',
      at(waits, worker),
      ['Rebooting'],
      changedTo({ status: 'added-to-existing-cluster', stage: 'Done' }),
      { isDay2: true },
    ],
    [
      'a host that waited for its user continues',
      { ...at('Rebooting'), status: 'installing-pending-user-action' },
      ['Configuring'],
      changedTo({ status: 'installing-in-progress' }),
    ],
    [
      'version 1 has no stage for waiting workers',
      at(writing, worker),
      [waits],
      strangeTo(waits, 'worker', false),
      { api: 'v1' },
    ],
  ])('%s', (_, host, [stage, info = ''], expected, more = {}) => {
    const decision = decideProgress(host, { stage, info }, { ...context, ...more });
    expect(decision).toMatchObject(expected);
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
    ['continues', masters(going, going, 'installed'), 'installing'],
    [
      'finalises when every master is installed',
      masters('installed', 'installed', 'installed'),
      'finalizing',
    ],
    [
      'waits for two workers',
      [...masters('installed'), ...workers('installed', going, going)],
      'installing',
    ],
    [
      'does not wait for the third worker',
      [...masters('installed'), ...workers('installed', 'installed', going)],
      'finalizing',
    ],
    [
      'does not count a disabled host',
      [...masters('installed', 'disabled'), ...workers('installed', 'installed')],
      'finalizing',
    ],
    ['fails when a master fails', masters('error', going, going), 'error'],
    [
      'fails when fewer than two workers remain',
      [...masters(going), ...workers('error', going)],
      'error',
    ],
    [
      'survives the loss of one worker of three',
      [...masters(going), ...workers('error', going, going)],
      'installing',
    ],
  ])('%s', (_, hosts, expected) => {
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
