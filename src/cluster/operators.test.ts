import { describe, expect, it } from 'vitest';
import { minutes } from '../model/duration.ts';
import type { MonitoredOperator, OperatorStatus } from '../ports/inventory.ts';
import type { KubeObject } from '../ports/kube.ts';
import {
  clusterOperatorSnapshot,
  clusterOperatorsReport,
  clusterVersionSnapshot,
  csvOf,
  csvSnapshot,
  failedSetup,
  hasConsole,
  operatorReport,
  clusterNotSettled,
} from './operators.ts';

/** Parses a text such as `Available=True well` into a condition. */
const condition = (words: string) => {
  const [, type = '', status = '', message = ''] = /^(\w+)=(\w+) ?(.*)$/.exec(words) ?? [];
  return { type, status, message };
};

const operator = (...conditions: readonly string[]) => ({
  metadata: { name: 'console' },
  status: { conditions: conditions.map(condition), versions: [{ version: '4.16.2' }] },
});

describe('the status of an operator from its conditions', () => {
  it.each<readonly [string, readonly string[], OperatorStatus, string]>([
    ['no conditions', [], 'progressing', ''],
    [
      'available',
      ['Degraded=False', 'Progressing=False', 'Available=True well'],
      'available',
      'well',
    ],
    [
      'available though degraded',
      ['Degraded=True bad', 'Available=True well'],
      'available',
      'well',
    ],
    [
      'a new cluster version',
      ['Available=False none', 'Progressing=True 5 of 9'],
      'progressing',
      '5 of 9',
    ],
    [
      'degraded',
      ['Available=False none', 'Progressing=True on', 'Degraded=True bad'],
      'failed',
      'bad',
    ],
    ['not available', ['Progressing=False', 'Available=False none'], 'failed', 'none'],
  ])('%s', (_, conditions, ...[status, text]) => {
    const expected = { status, text, version: '4.16.2' };
    expect(clusterOperatorSnapshot(operator(...conditions))).toEqual(expected);
    expect(clusterOperatorSnapshot(operator(...conditions.toReversed()))).toEqual(expected);
  });

  it('contains the desired version of a ClusterVersion', () => {
    const version = {
      metadata: { name: 'version' },
      status: { conditions: [condition('Available=True done')], desired: { version: '4.17.0' } },
    };
    expect(clusterVersionSnapshot(version)).toEqual({
      status: 'available',
      text: 'done',
      version: '4.17.0',
    });
  });

  it('is reported to the service for a failed operator', () => {
    expect(clusterOperatorsReport([operator('Available=False no route')])).toEqual({
      CLUSTER_OPERATORS_REPORT: [{ name: 'console', status: 'failed', status_info: 'no route' }],
    });
  });
});

describe('the console of a cluster', () => {
  it.each([
    [
      'is known and not enabled',
      { enabledCapabilities: [], knownCapabilities: ['Console'] },
      false,
    ],
    [
      'is not known as a capability',
      { enabledCapabilities: ['x'], knownCapabilities: ['x'] },
      true,
    ],
    ['is in a release without capabilities', undefined, true],
  ])('%s', (_, capabilities, expected) => {
    expect(hasConsole({ metadata: { name: 'version' }, status: { capabilities } })).toBe(expected);
  });
});

const known = (status: MonitoredOperator['status'], statusInfo = '', type = 'builtin') => ({
  name: 'cvo',
  type,
  namespace: '',
  subscription: '',
  version: '',
  status,
  statusInfo,
});

describe('the report of an operator', () => {
  it.each<readonly [string, MonitoredOperator, OperatorStatus, string, boolean]>([
    ['no change', known('progressing', 'a'), 'progressing', 'a', false],
    ['a text that appears', known('progressing'), 'progressing', 'a', true],
    ['a text that changes', known('progressing', 'a'), 'progressing', 'b', true],
    ['a text that disappears', known('progressing', 'a'), 'progressing', '', false],
    ['a status that changes', known('progressing', 'a'), 'available', '', true],
    ['a builtin operator that fails', known('progressing', 'a'), 'failed', '', true],
    ['an operator that was available', known('available'), 'failed', 'b', false],
  ])('%s', (_, entry, ...[status, text, isSent]) => {
    const seen = { status, text, version: '4.16.2' };
    const report = operatorReport(entry, seen, 0, minutes(1));
    const expected = { name: 'cvo', version: '4.16.2', status, statusInfo: text };
    expect(report).toEqual(isSent ? expected : undefined);
  });
});

const odf = { name: 'odf', namespace: 'openshift-storage', subscription: 'odf-operator' };

const named = (name: string, members: object = {}, namespace = 'openshift-storage') => ({
  metadata: { name, namespace },
  ...members,
});

