import { describe, expect, it } from 'vitest';
import type { HostPhase, Member } from './cluster-state.ts';
import { etcdConditions, type EtcdProgress, hasEnoughMembers } from './etcd.ts';

const member = (role: Member['role'], isBootstrap = false): Member => ({
  name: `${role}-${isBootstrap ? 'b' : 'x'}`,
  role,
  isBootstrap,
});

/** How many others must be Ready before the bootstrap host's member may go. */
function neededOf(roles: readonly Member['role'][], override?: 'missing' | 'set'): number {
  const others = roles.map((role, index) => ({ ...member(role), name: `n${index}` }));
  const plan = {
    members: [member('master', true), ...others],
    needsEtcdOverride: override !== undefined,
  };
  const phasesOf = (ready: number): Record<string, HostPhase> =>
    Object.fromEntries(
      others.map(({ name }, index) => [name, index < ready ? 'ready' : 'joining'] as const),
    );
  const isOverridden = override !== 'missing';
  for (let ready = 0; ready <= others.length; ready += 1) {
    if (hasEnoughMembers(plan, { phases: phasesOf(ready), isOverridden })) return ready;
  }
  return Number.POSITIVE_INFINITY;
}

describe('how many nodes etcd needs beside the bootstrap host', () => {
  it.each<[string, readonly Member['role'][], number]>([
    ['three masters', ['master', 'master'], 2],
    ['three masters, workers Ready first', ['worker', 'worker', 'master', 'master'], 4],
    ['five masters', ['master', 'master', 'master', 'master'], 2],
    ['two masters and an arbiter', ['master', 'arbiter'], 2],
    ['two masters', ['master'], 1],
  ])('%s', (_, roles, needed) => {
    expect(neededOf(roles)).toBe(needed);
  });

  it('of an old release is more than there are, or one when it is overridden', () => {
    const masters = ['master', 'master'] as const;
    expect(neededOf(masters, 'missing')).toBe(Infinity);
    expect(neededOf(masters, 'set')).toBe(1);
  });
});

describe('the conditions of its operator', () => {
  const written = (progress: EtcdProgress): readonly string[] =>
    etcdConditions(progress, new Date(0)).map((condition) => {
      const { type, status, reason } = condition as Readonly<Record<string, string>>;
      return `${type ?? ''}=${status ?? ''} ${reason ?? ''}`;
    });

  it.each<[EtcdProgress['phase'], boolean, readonly string[]]>([
    ['starting', true, ['EtcdRunningInCluster=False NotEnoughEtcdMembers']],
    ['running', true, ['EtcdRunningInCluster=True EnoughEtcdMembers']],
    [
      'removed',
      true,
      [
        'EtcdRunningInCluster=True EnoughEtcdMembers',
        'EtcdBootstrapMemberRemoved=True BootstrapMemberRemoved',
      ],
    ],
    [
      'removed-before',
      true,
      [
        'EtcdRunningInCluster=True BootstrapAlreadyRemoved',
        'EtcdBootstrapMemberRemoved=True BootstrapMemberRemoved',
      ],
    ],
    ['removed', false, ['EtcdRunningInCluster=True EnoughEtcdMembers']],
    ['removed-before', false, ['EtcdRunningInCluster=True BootstrapAlreadyRemoved']],
  ])('%s, with a condition for the removal: %s', (phase, hasRemovalCondition, expected) => {
    const all = written({ members: 2, phase, hasRemovalCondition });
    expect(all.slice(0, expected.length)).toEqual(expected);
    expect(all[expected.length]).toBe('BootstrapTeardownDegraded=False AsExpected');
  });

  it('count the member of the bootstrap host as long as it is there', () => {
    const messages = (phase: EtcdProgress['phase']) =>
      JSON.stringify(etcdConditions({ members: 2, phase, hasRemovalCondition: true }, new Date(0)));
    expect(messages('running')).toContain('3 members are available');
    expect(messages('removed')).toContain('2 members are available');
  });
});
