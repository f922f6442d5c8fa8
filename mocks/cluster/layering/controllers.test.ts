import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/ports/kube.ts';
import {
  ACTS_AFTER_MILLIS,
  decideControllers,
  poolStatus,
  type PoolView,
  wrongWithRollOut,
} from './controllers.ts';
import { keyOf } from '../../layering/objects.ts';

const image = 'r.test/ocl/master@sha256:1';
const rendered = 'rendered-master-1';

interface NodeShape {
  readonly name?: string;
  readonly current?: string;
  readonly desired?: string;
  readonly state?: string;
  readonly isReady?: boolean;
}

function nodeOf(shape: NodeShape = {}): KubeObject {
  const { name = 'm1', current = image, desired = current, state = 'Done', isReady = true } = shape;
  const images = { currentImage: current, desiredImage: desired };
  const all = { ...images, currentConfig: rendered, desiredConfig: rendered, state };
  return {
    metadata: {
      name,
      annotations: Object.fromEntries(
        Object.entries(all).flatMap(([key, value]) => (value === '' ? [] : [[keyOf(key), value]])),
      ),
    },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  };
}

const release = { current: '' };
const paused = { spec: { configuration: { name: rendered }, paused: true } };
const osConfig: KubeObject = {
  metadata: { name: 'master', annotations: { [keyOf('current-machine-os-build')]: 'b' } },
  status: { currentImagePullSpec: image },
};
const build: KubeObject = {
  metadata: { name: 'b', labels: { [keyOf('pre-built-image')]: 'true' } },
  spec: { machineConfig: { name: rendered } },
};
const pool: KubeObject = {
  metadata: { name: 'master' },
  spec: { configuration: { name: rendered } },
};
const layered: PoolView = {
  pool,
  isDue: true,
  osConfig,
  orderedForMillis: ACTS_AFTER_MILLIS,
  builds: [build],
  pickedUp: [],
  nodes: [nodeOf(), nodeOf({ name: 'm2' })],
  jobs: [],
};
const unlayered: PoolView = { ...layered, osConfig: undefined, builds: [] };
const startBuild = (because: string) => [{ kind: 'start-build', pool: 'master', because }];

describe('the controllers of the Machine Config Operator', () => {
  it.each<readonly [string, PoolView, readonly object[]]>([
    ['leave a pool alone that is as it should be', layered, []],
    [
      'leave a pool alone that is not rendered',
      { ...unlayered, pool: { metadata: pool.metadata } },
      [],
    ],
    ['wait a while for somebody who layers it', { ...unlayered, isDue: false }, []],
    [
      'take the image off one node of a pool that nobody layered',
      unlayered,
      [{ kind: 'take-image', node: 'm1' }],
    ],
    ['take nothing off nodes without an image', { ...unlayered, nodes: [nodeOf(release)] }, []],
    [
      'take the next one when the first is through',
      { ...unlayered, nodes: [nodeOf({ desired: '' }), nodeOf({ name: 'm2' })] },
      [],
    ],
    [
      'roll an image out, one node at a time',
      {
        ...layered,
        nodes: [nodeOf(), nodeOf({ name: 'w1', ...release }), nodeOf({ name: 'w2', ...release })],
      },
      [{ kind: 'roll-out', node: 'w1', image }],
    ],
    [
      'wait for a node that is away',
      { ...layered, nodes: [nodeOf({ isReady: false }), nodeOf({ name: 'w1', ...release })] },
      [],
    ],
    [
      'wait for the image of a build that is there',
      { ...layered, osConfig: { ...osConfig, status: {} } },
      [],
    ],
    [
      'build where a MachineOSConfig names no build',
      { ...layered, osConfig: { metadata: { name: 'master' } } },
      startBuild('it names no build'),
    ],
    [
      'build where the named one is not there',
      { ...layered, builds: [] },
      startBuild('there is no build b'),
    ],
    [
      'build where it is of another MachineConfig',
      { ...layered, builds: [{ ...build, spec: { machineConfig: { name: 'old' } } }] },
      startBuild('build b is of old'),
    ],
    [
      'build where it is neither finished nor marked as built elsewhere',
      { ...layered, builds: [{ ...build, metadata: { name: 'b' } }] },
      startBuild('build b is not finished'),
    ],
    [
      'roll nothing out in a pool that is paused',
      { ...layered, pool: { ...pool, ...paused }, nodes: [nodeOf(release)] },
      [],
    ],
    [
      'take no image off in a pool that is paused',
      { ...unlayered, pool: { ...pool, ...paused } },
      [],
    ],
    [
      'build for a pool that is paused',
      { ...layered, pool: { ...pool, ...paused }, builds: [] },
      startBuild('there is no build b'),
    ],
    ['take a while to build', { ...layered, builds: [], orderedForMillis: 4999 }, []],
    [
      'start a job for a build that came while the builder ran',
      { ...layered, pickedUp: ['b'] },
      [{ kind: 'start-job', build: 'b' }],
    ],
    ['start that job once', { ...layered, pickedUp: ['b'], jobs: ['build-b'] }, []],
    ['build once', { ...layered, builds: [], jobs: ['build-master-x'] }, []],
  ])('%s', (_, view, actions) => {
    expect(decideControllers(view)).toEqual(actions);
  });
});

