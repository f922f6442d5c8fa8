import { describe, expect, it } from 'vitest';
import { hostReport } from '../../test/support/lab-report.ts';
import { clusterSeed, hostSeed } from '../inventory/records.ts';
import { inventoryStore } from '../inventory/store.ts';
import { differencesOf, reportOfHost, serviceLines, spared, unsaid } from './make-report.ts';
import { HostSpec, Scenario } from './scenario.ts';

const scenario = (expected: object): Scenario =>
  Scenario.parse({
    title: 't',
    description: 'd',
    hosts: [{ name: 'm1', role: 'master' }],
    expect: expected,
  });

describe('differencesOf', () => {
  it.each([
    {
      name: 'accepts an installed host',
      expected: { outcome: 'installed' },
      seen: { outcome: 'installed' as const, hosts: [hostReport({})] },
      differences: [],
    },
    {
      name: 'reports a failure with another code',
      expected: {
        outcome: 'failed',
        hosts: { m1: { outcome: 'failed', failure: 'disk.busy' } },
      },
      seen: {
        outcome: 'failed' as const,
        hosts: [hostReport({ outcome: 'failed', failure: { code: 'disk.missing', message: '' } })],
      },
      differences: ['m1: failure: disk.missing instead of disk.busy'],
    },
    {
      name: 'reports a host that was expected to be stopped',
      expected: { outcome: 'failed' },
      seen: { outcome: 'failed' as const, hosts: [hostReport({})] },
      differences: ['m1: done instead of stopped'],
    },
    {
      name: 'reports a command without a stand-in',
      expected: { outcome: 'installed' },
      seen: { outcome: 'installed' as const, hosts: [hostReport({ unknownCommands: ['frob'] })] },
      differences: ['m1: the lab does not know: frob'],
    },
    {
      name: 'reports a host that does not run the built image',
      expected: { outcome: 'installed', hosts: { m1: { outcome: 'done', system: 'built' } } },
      seen: { outcome: 'installed' as const, hosts: [hostReport({ system: 'stock' })] },
      differences: ['m1: system: stock instead of built'],
    },
  ])('$name', ({ expected, seen, differences }) => {
    expect(differencesOf(scenario(expected), seen)).toEqual(differences);
  });
});

it('takes the time of a host that rebooted from the end of its agent', () => {
  const finished = { type: 'run.finished', outcome: 'left the host', duration: 1 } as const;
  const host = {
    plan: { name: 'm1', role: 'master' as const },
    hostId: 'h',
    outcome: 'rebooted' as const,
    phase: '',
    boots: 1,
    endedAt: 9000,
    steps: {},
    events: [{ ...finished, run: 'r', at: 5000 }],
  };
  expect(reportOfHost(host, { host: () => undefined }, 0).seconds).toBe(5);
});

it('shows the wait of a host that the service failed, and of no host that it failed for another', () => {
  const times = { at: 0, run: 'r', step: 's', waited: 0, limit: 1 };
  const wait = { type: 'wait.updated', sentence: '2 masters are ready', status: '1 of 2' } as const;
  const host = {
    plan: { name: 'b1', role: 'bootstrap' as const },
    hostId: 'h',
    phase: '',
    boots: 0,
    steps: {},
    events: [{ ...wait, ...times }],
  };
  const store = (statusInfo: string) => ({
    host: () =>
      hostSeed({
        id: 'h',
        hostname: 'b1',
        clusterId: 'c',
        infraEnvId: 'i',
        role: 'master',
        status: 'error',
        statusInfo,
      }),
  });
  expect(reportOfHost(host, store('it took longer'), 0)).toMatchObject({
    overdue: 'it took longer',
    wait: '2 masters are ready: 1 of 2',
  });
  const other = store('Host is part of a cluster that failed to install');
  expect(reportOfHost(host, other, 0).overdue).toBeUndefined();
});

describe('an expected wait status', () => {
  const times = { at: 0, waited: 0, limit: 1 };
  const updated = { type: 'wait.updated' as const, run: 'r', step: 's', sentence: 'w', ...times };
  const plan = HostSpec.parse({ name: 'm1', role: 'master' });
  const hosts = [{ plan, events: [{ ...updated, status: 'no route to r.test' }] }];

  it.each([
    ['no route', []],
    ['^no .* r.test$', []],
    ['denied', ['m1 never said while it waited: denied']],
  ])('is matched by a pattern: %s', (pattern, missing) => {
    const m1 = { outcome: 'done', statuses: [pattern] };
    expect(unsaid(scenario({ outcome: 'installed', hosts: { m1 } }), hosts)).toEqual(missing);
  });
});

describe('faults that did not occur', () => {
  it('are reported with their moment', () => {
    const fault = { kind: 'agent-killed', host: 'b1' } as const;
    const plan = HostSpec.parse({ name: 'b1', role: 'bootstrap' });
    const faults = [
      { ...fault, after: 'image/write' },
      { ...fault, during: 'cluster/wait-for-etcd' },
    ];
    expect(spared([{ plan, faults }])).toEqual([
      'b1: never struck: agent-killed after image/write',
      'b1: never struck: agent-killed during cluster/wait-for-etcd',
    ]);
  });
});

describe('serviceLines', () => {
  it('has a line for each fact of the service', () => {
    const store = inventoryStore({ cluster: clusterSeed({ status: 'finalizing' }), hosts: [] });
    const bytes = new TextEncoder().encode('must-gather');
    store.addControllerLogs({ filename: 'x', contentType: '', bytes });
    store.addCompletion({ isSuccess: false, error: 'Stopped waiting' });
    expect(serviceLines(store).split('\n')).toEqual([
      expect.stringMatching(/^cluster finalizing: /) as string,
      'stage none',
      expect.stringMatching(/^operator console /) as string,
      expect.stringMatching(/^operator cvo /) as string,
      'completion false: Stopped waiting',
      'must-gather',
    ]);
  });
});
