import { describe, expect, it } from 'vitest';
import { imageOf, sum } from '../../../test/support/os-samples.ts';
import { AgentError } from '../../model/failure.ts';
import type { OsDeployment, OsStatus } from '../../os/status.ts';
import type { NodeChange } from './change.ts';
import { decide, isAtRest } from './decide.ts';
import { nodeAgentFailure } from './failures.ts';
import type { HostChange } from './host-files.ts';
import type { HostSnapshot } from './host-snapshot.ts';
import type { Marker } from './marker.ts';
import type { NodeState } from './node-object.ts';
import type { NodeView } from './read-node.ts';
import type { WantedFile, WantedHost } from './wanted-host.ts';

const [one, two, three] = [imageOf('1'), imageOf('2'), imageOf('3')];
const bootId = 'this boot';
const target = { config: 'c2', image: two };

const file = (path: string, text: string): WantedFile => ({
  path,
  content: Buffer.from(text),
  mode: 0o644,
});
const wants = (more: Partial<WantedHost> = {}): WantedHost => ({
  osImageURL: one,
  kernelArguments: [],
  files: [],
  units: [],
  password: '*',
  packages: '',
  fixed: '',
  links: '{}',
  ...more,
});
const nothing: HostChange = { write: [], remove: [], units: [] };
const lacks = (...write: WantedFile[]): HostChange => ({ ...nothing, write });

const runs = (digit: string): OsDeployment => ({
  image: imageOf(digit),
  checksum: sum(digit),
  isPinned: false,
  verification: 'none',
});
const status = (more: Partial<OsStatus> = {}): OsStatus => ({
  booted: runs('1'),
  others: [],
  isBusy: false,
  ...more,
});
const host = (more: Partial<OsStatus> = {}): { readonly host: HostSnapshot } => ({
  host: {
    bootId,
    os: { driver: 'rpm-ostree', reason: 'x', commandLine: '', status: status(more) },
    kernelArguments: [],
    files: new Map(),
    units: new Map(),
    password: undefined,
    notFinalized: undefined,
  },
});
const staged = host({ staged: runs('2') });

const node: NodeState = {
  currentConfig: 'c1',
  currentImage: one,
  desiredConfig: 'c2',
  desiredImage: two,
  state: 'Working',
};
const marker = (more: Partial<Marker> = {}): Marker => ({
  ...target,
  phase: 'staged',
  bootId,
  boots: 0,
  stages: two,
  ...more,
});

interface Sketch extends Partial<Omit<NodeView, 'change' | 'node'>> {
  readonly node?: NodeState;
  readonly change?: Partial<NodeChange>;
}

/** A node whose desired image is another than the running one, before any action. */
function viewOf({ change, node: said = {}, ...more }: Sketch): NodeView {
  const state = { ...node, ...said };
  const whole: NodeChange = {
    target,
    node: state,
    object: {},
    wanted: wants(),
    before: wants(),
    image: two,
    ...host(),
    marker: more.marker,
    files: nothing,
    rest: nothing,
    ...change,
  };
  return { node: state, isOperated: false, target, change: whole, ...more };
}

const drained: NodeState = {
  desiredDrain: 'drain-c2',
  lastAppliedDrain: 'drain-c2',
  isCordoned: true,
};
const has: NodeState = { currentConfig: 'c2', currentImage: two, state: 'Done' };
const refusal = nodeAgentFailure('node-agent.not-of-pool', 'x');
const ready: Sketch = { marker: marker(), change: staged, node: drained };
const any = file('/etc/x', 'new');
/** A change of files only. */
const ofFiles = (...files: WantedFile[]): Partial<NodeChange> => ({
  image: undefined,
  files: lacks(...files),
  rest: lacks(...files),
  wanted: wants({ files }),
});
const begun = (more: Partial<Marker> = {}) => marker({ phase: 'rebooting', boots: 1, ...more });
const back = (more: Partial<Marker> = {}) => begun({ bootId: 'the boot before', ...more });
const other = (more: Partial<Marker> = {}) => marker({ config: 'c3', image: three, ...more });
const runsThird = host({ booted: runs('3') });

/**
 * The action; or that none is due for now (`waits`) or until the desired state changes (`rests`);
 * or the code of the refusal.
 */
function decided(sketch: Sketch): unknown[] {
  try {
    const { action, rests } = decide(viewOf(sketch));
    if (action === undefined) return [rests === true ? 'rests' : 'waits'];
    if (action.type === 'annotate') return [action.type, action.annotations];
    return action.type === 'give-up'
      ? [action.type, action.reason.split(':')[0], action.restores]
      : [action.type];
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return [error.code];
  }
}

type Case = [what: string, view: Sketch, expected: unknown[]];

