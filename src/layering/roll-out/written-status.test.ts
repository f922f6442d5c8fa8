import { describe, expect, it } from 'vitest';
import { poolObject } from '../../../test/layering/layered-pool.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { nodeKeys } from '../api/cluster-object.ts';
import { buildKeys } from '../api/os-build.ts';
import type { PoolSnapshot } from '../hand-over/invariants.ts';
import { rolledBackKey } from './image-origin.ts';
import { writtenStatus } from './written-status.ts';

const now = Date.parse('2026-11-23T12:00:00.5Z');
const time = '2026-11-23T12:00:00Z';
const configuration = { name: 'r2', source: [{ name: '00-w' }] };

interface Traits {
  readonly state?: string;
  readonly has?: string;
  readonly wants?: string;
  readonly image?: string;
  readonly reason?: string;
  readonly ready?: string;
  readonly isCordoned?: boolean;
  readonly more?: readonly object[];
}

const node = (name: string, traits: Traits = {}): KubeObject => {
  const { state = 'Done', wants = 'r2', has = wants, image } = traits;
  const images =
    image === undefined ? {} : { [nodeKeys.currentImage]: image, [nodeKeys.desiredImage]: image };
  return {
    metadata: {
      name,
      annotations: {
        ...{ [nodeKeys.state]: state, [nodeKeys.reason]: traits.reason ?? '' },
        ...{ [nodeKeys.currentConfig]: has, [nodeKeys.desiredConfig]: wants, ...images },
      },
    },
    spec: traits.isCordoned === true ? { unschedulable: true } : {},
    status: {
      conditions: [{ type: 'Ready', status: traits.ready ?? 'True' }, ...(traits.more ?? [])],
    },
  };
};

const pool = (spec: object = {}, status: object = {}): KubeObject => ({
  ...poolObject('w', { configuration, ...spec }, status as never),
  metadata: { name: 'w', generation: 7 } as never,
});

const build = (phase: string, more: { config?: string; name?: string } = {}): KubeObject => ({
  metadata: { name: more.name ?? 'b' },
  spec: { machineConfig: { name: more.config ?? 'r2' } },
  status: {
    conditions: phase === '' ? [] : [{ type: phase, status: 'True', message: 'why' }],
    ...(phase === 'Succeeded' ? { digestedImagePushSpec: `i-${more.name ?? 'b'}` } : {}),
    buildEnd: '2026-01-01T00:00:00Z',
  },
});
const osConfig = (image: string, annotations: object = {}): KubeObject => ({
  metadata: { name: 'w', annotations: { [buildKeys.currentBuild]: 'b', ...annotations } },
  status: { currentImagePullSpec: image },
});

const statusOf = (
  snapshot: Partial<PoolSnapshot>,
  renderFailure = '',
): Readonly<Record<string, unknown>> | undefined =>
  writtenStatus({
    snapshot: {
      ...{ pool: 'w', machineConfigPool: pool(), osConfig: undefined },
      ...{ builds: [], nodes: [], jobs: [], ...snapshot },
    },
    ...{ renderFailure, now },
  });

/** Counts in the order machine, updated, ready, unavailable, degraded. */
const countsOf = (nodes: readonly KubeObject[]): readonly unknown[] => {
  const status = statusOf({ nodes });
  const of = ['machine', 'updatedMachine', 'readyMachine', 'unavailableMachine', 'degradedMachine'];
  return of.map((name) => status?.[`${name}Count`]);
};

type Texts = Readonly<Record<string, string>>;
const listOf = (status: Readonly<Record<string, unknown>> | undefined): readonly Texts[] =>
  (status?.['conditions'] ?? []) as readonly Texts[];
const conditionsOf = (snapshot: Partial<PoolSnapshot>, failure = ''): readonly string[] =>
  listOf(statusOf(snapshot, failure)).map(({ type, status, message }) =>
    `${type} ${status} ${message}`.trim(),
  );
const layered = (phase: string, image: string, more: Partial<PoolSnapshot> = {}) => ({
  ...{ osConfig: osConfig(image), builds: phase === 'none' ? [] : [build(phase)] },
  nodes: [node('a', { image: 'i-b' })],
  ...more,
});

