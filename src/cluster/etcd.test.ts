import { describe, expect, it } from 'vitest';
import { fakeKube } from '../../test/support/fake-kube.ts';
import type { KubeObject } from '../ports/kube.ts';
import {
  etcdCluster,
  etcdHandover,
  etcdMembers,
  isOverridden,
  isRestored,
  needsOverride,
  overrideAnnotation,
  overridePatch,
  overridesOf,
  recordedBefore,
  restorePatch,
  threeHealthyMembers,
} from './etcd.ts';

const flag = 'useUnsupportedUnsafeNonHANonProductionUnstableEtcd';
const { signal } = new AbortController();

const etcdWith = (overrides: unknown, record?: string): KubeObject => ({
  metadata: {
    name: 'cluster',
    ...(record === undefined ? {} : { annotations: { [overrideAnnotation]: record } }),
  },
  spec: { managementState: 'Managed', unsupportedConfigOverrides: overrides },
});

describe('needsOverride', () => {
  it.each([
    ['4.4.0', true],
    ['4.6.0-0.nightly-2020-11-07-035509', true],
    ['v4.5.1', true],
    ['4.7', false],
    ['4.60.1', false],
    ['3.11', false],
    ['', false],
    ['latest', false],
    [undefined, false],
  ])('in mode auto for version %j: %s', (version, expected) => {
    expect(needsOverride(version, 'auto')).toBe(expected);
  });

  it.each([
    ['always', '4.20.1', true],
    ['always', 'latest', true],
    ['never', '4.4.0', false],
  ] as const)('in mode %s for version %s: %s', (mode, version, expected) => {
    expect(needsOverride(version, mode)).toBe(expected);
  });
});

describe('the override', () => {
  it('is a merge patch that sets the flag and records the previous overrides', () => {
    expect(overridePatch(null)).toEqual({
      type: 'merge',
      body: {
        metadata: { annotations: { 'bootwright.io/etcd-override': 'null' } },
        spec: { unsupportedConfigOverrides: { [flag]: true } },
      },
    });
  });

  it('has no recorded overrides without the annotation', () => {
    expect(recordedBefore(etcdWith({ [flag]: true }))).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['no overrides', null],
    ['other overrides', { useSomethingElse: 'yes', nested: { a: [1, 2] } }],
    ['the flag set to false', { [flag]: false, other: 1 }],
    ['the flag set to true', { [flag]: true }],
  ])('is restored to the previous value: %s', async (_, before) => {
    const kube = fakeKube().put(etcdCluster.kind, etcdWith(before));
    const overridden = await kube.patch(etcdCluster, overridePatch(before), signal);
    expect(isOverridden(overridden)).toBe(true);
    expect(recordedBefore(overridden)).toEqual({ before });
    expect(isRestored(overridden, before)).toBe(false);
    const restored = await kube.patch(etcdCluster, restorePatch(overridden, before), signal);
    expect(isRestored(restored, before)).toBe(true);
    expect(overridesOf(restored)).toEqual(before);
    expect(restored.metadata.annotations).toEqual({});
    expect(restored).toMatchObject({ spec: { managementState: 'Managed' } });
    expect(recordedBefore(restored)).toBeUndefined();
  });

  it('keeps what another client has set since when it is restored', async () => {
    const etcd = etcdWith({ [flag]: true, later: 1 }, 'null');
    const kube = fakeKube().put(etcdCluster.kind, etcd);
    const restored = await kube.patch(etcdCluster, restorePatch(etcd, null), signal);
    expect(overridesOf(restored)).toEqual({ later: 1 });
  });

  it('treats an unreadable record as no previous overrides', () => {
    expect(recordedBefore(etcdWith({ [flag]: true }, '{"a'))).toEqual({ before: null });
  });

  it.each([[null], [undefined], [[]], ['text'], [{ [flag]: 'true' }]])(
    'is not set in %j',
    (overrides) => {
      expect(isOverridden(etcdWith(overrides))).toBe(false);
    },
  );
});

type Condition = readonly [type: string, status: string, reason?: string, message?: string];

const withConditions = (
  name: string,
  conditions: readonly Condition[],
  labels: Readonly<Record<string, string>> = {},
): KubeObject => ({
  metadata: { name, labels },
  status: {
    conditions: conditions.map(([type, status, reason, message]) => ({
      type,
      status,
      reason,
      message,
    })),
  },
});

const etcd = (...conditions: readonly Condition[]) => withConditions('cluster', conditions);

