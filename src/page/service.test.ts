import { describe, expect, it } from 'vitest';
import type { ClusterOverview, HostOverview } from '../ports/inventory.ts';
import { viewOf } from './host-state.ts';
import { pageAfter } from './fold.ts';
import { updatesOf } from './service.ts';
import { emptyPage, type PageState } from './state.ts';

const host = (change: Partial<HostOverview> = {}): HostOverview => ({
  id: 'h',
  infraEnvId: 'i',
  name: 'm1',
  role: 'master',
  addresses: [],
  status: 'installing-in-progress',
  statusInfo: '',
  isBootstrap: false,
  stage: 'Writing image to disk',
  stageInfo: '40%',
  stageSince: 100,
  hardware: '',
  hasLogs: false,
  ...change,
});

const cluster = (
  hosts: readonly HostOverview[],
  change: Partial<ClusterOverview> = {},
): ClusterOverview => ({
  id: 'c',
  name: 'lab',
  status: 'installing',
  statusInfo: 'Installation in progress',
  version: '4.20.1',
  isSingleNode: false,
  finalizing: '',
  startedAt: 50,
  completedAt: undefined,
  operators: [],
  hosts,
  ...change,
});

const page = (...answers: readonly ClusterOverview[]): PageState =>
  answers
    .flatMap((answer, index) => updatesOf(answer, 1000 * (index + 1)))
    .reduce(pageAfter, emptyPage('', '', 900));

describe('updatesOf', () => {
  it('sets title, start and status of the cluster', () => {
    expect(page(cluster([]))).toMatchObject({
      title: 'Cluster lab, OpenShift 4.20.1',
      startedAt: 50,
      cluster: { status: 'installing', info: 'Installation in progress' },
    });
  });

  it('follows a failed host through a reset and a cancellation', () => {
    const [failed, reset] = [host({ status: 'error', statusInfo: 'disk' }), { status: 'known' }];
    const known = host({ ...reset, stage: '', stageInfo: '' });
    const at = (...hosts: readonly HostOverview[]) => page(...hosts.map((one) => cluster([one])));
    expect(at(failed, known).hosts[0]).toMatchObject({ steps: {}, stage: '' });
    expect(viewOf(at(failed, known, host()).hosts[0] as never)).toMatchObject({
      tone: 'busy',
      word: 'Writing image to disk',
    });
    const cancelled = host({ status: 'cancelled' });
    expect(at(failed, cancelled, failed).hosts[0]?.failure?.message).toBe('disk');
  });

  it('replaces a time in the future by the current time', () => {
    const future = Date.UTC(9999, 11, 31);
    const installed = { status: 'installed', stage: 'Done', stageSince: future };
    const times = { startedAt: future, completedAt: future, status: 'installed' };
    const { startedAt, end, hosts } = page(cluster([host(installed)], times));
    expect([startedAt, end?.at, hosts[0]?.end?.at]).toEqual([1000, 1000, 1000]);
  });

  it.each([
    [
      'that writes',
      {},
      { tone: 'busy', word: 'Writing image to disk', current: [{ percent: 40, since: 100 }] },
    ],
    [
      'that waits',
      { stage: 'Waiting for control plane', stageInfo: 'two masters', role: 'worker' },
      { tone: 'waiting', current: [{ detail: 'two masters' }] },
    ],
    [
      'that is installed',
      { status: 'installed', stage: 'Done' },
      { tone: 'good', word: 'installed', percent: 100 },
    ],
    ['that was added', { status: 'added-to-existing-cluster', stage: 'Done' }, { tone: 'good' }],
    [
      'that failed',
      { status: 'error', statusInfo: 'Failed - disk' },
      { tone: 'bad', word: 'failed' },
    ],
    [
      'that was stopped with the others',
      { status: 'error', statusInfo: 'Host is part of a cluster that failed to install' },
      { tone: 'stopped', word: 'stopped' },
    ],
    ['that was cancelled', { status: 'cancelled' }, { tone: 'stopped' }],
    [
      'that needs user action',
      {
        status: 'installing-pending-user-action',
        statusInfo: 'wrong boot order',
        stage: 'Rebooting',
      },
      { tone: 'bad', word: 'needs user action', current: [{ detail: 'wrong boot order' }] },
    ],
    [
      'that has not started',
      { stage: '', stageInfo: '', status: 'known' },
      { tone: 'idle', word: 'not started' },
    ],
  ])('shows a host %s', (_, change, expected) => {
    const [shown] = page(cluster([host(change)])).hosts;
    expect(shown === undefined ? undefined : viewOf(shown)).toMatchObject(expected);
  });

  it.each([
    [
      'Failed - disk.busy: /dev/sda is in use — unmount it',
      { code: 'disk.busy', message: '/dev/sda is in use', hint: 'unmount it' },
    ],
    ['Host lost its link: no beat', { code: '', message: 'Host lost its link: no beat', hint: '' }],
  ])('sets the failure and the logs of a failed host: %s', (statusInfo, failure) => {
    const failed = host({ status: 'error', statusInfo, hasLogs: true, hardware: 'R650, 256 GiB' });
    const [shown] = page(cluster([failed])).hosts;
    expect(shown).toMatchObject({ failure, hardware: 'R650, 256 GiB' });
    expect(shown?.failure?.logs).toContain('/v2/clusters/c/logs?logs_type=host&host_id=h');
  });

  it('sets the ladder by role and shows the id of a host without a name', () => {
    const shown = page(
      cluster([host({ isBootstrap: true }), host({ id: 'w', name: '', role: 'worker' })]),
    ).hosts;
    expect(shown.map(({ name, role, rail }) => [name, role, rail[0]?.[0]?.steps.length])).toEqual([
      ['m1', 'bootstrap', 11],
      ['w', 'worker', 9],
    ]);
    const [single] = page(cluster([host()], { isSingleNode: true })).hosts;
    expect(single?.rail[0]?.[0]?.steps).toHaveLength(8);
  });

  it('does not log a repeated answer', () => {
    const done = host({ status: 'installed', stage: 'Done', stageInfo: '' });
    const once = page(cluster([done]));
    expect(page(cluster([done]), cluster([done])).lines).toEqual(once.lines);
    expect(once.lines.map(({ text }) => text)).toEqual([
      ...['cluster is installing', 'stage Done', 'installed'],
    ]);
  });

  it('lists the operators and the finalizing stage', () => {
    const operator = { type: 'builtin', namespace: '', subscription: '', version: '' };
    const shown = page(
      cluster([], {
        finalizing: 'Waiting for cluster operators',
        operators: [
          { ...operator, name: 'cvo', status: 'progressing', statusInfo: 'Working: 80%' },
          { ...operator, name: 'console', status: '', statusInfo: '' },
        ],
      }),
    );
    expect(shown.cluster.info).toBe('Installation in progress: Waiting for cluster operators');
    expect(shown.objects).toMatchObject([
      {
        kind: 'Operator',
        name: 'ClusterVersion',
        state: 'progressing: Working: 80%',
        tone: 'busy',
      },
      { name: 'console', state: 'not reported', tone: 'waiting' },
    ]);
  });

  it.each([
    ['installed', { completedAt: 700 }, { at: 700, isGood: true, text: 'installed', details: [] }],
    ['error', { statusInfo: 'two hosts failed' }, { isGood: false, details: ['two hosts failed'] }],
    ['cancelled', { statusInfo: '' }, { at: 1000, isGood: false, details: [] }],
  ])('ends the page when the cluster is %s', (status, change, end) => {
    expect(page(cluster([], { status, ...change })).end).toMatchObject(end);
  });
});