describe('the status of a pool', () => {
  it.each<[string, readonly KubeObject[], readonly number[]]>([
    ['no nodes', [], [0, 0, 0, 0, 0]],
    ['nodes that have it', [node('a'), node('b')], [2, 2, 2, 0, 0]],
    ['a node that has another', [node('a', { wants: 'r1' })], [1, 0, 0, 0, 0]],
    ['a node on its way', [node('a', { has: 'r1', state: 'Working' })], [1, 0, 0, 1, 0]],
    ['a node that has it and is not Ready', [node('a', { ready: 'False' })], [1, 1, 0, 1, 0]],
    ['a cordoned node', [node('a', { isCordoned: true })], [1, 1, 0, 1, 0]],
    [
      'a node whose disk is full',
      [node('a', { more: [{ type: 'DiskPressure', status: 'True' }] })],
      [1, 1, 0, 1, 0],
    ],
    // The operator gives it something else, so it counts as there.
    ['a degraded node on its way', [node('a', { has: 'r1', state: 'Degraded' })], [1, 0, 0, 0, 1]],
    ['a degraded node that has it', [node('a', { state: 'Degraded' })], [1, 0, 0, 1, 1]],
    [
      'a node with the image of a pool that was layered',
      [node('a', { image: 'i' })],
      [1, 0, 0, 0, 0],
    ],
    ['a node without an agent', [node('a', { state: '', has: '', wants: '' })], [1, 0, 0, 1, 0]],
  ])('counts %s', (_, nodes, expected) => {
    expect(countsOf(nodes)).toEqual(expected);
  });

  it('names the configuration that all nodes have, and the generation that was seen', () => {
    const before = { configuration: { name: 'r1' } };
    const machineConfigPool = pool({}, before);
    expect(statusOf({ machineConfigPool, nodes: [node('a')] })).toMatchObject({
      ...{ observedGeneration: 7, configuration },
    });
    const waiting = statusOf({ machineConfigPool, nodes: [node('a', { wants: 'r1' })] });
    expect(waiting).not.toHaveProperty('configuration');
  });

  it('takes out of the configuration before what the new one has not', () => {
    const before = { configuration: { name: 'r1', uid: 'u', source: [] } };
    const status = statusOf({ machineConfigPool: pool({}, before), nodes: [node('a')] });
    expect(status?.['configuration']).toEqual({ ...configuration, uid: null });
  });

  it.each<[string, Partial<PoolSnapshot>, readonly string[], string?]>([
    [
      'that is up to date',
      { nodes: [node('a')] },
      [
        'RenderDegraded False',
        'Updated True All nodes are updated with MachineConfig r2',
        'Updating False',
        'NodeDegraded False',
        'Degraded False',
      ],
    ],
    [
      'that rolls out',
      { nodes: [node('a', { wants: 'r1' })] },
      [
        'RenderDegraded False',
        'Updated False',
        'Updating True All nodes are updating to MachineConfig r2',
        'NodeDegraded False',
        'Degraded False',
      ],
    ],
    [
      'that is paused',
      { machineConfigPool: pool({ paused: true }), nodes: [node('a', { wants: 'r1' })] },
      [
        'RenderDegraded False',
        'Updated False',
        'Updating False Pool is paused; will not update to MachineConfig r2',
        'NodeDegraded False',
        'Degraded False',
      ],
    ],
    [
      'with a degraded node',
      { nodes: [node('a', { has: 'r1', state: 'Degraded', reason: 'no "space"' })] },
      [
        'RenderDegraded False',
        'Updated False',
        'Updating True All nodes are updating to MachineConfig r2',
        'NodeDegraded True Node a is reporting: "no \\"space\\""',
        'Degraded True Node a is reporting: "no \\"space\\""',
      ],
    ],
    [
      'that cannot be rendered',
      { nodes: [node('a')] },
      [
        'RenderDegraded True Failed to render configuration for pool w: bad',
        'Updated True All nodes are updated with MachineConfig r2',
        'Updating False',
        'NodeDegraded False',
        'Degraded True',
      ],
      'bad',
    ],
    [
      'that was never rendered',
      { machineConfigPool: pool({ configuration: {} }), nodes: [node('a')] },
      ['RenderDegraded True Failed to render configuration for pool w: bad'],
      'bad',
    ],
  ])('has the conditions of one %s', (...[, snapshot, expected, failure = '']) => {
    expect(conditionsOf(snapshot, failure)).toEqual(expected);
  });

  it.each<[string, Partial<PoolSnapshot>, string, string]>([
    [
      'none',
      layered('none', 'i-b'),
      'True Pool is waiting for a new OS image build to start (mosc: w)',
      'False',
    ],
    [
      'not begun',
      layered('', 'i-b'),
      'True Pool is waiting for OS image build to start (mosb: b)',
      'True',
    ],
    [
      'prepared',
      layered('Prepared', 'i-b'),
      'True Pool is waiting for OS image build to start (mosb: b)',
      'False',
    ],
    [
      'building',
      layered('Building', 'i-b'),
      'True Pool is waiting for OS image build to complete (mosb: b)',
      'False',
    ],
    [
      'built, its image not named',
      layered('Succeeded', 'i-a'),
      'True Pool is waiting for nodes to apply OS image (mosb: b)',
      'False',
    ],
    ['built and rolled out', layered('Succeeded', 'i-b'), 'False', 'True'],
    [
      'failed',
      layered('Failed', 'i-b'),
      'False Pool update stopped due to OS image build failure (mosb: b)',
      'False',
    ],
    [
      'built, of a paused pool',
      layered('Succeeded', 'i-b', { machineConfigPool: pool({ paused: true }) }),
      'False Pool is paused; OS image build completed successfully (mosb: b)',
      'True',
    ],
    [
      'building, of a paused pool',
      layered('Building', 'i-b', { machineConfigPool: pool({ paused: true }) }),
      'True Pool is paused; OS image build in progress (mosb: b)',
      'False',
    ],
  ])('of a layered pool follows its build: %s', (...[, snapshot, updating, updated]) => {
    const conditions = conditionsOf(snapshot);
    expect(conditions).toContain(`Updating ${updating}`);
    expect(conditions.find((one) => one.startsWith('Updated'))).toContain(`Updated ${updated}`);
  });

  it('says that a build failed, and takes that back with the next one', () => {
    const failed = layered('Failed', 'i-b');
    expect(conditionsOf(failed)).toContain(
      'ImageBuildDegraded True Failed to build OS image for pool w (MachineOSBuild: b): why',
    );
    expect(conditionsOf(failed)).toContain('Degraded True Custom OS image build failed');
    const machineConfigPool = pool({}, statusOf(failed));
    const next = conditionsOf(layered('Building', 'i-b', { machineConfigPool }));
    expect(next).toContain('ImageBuildDegraded False New build started');
    expect(next).toContain('Degraded False');
  });

  it('of a pool that was rolled back is up to date with the build before', () => {
    const builds = [build('Succeeded'), build('Succeeded', { name: 'a', config: 'r1' })];
    const status = {
      ...{ osConfig: osConfig('i-b', { [rolledBackKey]: 'b' }), builds },
      nodes: [node('a', { wants: 'r1', image: 'i-a' })],
    };
    expect(conditionsOf(status)).toContain(
      'Updated True All nodes are updated with MachineConfig r1 / Image i-a',
    );
    expect(statusOf(status)).not.toHaveProperty('configuration');
  });

  it('is left once it says so, and keeps the time of a condition whose status stays', () => {
    const nodes = [node('a'), node('b', { wants: 'r1' })];
    const first = statusOf({ nodes });
    const machineConfigPool = pool({}, first);
    expect(statusOf({ machineConfigPool, nodes })).toBeUndefined();
    const old = listOf(first).map((one) => ({
      ...one,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }));
    const paused = statusOf({
      nodes,
      machineConfigPool: pool({ paused: true }, { ...first, conditions: old }),
    });
    const times = listOf(paused).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]);
    expect(Object.fromEntries(times)).toMatchObject({
      ...{ Updated: '2026-01-01T00:00:00Z', Updating: time },
    });
  });
});