describe('poolStatus', () => {
  const isTrue = (view: PoolView): readonly string[] =>
    poolStatus(view).conditions.flatMap(({ type, status }) => (status === 'True' ? [type] : []));

  it.each<readonly [string, PoolView, readonly number[], readonly string[]]>([
    ['is content', layered, [2, 2, 2, 0, 0], ['Updated']],
    ['counts no node', { ...layered, nodes: [] }, [0, 0, 0, 0, 0], ['Updated']],
    [
      'waits for a node on the system of the release',
      { ...layered, nodes: [nodeOf(), nodeOf({ name: 'm2', ...release })] },
      [2, 1, 1, 0, 0],
      ['Updating'],
    ],
    [
      'waits for a node that is at work',
      { ...layered, nodes: [nodeOf({ state: 'Working' })] },
      [1, 0, 0, 1, 0],
      ['Updating'],
    ],
    [
      'tells of a node that is degraded',
      { ...layered, nodes: [nodeOf({ state: 'Degraded' })] },
      [1, 0, 0, 1, 1],
      ['Updating', 'Degraded', 'NodeDegraded'],
    ],
    [
      'is neither updated nor updating while it is paused',
      { ...layered, pool: { ...pool, ...paused }, nodes: [nodeOf(release)] },
      [1, 0, 0, 0, 0],
      [],
    ],
    ['waits for a build', { ...layered, builds: [] }, [2, 2, 2, 0, 0], ['Updating']],
    [
      'is content without layers',
      { ...unlayered, nodes: [nodeOf(release)] },
      [1, 1, 1, 0, 0],
      ['Updated'],
    ],
  ])('%s', (...[, view, counts, conditions]) => {
    const { machineCount, updatedMachineCount, ...rest } = poolStatus(view);
    const { readyMachineCount, unavailableMachineCount, degradedMachineCount } = rest;
    expect([
      machineCount,
      updatedMachineCount,
      readyMachineCount,
      unavailableMachineCount,
      degradedMachineCount,
    ]).toEqual(counts);
    expect(isTrue(view)).toEqual(conditions);
  });
});

const masterNode = (name: string, role: string): KubeObject => ({
  metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' } },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});
const [m1, m2, w1] = [
  masterNode('m1', 'master'),
  masterNode('m2', 'master'),
  masterNode('w1', 'worker'),
];

it.each([
  ['three masters', 'master', [m1, m2, masterNode('m3', 'master'), w1], []],
  ['two masters and an arbiter', 'master', [m1, m2, masterNode('a1', 'arbiter')], []],
  [
    'two masters',
    'master',
    [m1, m2, w1],
    ['the roll-out of pool master began although of the masters only 2 were Ready'],
  ],
  ['workers beside two masters', 'worker', [m1, m2, w1], []],
])('lets the operator at a pool: %s', (...[, pool, nodes, incidents]) => {
  expect(wrongWithRollOut(pool, nodes)).toEqual(incidents);
});
