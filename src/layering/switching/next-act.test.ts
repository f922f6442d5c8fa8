import { describe, expect, it } from 'vitest';
import { nextSwitchAct, type PoolStanding, type SwitchAct } from './next-act.ts';
import type { NodeStanding } from './node-standing.ts';
import { type PodAct, podActs, type PodStanding } from './pods.ts';

type Pods = NodeStanding['pods'];

const pod = (act: PodAct, change: Partial<PodStanding> = {}): PodStanding => ({
  ...{ name: `pod-${act}`, act, isDone: true, hasFailed: false, bootId: 'b1', status: 'runs' },
  ...change,
});
const pods = (...some: readonly PodStanding[]): Pods =>
  Object.fromEntries(some.map((one) => [one.act, one]));
const running = { isDone: false };

const node = (name: string, change: Partial<NodeStanding> = {}): NodeStanding => ({
  name,
  bootId: 'b1',
  readiness: { isReady: true },
  state: 'Done',
  reason: '',
  hasConfig: true,
  isTold: false,
  drain: 'none',
  pods: {},
  leaving: [],
  ...change,
});
const staged = pods(pod('stage'));
const notReady = { isReady: false, reason: 'kubelet stopped posting status' } as const;
const switched = node('m1', { isTold: true, bootId: 'b2' });
/** Restarted into the image: another boot than that of its pods. */
const back = (change: Partial<NodeStanding> = {}, ...more: readonly PodStanding[]): NodeStanding =>
  node('m1', {
    ...{ isTold: true, bootId: 'b2', drain: 'drained' },
    pods: pods(pod('stage'), pod('record'), pod('restart'), ...more),
    ...change,
  });

/** An act in one line. */
function inWords(act: SwitchAct): string {
  switch (act.kind) {
    case 'start-pod':
      return `${act.act} ${act.node.name}`;
    case 'ask-drain':
      return `drain ${act.node.name}`;
    case 'remove-pod':
      return `remove ${act.pod.act} ${act.node.name}`;
    case 'wait':
      return `wait: ${act.why}`;
    case 'done':
      return 'done';
    default:
      return `${act.kind} ${act.node.name}`;
  }
}

const next = (nodes: readonly NodeStanding[], pool: Partial<PoolStanding> = {}): string =>
  inWords(nextSwitchAct({ nodes, objection: undefined, isOutdated: false, ...pool }));

describe('a node on its way to its image', () => {
  it.each<[string, NodeStanding, string]>([
    ['is new', node('m1'), 'stage m1'],
    [
      'has a pod of before that goes',
      node('m1', { leaving: ['stage'] }),
      'wait: m1: an earlier pod is being removed',
    ],
    [
      'stages',
      node('m1', { pods: pods(pod('stage', running)) }),
      'wait: m1: the pod that stages its image runs',
    ],
    ['has staged', node('m1', { pods: staged }), 'drain m1'],
    [
      'is to be drained',
      node('m1', { drain: 'draining', pods: staged }),
      'wait: m1 is being drained',
    ],
    ['is drained', node('m1', { drain: 'drained', pods: staged }), 'record m1'],
    ['is drained, its first pod with the others', node('m1', { drain: 'drained' }), 'record m1'],
    [
      'records',
      node('m1', { drain: 'drained', pods: pods(pod('record', running)) }),
      'wait: m1: the pod that records its image runs',
    ],
    ['has recorded', node('m1', { drain: 'drained', pods: pods(pod('record')) }), 'tell-image m1'],
    [
      'names its image',
      node('m1', { drain: 'drained', isTold: true, pods: pods(pod('record')) }),
      'restart m1',
    ],
    [
      'was put back to work by somebody meanwhile',
      node('m1', { isTold: true, pods: pods(pod('record')) }),
      'drain m1',
    ],
    [
      'restarts',
      back({ bootId: 'b1', readiness: notReady }, pod('restart', running)),
      'wait: m1: the pod that restarts it runs',
    ],
    [
      'found that it runs its image, when it was to be restarted',
      back({ bootId: 'b1' }),
      'check m1',
    ],
    [
      'starts',
      back({ readiness: notReady }),
      'wait: m1 has restarted and is NotReady: kubelet stopped posting status',
    ],
    [
      'is looked at by its daemon',
      back({ state: 'Working' }, pod('check')),
      'wait: m1 runs its image and is Working',
    ],
    [
      'is refused by its daemon',
      back({ state: 'Degraded', reason: 'unexpected on-disk state' }, pod('check')),
      'wait: m1 runs its image and is Degraded: unexpected on-disk state',
    ],
    ['lost what it was told', back({ isTold: false }, pod('check')), 'tell-image m1'],
    ['runs again', back(), 'check m1'],
    [
      'tells what it runs',
      back({}, pod('check', { isDone: false, status: 'ended with 1' })),
      'wait: m1: the pod that looks what it runs ended with 1',
    ],
    [
      'runs its image',
      back({}, pod('check')),
      'wait: m1 runs its image, and its daemon has not given it back to its work',
    ],
    [
      'is given back',
      back({ drain: 'returning' }, pod('check')),
      'wait: m1 runs its image, and its daemon has not given it back to its work',
    ],
    ['is not ready for anything', node('m1', { state: 'Working' }), 'wait: m1 is Working'],
    [
      'is drained by its own daemon',
      node('m1', { drain: 'drained', state: 'Working', hasConfig: false, pods: staged }),
      'wait: m1 is Working',
    ],
    [
      'has a pod that failed for good',
      node('m1', { pods: pods(pod('stage', { isDone: false, hasFailed: true })) }),
      'remove stage m1',
    ],
    ['works again', back({ drain: 'none' }, pod('check')), 'remove-pods m1'],
    ['works again, one pod left', { ...switched, pods: pods(pod('check')) }, 'remove-pods m1'],
    ['is through', switched, 'done'],
    [
      'is through, and away since',
      { ...switched, readiness: notReady },
      'wait: m1 names its image and is NotReady: kubelet stopped posting status',
    ],
  ])('that %s', (_, standing, act) => {
    expect(next([standing])).toBe(act);
  });

  /** Its daemon finds an image that nobody has told it. */
  const stray = (...more: readonly PodStanding[]): NodeStanding =>
    node('m1', { bootId: 'b2', state: 'Degraded', pods: pods(pod('stage'), ...more) });

  it.each<[string, NodeStanding, string]>([
    ['is looked at', stray(), 'check m1'],
    [
      'tells what it runs',
      stray(pod('check', running)),
      'wait: m1: the pod that looks what it runs runs',
    ],
    ['runs its image', stray(pod('check')), 'record m1'],
    ['has recorded it', stray(pod('check'), pod('record')), 'tell-image m1'],
    [
      'is told',
      { ...stray(pod('check'), pod('record')), isTold: true },
      'wait: m1 names its image and is Degraded',
    ],
    [
      'is through',
      { ...stray(pod('check'), pod('record')), isTold: true, state: 'Done' },
      'remove-pods m1',
    ],
  ])('that was restarted by somebody else %s', (_, standing, act) => {
    expect(next([standing])).toBe(act);
  });

  it('never restarts twice, whatever of its pods goes first', () => {
    const all = podActs.map((act) => pod(act));
    const left = all.flatMap((_, from) => all.slice(from).map((__, to) => all.slice(from, to)));
    for (const some of left) {
      const act = next([back({ drain: 'none', pods: pods(...some) })]);
      expect(act, some.map(({ act: kind }) => kind).join()).not.toBe('restart m1');
    }
  });
});

