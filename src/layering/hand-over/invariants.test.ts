import { describe, expect, it } from 'vitest';
import {
  layeredCluster,
  type LayeredPool,
  masterBuild,
  masterImage,
  masterRendered,
} from '../../../test/layering/layered-pool.ts';
import { violationsOf } from './invariants.ts';
import { poolSnapshot } from './pool-status.ts';

const expected = { image: masterImage, rendered: masterRendered };
const broken = (change: LayeredPool) =>
  violationsOf(poolSnapshot('master', layeredCluster(change)), expected);

describe('the invariants of a layered pool', () => {
  it('hold for a pool without nodes', () => {
    expect(broken({ nodes: [] })).toEqual([]);
  });

  it('hold for a pool without the condition ImageBuildDegraded', () => {
    expect(broken({ conditions: { ImageBuildDegraded: '' } })).toEqual([]);
  });

  it.each<[string, LayeredPool, string, string]>([
    ['runs another image', { node: { currentImage: 'other' } }, 'I1', 'node m1 currentImage'],
    ['runs no image', { node: { currentImage: undefined } }, 'I1', 'node m1 currentImage'],
    ['has not finished', { node: { state: 'Working' } }, 'I1', 'node m1 state'],
    ['has no desired image', { node: { desiredImage: undefined } }, 'I2', 'node m1 desiredImage'],
    ['has another current config', { node: { currentConfig: 'x' } }, 'I4', 'node m1 currentConfig'],
    ['has another desired config', { node: { desiredConfig: 'x' } }, 'I4', 'node m1 desiredConfig'],
    [
      'has too few updated machines',
      { poolStatus: { updatedMachineCount: 1 } },
      'I7',
      'pool updatedMachineCount',
    ],
    [
      'has an unavailable machine',
      { poolStatus: { unavailableMachineCount: 1 } },
      'I7',
      'pool unavailableMachineCount',
    ],
    ['is not updated', { conditions: { Updated: 'False' } }, 'I7', 'pool Updated'],
    ['is still updating', { conditions: { Updating: 'True' } }, 'I7', 'pool Updating'],
    ['is degraded', { conditions: { Degraded: 'True' } }, 'I7', 'pool Degraded'],
    [
      'has a failed build',
      { conditions: { ImageBuildDegraded: 'True' } },
      'I7',
      'pool ImageBuildDegraded',
    ],
    ['has a running build job', { jobs: [`build-${masterBuild}`] }, 'I7', 'build jobs'],
    [
      'has a newer config',
      { pool: { configuration: { name: 'x' } } },
      'I4',
      'MachineConfigPool configuration',
    ],
    ['has no image', { osConfig: { status: {} } }, 'I3', 'MachineOSConfig image'],
    ['has no build', { build: { metadata: { name: 'other' } } }, 'I3', 'MachineOSBuild image'],
    ['has an unfinished build', { build: { status: {} } }, 'I3', 'MachineOSBuild image'],
  ])('are violated when a node or the pool %s', (...[, change, id, of]) => {
    expect(broken(change)[0]).toMatchObject({ id, of });
  });

  it('ignore the build jobs of other pools', () => {
    expect(broken({ jobs: ['build-worker-0', 'other'] })).toEqual([]);
  });

  it('are violated for an unknown pool', () => {
    const snapshot = poolSnapshot('none', layeredCluster());
    const ids = violationsOf(snapshot, { image: '', rendered: '' }).map(({ id }) => id);
    expect(ids).toEqual(['I3', 'I4', 'I7']);
  });
});
