import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { releaseOs } from '../../layering/plan.ts';
import { keyOf } from '../../layering/objects.ts';
import { type NodeState, type PoolState, violationsOf, violationsOfFallback } from './oracle.ts';

const final = `r.test/ocl/master@sha256:${'a'.repeat(64)}`;
const rendered = 'rendered-master-1';
const annotations = {
  [keyOf('currentConfig')]: rendered,
  [keyOf('desiredConfig')]: rendered,
  [keyOf('currentImage')]: final,
  [keyOf('desiredImage')]: final,
  [keyOf('state')]: 'Done',
};
const nodeWith = (change: Readonly<Record<string, string>>): KubeObject => ({
  metadata: { name: 'm1', annotations: { ...annotations, ...change } },
});
const node: NodeState = {
  name: 'm1',
  node: nodeWith({}),
  booted: final,
  recorded: final,
  kernelArguments: ['ignition.platform.id=metal', 'psi=0'],
};
const counts = {
  machineCount: 1,
  updatedMachineCount: 1,
  readyMachineCount: 1,
  unavailableMachineCount: 0,
  degradedMachineCount: 0,
};
const specOf = (name: string): object => ({ configuration: { name } });
const poolWith = (status: object, conditions: object = {}): KubeObject => ({
  metadata: { name: 'master' },
  spec: specOf(rendered),
  status: {
    ...counts,
    ...status,
    conditions: Object.entries({
      Updated: 'True',
      Updating: 'False',
      Degraded: 'False',
      ...conditions,
    }).map(([type, value]) => ({ type, status: value })),
  },
});
const osConfig: KubeObject = {
  metadata: { name: 'master', annotations: { [keyOf('current-machine-os-build')]: 'build' } },
  status: { currentImagePullSpec: final },
};
const build: KubeObject = {
  metadata: { name: 'build' },
  spec: { machineConfig: { name: rendered } },
  status: { digestedImagePushSpec: final },
};
const good: PoolState = {
  pool: 'master',
  final,
  rendered,
  kernelArguments: ['psi=0'],
  machineConfigPool: poolWith({}),
  osConfig,
  builds: [build],
  jobs: ['something-else'],
  nodes: [node],
  refusals: [],
};
const withNode = (change: Partial<NodeState>) => ({ nodes: [{ ...node, ...change }] });
const annotated = (key: string, value: string) =>
  withNode({ node: nodeWith({ [keyOf(key)]: value }) });

describe('violationsOf', () => {
  it('returns nothing for a pool at rest', () => {
    expect(violationsOf(good)).toEqual([]);
  });

  it.each<readonly [string, Partial<PoolState>, string]>([
    ['boots another image', withNode({ booted: 'other' }), 'I1'],
    ['reports another image', annotated('currentImage', 'other'), 'I2'],
    ['records another image on its disk', withNode({ recorded: '' }), 'I2'],
    ['has a MachineOSConfig without status', { osConfig: { ...osConfig, status: {} } }, 'I3'],
    ['is built for another config', { builds: [{ ...build, spec: {} }] }, 'I4'],
    ['lacks a kernel argument', withNode({ kernelArguments: [] }), 'I5'],
    ['has an image that is refused', { refusals: ['denied'] }, 'I6'],
    ['is updating', { machineConfigPool: poolWith({}, { Updating: 'True' }) }, 'I7'],
    [
      'is still paused',
      { machineConfigPool: { ...poolWith({}), spec: { ...specOf(rendered), paused: true } } },
      'I7',
    ],
  ])('reports a pool or node that %s', (_, change, id) => {
    expect(violationsOf({ ...good, ...change })).toEqual([
      expect.stringMatching(new RegExp(`^invariant ${id} of pool master: `)),
    ]);
  });

  it('reports a pool whose image was never pushed', () => {
    expect(violationsOf({ ...good, final: '' })).toEqual([
      'pool master has no image in its repository',
    ]);
  });
});

describe('violationsOfFallback', () => {
  const node = {
    name: 'm1',
    node: { metadata: { name: 'm1' } },
    recorded: '',
    kernelArguments: [],
  };

  const pool: PoolState = {
    pool: 'master',
    final: '',
    rendered: 'rendered-master-1',
    kernelArguments: [],
    machineConfigPool: undefined,
    osConfig: { metadata: { name: 'master' } },
    builds: [],
    jobs: ['build-master-1', 'build-worker-1'],
    nodes: [{ ...node, booted: releaseOs }],
    refusals: [],
  };

  const noted = { metadata: { name: 'm1', annotations: { [keyOf('desiredImage')]: 'x' } } };

  it.each<[string, Partial<PoolState>, string | undefined]>([
    ['returns nothing for a pool that fell back', {}, undefined],
    ['reports a node that runs an image', { nodes: [{ ...node, booted: 'x' }] }, 'node m1 runs x'],
    [
      'reports a node with a desired image',
      { nodes: [{ ...node, booted: releaseOs, node: noted }] },
      'node m1 has desiredImage x',
    ],
    ['reports a missing MachineOSConfig', { osConfig: undefined }, 'it has no MachineOSConfig'],
    [
      'reports a missing build job',
      { jobs: ['build-worker-1'] },
      '0 jobs build for it instead of one',
    ],
  ])('%s', (_, change, what) => {
    const found = violationsOfFallback({ ...pool, ...change });
    expect(found).toEqual(
      what === undefined
        ? []
        : [expect.stringContaining(`pool master was to fall back: ${what}`) as string],
    );
  });
});