describe('the next action for a node', () => {
  it.each<Case>([
    ['was only staged', { marker: other() }, ['take-back']],
    ['may reboot yet', { marker: other({ phase: 'rebooting' }), change: runsThird }, ['take-back']],
    [
      'runs',
      { marker: other({ phase: 'rebooting', bootId: 'before' }), change: runsThird },
      ['adopt'],
    ],
    ['did not boot', { marker: other({ phase: 'rebooting', bootId: 'before' }) }, ['take-back']],
    [
      'has the previous image',
      { marker: other({ image: one, phase: 'rebooting', bootId: 'before' }), change: runsThird },
      ['adopt'],
    ],
    ['failed', { marker: other({ failed: 'x' }), refusal }, ['take-back']],
  ])('with another change begun, which %s', (_, view, expected) => {
    expect(decided(view)).toEqual(expected);
  });

  it.each<Case>([
    [
      'waits to be uncordoned',
      { node: { ...has, desiredDrain: 'uncordon-c2', lastAppliedDrain: 'drain-c2' } },
      ['waits'],
    ],
    [
      'stages again after another boot',
      { marker: marker({ bootId: 'x' }), change: staged },
      ['stage'],
    ],
    [
      'stages again when staging was interrupted',
      { marker: marker({ phase: 'staging' }), change: staged },
      ['stage'],
    ],
    ['reboots again within the same boot', { ...ready, marker: begun() }, ['reboot']],
    [
      'begins with a change of files staged in another boot',
      { change: ofFiles(any), marker: marker({ bootId: 'x' }) },
      ['begin'],
    ],
    [
      'reboots for a change that has begun',
      { change: ofFiles(), marker: begun(), node: drained },
      ['reboot'],
    ],
    [
      'waits for the uncordon of an earlier change',
      { node: { ...drained, desiredDrain: 'uncordon-c2' } },
      ['waits'],
    ],
  ])('with another desired state: %s', (_, view, expected) => {
    expect(decided(view)).toEqual(expected);
  });

  it.each<Case>([
    ['staged', { ...ready, node: {} }, ['waits']],
    ['with a change of files', { change: ofFiles(any) }, ['waits']],
    ['being drained', { ...ready, node: { desiredDrain: 'drain-c2' } }, ['waits']],
    [
      'that was uncordoned',
      { ...ready, node: { ...drained, isCordoned: false } },
      ['withdraw-drain'],
    ],
  ])('in a paused pool, %s: no drain begins', (_, view, expected) => {
    expect(decided({ ...view, isPaused: true })).toEqual(expected);
  });

  const uncordoned = { ...ready, marker: marker({ isUncordoned: true }) };
  const answered: NodeState = { desiredDrain: 'uncordon-c2', lastAppliedDrain: 'uncordon-c2' };
  it.each<Case>([
    [
      'withdraws the drain',
      { ...ready, node: { ...drained, isCordoned: false } },
      ['withdraw-drain'],
    ],
    ['requests the uncordon', uncordoned, ['annotate', { desiredDrain: 'uncordon-c2' }]],
    [
      'waits for the uncordon',
      { ...uncordoned, node: { ...drained, ...answered, lastAppliedDrain: 'drain-c2' } },
      ['waits'],
    ],
    ['is not changed', { ...uncordoned, node: answered }, ['node-agent.uncordoned']],
    [
      'begins again after a cordon',
      { ...uncordoned, node: { ...answered, isCordoned: true } },
      ['begin'],
    ],
  ])('that a person has uncordoned: %s', (_, view, expected) => {
    expect(decided(view)).toEqual(expected);
  });

  it.each<Case>([
    [
      'with the change, which its pool no longer has',
      { marker: back(), change: host({ booted: runs('2') }), refusal },
      ['complete'],
    ],
    [
      'without the change, which its pool no longer has',
      { marker: back(), refusal },
      [refusal.code],
    ],
    [
      'with the previous image, whose MachineConfig is unknown',
      { marker: back(), change: { ...host({ rollback: runs('2') }), before: undefined } },
      ['give-up', 'node-agent.came-back', false],
    ],
    [
      'without kernel arguments for the third time',
      {
        marker: back({ boots: 3, arguments: ['a'] }),
        change: { ...ofFiles(), wanted: wants({ kernelArguments: ['a'] }) },
      },
      ['give-up', 'node-agent.not-kept', false],
    ],
  ])('that came back %s', (_, view, expected) => {
    expect(decided(view)).toEqual(expected);
  });
});

describe('a refused node', () => {
  it.each<[what: string, view: Sketch, code: string]>([
    ['is not rebooted again', { ...ready, marker: begun(), refusal }, refusal.code],
    ['is not completed', { change: ofFiles(), refusal }, refusal.code],
    [
      'is not rebooted into a deployment that has been staged since',
      { ...ready, change: { ...ofFiles(any), ...host({ staged: runs('2') }) } },
      'os.staged-by-another',
    ],
  ])('%s', (_, view, code) => {
    expect(decided(view)).toEqual([code]);
  });
});

it.each<[what: string, node: NodeState, expected: boolean]>([
  ['done', has, true],
  ['done and uncordoned', { ...has, desiredDrain: 'uncordon-c2' }, true],
  ['still cordoned', { ...has, desiredDrain: 'drain-c2' }, false],
  ['degraded', { ...has, state: 'Degraded' }, false],
  ['desired with another image', { ...has, desiredImage: three }, false],
  ['desired with another MachineConfig', { ...has, desiredConfig: 'c3' }, false],
  ['without a desired state', { ...has, desiredConfig: undefined }, false],
])('recognizes whether a node is at rest: %s', (_, said, expected) => {
  expect(isAtRest({ ...node, ...said })).toBe(expected);
});