describe('the OLM objects of an operator', () => {
  const subscription = named('odf-operator', { status: { currentCSV: 'odf.v1' } });
  const none = { subscriptions: [], csvs: [], installPlans: [], jobs: [] };

  it.each<readonly [string, readonly KubeObject[], readonly KubeObject[], string | undefined]>([
    [
      'no CSV for a Subscription without a current CSV',
      [named('odf-operator')],
      [named('odf.v1')],
      undefined,
    ],
    [
      'no CSV for a Subscription in another namespace',
      [{ ...subscription, metadata: { name: 'odf-operator', namespace: 'other' } }],
      [named('odf.v1')],
      undefined,
    ],
    [
      'no CSV when the current CSV is in another namespace',
      [subscription],
      [named('odf.v1', {}, 'other')],
      undefined,
    ],
    ['the current CSV of the Subscription', [subscription], [named('odf.v1')], 'odf.v1'],
  ])('include %s', (_, subscriptions, ...[csvs, expected]) => {
    expect(csvOf(odf, { ...none, subscriptions, csvs })?.metadata.name).toBe(expected);
  });

  it.each([
    ['Succeeded', 'available'],
    ['Failed', 'failed'],
    ['Installing', 'progressing'],
  ])('map the CSV phase %s to the status %s', (phase, status) => {
    const csv = named('odf.v1', { spec: { version: '1.2.3' }, status: { phase, message: 'why' } });
    expect(csvSnapshot(csv)).toEqual({ status, text: 'why', version: '1.2.3' });
  });

  it('that failed are selected: jobs by count or condition, install plans by owner', () => {
    const owned = (name: string, phase: string, owner: string) => ({
      metadata: { name, namespace: odf.namespace, ownerReferences: [{ name: owner }] },
      status: { phase },
    });
    const jobs = [
      named('by-count', { status: { failed: 1 } }),
      named('by-condition', { status: { conditions: [condition('Failed=True')] } }),
      named('well', { status: { succeeded: 1, conditions: [condition('Complete=True')] } }),
      named('not-failed', { status: { conditions: [condition('Failed=False')] } }),
      {
        ...named('leaving', { status: { failed: 1 } }),
        metadata: { name: 'leaving', deletionTimestamp: 'now' },
      },
    ];
    const installPlans = [
      owned('failed', 'Failed', 'odf-operator'),
      owned('running', 'Installing', 'odf-operator'),
      owned('of-another', 'Failed', 'lso'),
    ];
    const removed = failedSetup([odf], { jobs, installPlans });
    expect(removed.map(({ kind, name }) => `${kind.plural} ${name}`)).toEqual([
      'jobs by-count',
      'jobs by-condition',
      'installplans failed',
    ]);
  });
});

const object = (name: string, conditions: Readonly<Record<string, string>>): KubeObject => ({
  metadata: { name },
  status: {
    conditions: Object.entries(conditions).map(([type, status]) => ({
      type,
      status,
      message: `${type} of ${name}`,
    })),
  },
});
const version = object('version', { Available: 'True' });
const settled = { Available: 'True', Degraded: 'False', Progressing: 'False' };
const dns = object('dns', settled);

it.each<[string, KubeObject | undefined, readonly KubeObject[], string | undefined]>([
  ['no ClusterVersion', undefined, [dns], 'the ClusterVersion is not there yet'],
  [
    'a ClusterVersion that is installing',
    object('version', { Available: 'False', Progressing: 'True' }),
    [dns],
    'the ClusterVersion is not available: Progressing of version',
  ],
  ['no ClusterOperator', version, [], 'no ClusterOperator is there yet'],
  [
    'a ClusterOperator that is not available',
    version,
    [dns, object('etcd', { ...settled, Available: 'False' })],
    'ClusterOperator etcd is not available: Available of etcd',
  ],
  [
    'a ClusterOperator without conditions',
    version,
    [object('a', {}), dns],
    'ClusterOperator a is not available',
  ],
  [
    'a ClusterOperator that is degraded but available',
    version,
    [dns, object('network', { ...settled, Degraded: 'True', Progressing: 'True' })],
    'ClusterOperator network is degraded: Degraded of network',
  ],
  [
    'two unsettled ClusterOperators, of which it names the first',
    version,
    [
      object('b', { ...settled, Progressing: 'True' }),
      object('c', { ...settled, Degraded: 'True' }),
    ],
    'ClusterOperator b is progressing: Progressing of b',
  ],
  [
    'settled ClusterVersion and ClusterOperators',
    version,
    [dns, object('etcd', settled)],
    undefined,
  ],
])('clusterNotSettled with %s', (...[, seen, operators, expected]) => {
  expect(clusterNotSettled(seen, operators)).toBe(expected);
});
