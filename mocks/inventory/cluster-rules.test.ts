import { describe, expect, it } from 'vitest';
import { settle } from './cluster-rules.ts';
import type { HostRecord, HostStatus } from './records.ts';
import { clusterSeed, hostSeed } from './seed.ts';

const cluster = clusterSeed();

const host = (role: HostRecord['role'], status: HostStatus): HostRecord =>
  hostSeed({ clusterId: cluster.id, infraEnvId: 'i', hostname: role, role, status });

const masters = (...statuses: readonly HostStatus[]) => statuses.map((one) => host('master', one));
const workers = (...statuses: readonly HostStatus[]) => statuses.map((one) => host('worker', one));
const going: HostStatus = 'installing-in-progress';

describe('a cluster that is being installed', () => {
  it.each([
    { name: 'goes on', hosts: masters(going, going, 'installed'), expected: 'installing' },
    {
      name: 'finalises when every master is installed',
      hosts: masters('installed', 'installed', 'installed'),
      expected: 'finalizing',
    },
    {
      name: 'waits for two of its workers',
      hosts: [...masters('installed'), ...workers('installed', going, going)],
      expected: 'installing',
    },
    {
      name: 'does not wait for the third worker',
      hosts: [...masters('installed'), ...workers('installed', 'installed', going)],
      expected: 'finalizing',
    },
    {
      name: 'does not count a host that was disabled',
      hosts: [...masters('installed', 'disabled'), ...workers('installed', 'installed')],
      expected: 'finalizing',
    },
    { name: 'fails with one master', hosts: masters('error', going, going), expected: 'error' },
    {
      name: 'fails when fewer than two workers are left',
      hosts: [...masters(going), ...workers('error', going)],
      expected: 'error',
    },
    {
      name: 'bears the loss of one worker of three',
      hosts: [...masters(going), ...workers('error', going, going)],
      expected: 'installing',
    },
  ])('$name', ({ hosts, expected }) => {
    expect(settle({ cluster, hosts }).cluster.status).toBe(expected);
  });

  it('takes its hosts with it when it fails', () => {
    const after = settle({ cluster, hosts: masters('error', going, 'installed', 'disabled') });
    expect(after.hosts.map(({ status }) => status)).toEqual([
      'error',
      'error',
      'error',
      'disabled',
    ]);
    expect(after.hosts[1]?.statusInfo).toBe('Host is part of a cluster that failed to install');
  });

  it('stays as it is when it was cancelled', () => {
    const view = { cluster: { ...cluster, status: 'cancelled' as const }, hosts: masters('error') };
    expect(settle(view)).toBe(view);
  });
});