describe('a pool on its way to its image', () => {
  const ready = node('m2', { pods: staged });
  const objection = '2 of 3 etcd members ready';

  it.each<[string, readonly NodeStanding[], string]>([
    ['stages on all nodes first of all', [ready, node('m3')], 'stage m3'],
    [
      'drains one node while another stages',
      [ready, node('m3', { pods: pods(pod('stage', running)) })],
      'drain m2',
    ],
    ['goes on with the node that is away', [ready, node('m3', { drain: 'drained' })], 'record m3'],
    [
      'takes none away while another starts',
      [ready, back({ readiness: notReady })],
      'wait: m1 has restarted and is NotReady: kubelet stopped posting status',
    ],
    ['goes on to the next', [switched, ready], 'drain m2'],
    [
      'takes none away while one is not Ready',
      [ready, node('m3', { pods: staged, readiness: notReady })],
      'wait: m3 is NotReady: kubelet stopped posting status',
    ],
    [
      'takes none away while a daemon works',
      [ready, node('m3', { pods: staged, state: 'Working' })],
      'wait: m3 is Working',
    ],
    [
      'takes none away while one has another MachineConfig',
      [ready, node('m3', { pods: staged, hasConfig: false })],
      'wait: m3 has another MachineConfig than its pool',
    ],
    ['is through with all', [switched, { ...switched, name: 'm2' }], 'done'],
    ['is through without nodes', [], 'done'],
  ])('%s', (_, nodes, act) => {
    expect(next(nodes)).toBe(act);
  });

  it('takes no node away against an objection', () => {
    expect(next([ready], { objection })).toBe(`wait: ${objection}`);
  });

  it('restarts none against an objection that came after its drain', () => {
    const told = node('m1', { drain: 'drained', isTold: true, pods: pods(pod('record')) });
    expect(next([told, ready], { objection })).toBe(`wait: ${objection}`);
  });

  it('goes on with the node that is away, whatever is objected', () => {
    expect(next([back(), ready], { objection })).toBe('check m1');
  });

  it.each<[string, readonly NodeStanding[], string]>([
    ['begins with none', [ready, node('m3')], 'done'],
    ['goes on with the node that is away', [back(), ready], 'check m1'],
    ['is through with that', [switched, ready], 'done'],
  ])('that has another MachineConfig meanwhile %s', (_, nodes, act) => {
    expect(next(nodes, { isOutdated: true })).toBe(act);
  });
});
