import { describe, expect, it } from 'vitest';
import { stockImage } from '../../layering/plan.ts';
import { keyOf } from './objects.ts';
import type { JudgedPool } from './oracle.ts';
import { violationsOfStock } from './stock-oracle.ts';

const node = { name: 'm1', node: { metadata: { name: 'm1' } }, recorded: '', kernelArguments: [] };
const pool: JudgedPool = {
  pool: 'master',
  final: '',
  rendered: 'rendered-master-1',
  kernelArguments: [],
  machineConfigPool: undefined,
  osConfig: { metadata: { name: 'master' } },
  builds: [],
  jobs: ['build-master-1', 'build-worker-1'],
  nodes: [{ ...node, booted: stockImage }],
  refusals: [],
};
const noted = { metadata: { name: 'm1', annotations: { [keyOf('desiredImage')]: 'x' } } };

describe('violationsOfStock', () => {
  it.each<[string, Partial<JudgedPool>, string | undefined]>([
    ['a pool that fell back', {}, undefined],
    ['an image that runs', { nodes: [{ ...node, booted: 'x' }] }, 'node m1 runs x'],
    ['a node that never started', { nodes: [{ ...node, booted: '' }] }, 'node m1 runs nothing'],
    [
      'a record',
      { nodes: [{ ...node, booted: stockImage, recorded: 'x' }] },
      'the disk of node m1 records x',
    ],
    [
      'a node that is to run an image',
      { nodes: [{ ...node, booted: stockImage, node: noted }] },
      'node m1 has desiredImage x',
    ],
    ['nothing that asks for a build', { osConfig: undefined }, 'it has no MachineOSConfig'],
    [
      'an image that nobody has built',
      { osConfig: { metadata: { name: 'master' }, status: { currentImagePullSpec: 'x' } } },
      'its MachineOSConfig names x',
    ],
    ['no build', { jobs: ['build-worker-1'] }, '0 jobs build for it instead of one'],
    ['two builds', { jobs: ['build-master-1', 'build-master-2'] }, '2 jobs build for it'],
  ])('tells of %s', (_, change, what) => {
    const found = violationsOfStock({ ...pool, ...change });
    expect(found).toEqual(
      what === undefined
        ? []
        : [expect.stringContaining(`pool master was to fall back: ${what}`) as string],
    );
  });
});