describe('etcdHandover', () => {
  it.each<[string, readonly Condition[], boolean, string]>([
    [
      'no conditions',
      [],
      false,
      'etcd does not run in the cluster: the etcd operator has not reported',
    ],
    [
      'too few members',
      [
        [
          'EtcdRunningInCluster',
          'False',
          'NotEnoughEtcdMembers',
          'still waiting for three healthy etcd members',
        ],
      ],
      false,
      'still waiting for three healthy etcd members',
    ],
    [
      'enough members while the bootstrap member remains',
      [['EtcdRunningInCluster', 'True', 'EnoughEtcdMembers', 'enough members found']],
      false,
      'etcd still has a member on the bootstrap host',
    ],
    [
      'the bootstrap member removed',
      [
        ['EtcdRunningInCluster', 'True', 'EnoughEtcdMembers'],
        ['EtcdBootstrapMemberRemoved', 'True', 'BootstrapMemberRemoved'],
      ],
      true,
      'etcd has left the bootstrap host',
    ],
    [
      'the misspelled condition of the first releases',
      [
        ['EtcdRunningInCluster', 'True', 'EnoughEtcdMembers'],
        ['EtcdBoostrapMemberRemoved', 'True', 'BootstrapMemberRemoved'],
      ],
      true,
      'etcd has left the bootstrap host',
    ],
    [
      'the removal given only as a reason',
      [['EtcdRunningInCluster', 'True', 'BootstrapAlreadyRemoved']],
      true,
      'etcd has left the bootstrap host',
    ],
    [
      'a bootstrap member that the operator fails to remove',
      [
        ['EtcdRunningInCluster', 'True', 'EnoughEtcdMembers', 'enough members found'],
        ['BootstrapTeardownDegraded', 'True', 'Error', 'error while removing bootstrap member'],
      ],
      false,
      'etcd still has a member on the bootstrap host: error while removing bootstrap member',
    ],
    [
      'the bootstrap member removed while etcd does not run',
      [
        ['EtcdRunningInCluster', 'False', 'NotEnoughEtcdMembers', 'waiting'],
        ['EtcdBootstrapMemberRemoved', 'True'],
      ],
      false,
      'waiting',
    ],
  ])('with %s', (...[, conditions, isReached, expected]) => {
    const { isReached: isSeen, status } = etcdHandover(etcd(...conditions));
    expect(isSeen).toBe(isReached);
    expect(status).toContain(expected);
  });
});

const pod = (name: string, isReady = true, label = 'app'): KubeObject =>
  withConditions(name, [['Ready', isReady ? 'True' : 'False']], { [label]: 'etcd' });

const three = [pod('etcd-m1'), pod('etcd-m2'), pod('etcd-m3')];

describe('threeHealthyMembers', () => {
  it.each<[string, KubeObject | undefined, readonly KubeObject[], boolean, string]>([
    ['no pods', etcd(), [], false, '0 of 3 etcd members ready'],
    [
      'one pod not ready',
      etcd(),
      [...three.slice(1), pod('etcd-m1', false)],
      false,
      '2 of 3 etcd members ready: etcd-m1 not ready',
    ],
    [
      'a ready pod with another label',
      etcd(),
      [
        ...three.slice(1),
        withConditions('installer-2-m1', [['Ready', 'True']], { app: 'installer' }),
      ],
      false,
      '2 of 3 etcd members ready',
    ],
    [
      'three ready pods with the old label',
      etcd(),
      ['m1', 'm2', 'm3'].map((name) => pod(name, true, 'k8s-app')),
      true,
      '3 etcd members are healthy',
    ],
    ['no etcd object', undefined, three, false, 'there is no etcd/cluster yet'],
    [
      'EtcdMembersAvailable=False',
      etcd(['EtcdMembersAvailable', 'False', 'x', 'no quorum']),
      three,
      false,
      'etcd is not available: no quorum',
    ],
    [
      'EtcdMembersDegraded=True',
      etcd(['EtcdMembersDegraded', 'True', 'UnhealthyMembers', 'm2 is unhealthy']),
      three,
      false,
      'etcd is degraded: m2 is unhealthy',
    ],
    [
      'EtcdMembersAvailable=True and EtcdMembersDegraded=False',
      etcd(['EtcdMembersAvailable', 'True'], ['EtcdMembersDegraded', 'False']),
      three,
      true,
      '3 etcd members are healthy',
    ],
  ])('with %s', (...[, object, pods, isReached, status]) => {
    expect(threeHealthyMembers(object, pods)).toEqual({ isReached, status });
  });
});

describe('etcdMembers', () => {
  const endpoints = (data: object): KubeObject => ({ metadata: { name: 'etcd-endpoints' }, data });
  const podOn = (nodeName: string): KubeObject => ({
    ...pod(`etcd-${nodeName}`),
    spec: { nodeName },
  });

  it('are those with the id of a member', () => {
    const data = { '8e9e05c52164694d': '192.0.2.1', ad1b2: '2001:DB8::2' };
    expect(etcdMembers(endpoints(data), [podOn('m0')])).toEqual({
      members: ['192.0.2.1', '2001:db8::2'],
      readyOn: new Set(['m0']),
    });
  });

  // Without an answer of etcd the operator lists the nodes.
  it.each(['m0', '0050568a1b2c'])('are unknown with the name of node %s in their place', (name) => {
    const data = { [name]: '192.0.2.1', '0050568a1b2d': '192.0.2.2' };
    expect(etcdMembers(endpoints(data), [podOn(name)])).toBeUndefined();
  });
});
