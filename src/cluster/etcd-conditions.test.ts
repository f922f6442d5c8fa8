import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../ports/kube.ts';
import { etcdHandover, threeHealthyMembers } from './etcd-conditions.ts';

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

describe('whether etcd has left the bootstrap host', () => {
  it.each<[string, readonly Condition[], boolean, string]>([
    ['no condition', [], false, 'etcd does not run in the cluster: the etcd operator has not said'],
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
      'enough members, the bootstrap one still there',
      [['EtcdRunningInCluster', 'True', 'EnoughEtcdMembers', 'enough members found']],
      false,
      'etcd still has a member on the bootstrap host',
    ],
    [
      'the member removed',
      [
        ['EtcdRunningInCluster', 'True', 'EnoughEtcdMembers'],
        ['EtcdBootstrapMemberRemoved', 'True', 'BootstrapMemberRemoved'],
      ],
      true,
      'etcd has left the bootstrap host',
    ],
    [
      'the member removed, as the first releases spell it',
      [
        ['EtcdRunningInCluster', 'True', 'EnoughEtcdMembers'],
        ['EtcdBoostrapMemberRemoved', 'True', 'BootstrapMemberRemoved'],
      ],
      true,
      'etcd has left the bootstrap host',
    ],
    [
      'the member removed, said by the reason alone',
      [['EtcdRunningInCluster', 'True', 'BootstrapAlreadyRemoved']],
      true,
      'etcd has left the bootstrap host',
    ],
    [
      'a removal while etcd does not run',
      [
        ['EtcdRunningInCluster', 'False', 'NotEnoughEtcdMembers', 'waiting'],
        ['EtcdBootstrapMemberRemoved', 'True'],
      ],
      false,
      'waiting',
    ],
  ])('with %s', (...[, conditions, isReached, status]) => {
    const standing = etcdHandover(etcd(...conditions));
    expect(standing.isReached).toBe(isReached);
    expect(standing.status).toContain(status);
  });

  it('is not known of an object without a status', () => {
    expect(etcdHandover({ metadata: { name: 'cluster' } }).isReached).toBe(false);
  });
});

const pod = (name: string, isReady = true, label = 'app'): KubeObject =>
  withConditions(name, [['Ready', isReady ? 'True' : 'False']], { [label]: 'etcd' });

const three = [pod('etcd-m1'), pod('etcd-m2'), pod('etcd-m3')];

describe('whether three members are healthy', () => {
  it.each<[string, KubeObject | undefined, readonly KubeObject[], boolean, string]>([
    ['no pod', etcd(), [], false, '0 of 3 etcd members ready'],
    [
      'one not ready',
      etcd(),
      [...three.slice(1), pod('etcd-m1', false)],
      false,
      '2 of 3 etcd members ready: etcd-m1 not ready',
    ],
    [
      'pods of something else beside them',
      etcd(),
      [
        ...three.slice(1),
        withConditions('installer-2-m1', [['Ready', 'True']], { app: 'installer' }),
      ],
      false,
      '2 of 3 etcd members ready',
    ],
    ['three ready', etcd(), three, true, '3 etcd members are healthy'],
    [
      'three ready with the older label',
      etcd(),
      ['m1', 'm2', 'm3'].map((name) => pod(name, true, 'k8s-app')),
      true,
      '3 etcd members are healthy',
    ],
    ['no object', undefined, three, false, 'the etcd operator has no object yet'],
    [
      'an operator that says it is not available',
      etcd(['EtcdMembersAvailable', 'False', 'x', 'no quorum']),
      three,
      false,
      'etcd is not available: no quorum',
    ],
    [
      'an operator that says it is degraded',
      etcd(['EtcdMembersDegraded', 'True', 'UnhealthyMembers', 'm2 is unhealthy']),
      three,
      false,
      'etcd is degraded: m2 is unhealthy',
    ],
    [
      'an operator that is content',
      etcd(['EtcdMembersAvailable', 'True'], ['EtcdMembersDegraded', 'False']),
      three,
      true,
      '3 etcd members are healthy',
    ],
  ])('with %s', (...[, object, pods, isReached, status]) => {
    expect(threeHealthyMembers(object, pods)).toEqual({ isReached, status });
  });
});
