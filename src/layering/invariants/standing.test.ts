import { describe, expect, it } from 'vitest';
import {
  layeredCluster,
  masterBuild,
  masterImage,
  masterRendered,
} from '../../../test/layering/layered-pool.ts';
import { standingOfPool } from './standing.ts';

describe('standingOfPool', () => {
  it('tells all of a pool that is layered', () => {
    expect(standingOfPool('master', layeredCluster({ nodes: ['m1'] }))).toEqual({
      pool: 'master',
      isLayered: true,
      isPaused: false,
      rendered: masterRendered,
      pushSpec: 'registry.example.com/ocl/master:latest',
      build: { name: masterBuild, phase: 'Succeeded' },
      image: masterImage,
      nodes: [{ name: 'm1', state: 'Done', currentImage: masterImage, desiredImage: masterImage }],
      breaches: [],
    });
  });

  it('knows no breach of a pool that is not layered', () => {
    expect(standingOfPool('worker', layeredCluster())).toMatchObject({
      isLayered: false,
      breaches: [],
      build: { name: '', phase: '' },
    });
  });

  it.each([
    [{ status: {} }, 'not started'],
    [{ status: { conditions: [{ type: 'Building', status: 'True' }] } }, 'Building'],
  ])('tells how far a build has come', (build, phase) => {
    const standing = standingOfPool('master', layeredCluster({ build, pool: { paused: true } }));
    expect(standing.build.phase).toBe(phase);
    expect(standing.isPaused).toBe(true);
  });
});
