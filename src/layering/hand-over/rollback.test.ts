import { describe, expect, it } from 'vitest';
import { layeredCluster, masterBuild } from '../../../test/layering/layered-pool.ts';
import { planRollback } from './rollback.ts';

describe('planRollback', () => {
  it('takes back every node that has an image', () => {
    const plan = planRollback('master', layeredCluster({ nodes: ['m1', 'm2', 'm3'] }));
    expect(plan).toMatchObject({
      removesOsConfig: true,
      orphans: [],
      nodes: ['m1', 'm2', 'm3'],
    });
    expect(plan.notes.join()).not.toContain('etcd');
  });

  it('removes a build that nobody owns, which would stay behind', () => {
    const build = { metadata: { name: masterBuild } };
    expect(planRollback('master', layeredCluster({ build }))).toMatchObject({
      removesOsConfig: true,
      orphans: [masterBuild],
    });
  });

  it('removes what is left when the MachineOSConfig is gone', () => {
    const cluster = { ...layeredCluster(), osConfigs: [] };
    expect(planRollback('master', cluster)).toMatchObject({
      removesOsConfig: false,
      orphans: [masterBuild],
      nodes: ['m1', 'm2'],
    });
  });

  it('removes what would lead new nodes to the image, also when all else is gone', () => {
    const name = '99-bootwright-os-repository-worker';
    const configs = ['99-worker-ssh', name, '99-bootwright-os-repository-infra'];
    const plan = planRollback('worker', layeredCluster(), configs);
    expect(plan).toMatchObject({ removesOsConfig: false, orphans: [], repositoryConfig: name });
    expect(plan.notes).toContain(
      'new nodes of the pool boot the OS of the release, except hosts that are installed with layering.repository',
    );
    expect(planRollback('master', layeredCluster(), configs).repositoryConfig).toBeUndefined();
  });

  it('has nothing to do before a hand-over', () => {
    expect(planRollback('worker', layeredCluster())).toEqual({
      pool: 'worker',
      removesOsConfig: false,
      orphans: [],
      repositoryConfig: undefined,
      nodes: [],
      notes: [],
    });
  });

  it('warns of masters that are too few, and of a pool that is paused', () => {
    const plan = planRollback('master', layeredCluster({ pool: { paused: true } }));
    expect(plan.notes).toContain('the pool is paused: no node changes until it is unpaused');
    expect(plan.notes).toContain('only 2 masters are Ready: a restart of one may stop etcd');
  });
});
