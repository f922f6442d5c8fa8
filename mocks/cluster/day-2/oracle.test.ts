import { describe, expect, it } from 'vitest';
import { dayViolations, type EndedDay, type EndedHost, type EndedPool } from './oracle.ts';
import type { SeenNode } from './record.ts';

const [before, final] = ['a', 'b'].map((digit) => `r.test/os@sha256:${digit.repeat(64)}`) as [
  string,
  string,
];
const has = `rendered-worker-2 ${final}`;
const node = (name: string, change: Partial<SeenNode> = {}): SeenNode => ({
  name,
  pool: 'worker',
  isReady: true,
  isCordoned: false,
  state: 'Done',
  reason: '',
  current: has,
  desired: has,
  request: '',
  ...change,
});
const host = (name: string, change: Partial<EndedHost> = {}): EndedHost => ({
  name,
  pool: 'worker',
  booted: final,
  recorded: final,
  restarts: 1,
  powerLosses: 0,
  commandLine: 'rw audit=1',
  file: 'text',
  ...change,
});
const pool: EndedPool = {
  pool: 'worker',
  final,
  before,
  kernelArgument: 'audit=1',
  file: 'text',
  osConfig: {
    metadata: { name: 'worker' },
    status: { currentImagePullSpec: final },
  },
  machineConfigPool: {
    metadata: { name: 'worker' },
    spec: { configuration: { name: 'rendered-worker-2' } },
  },
};
const day = (change: Partial<EndedDay> = {}): EndedDay => ({
  pools: [pool],
  hosts: [host('w1')],
  nodes: [node('w1')],
  moments: [],
  ready: [2, 3, 2],
  wanted: 2,
  refused: [],
  ...change,
});
const cordoned = { isCordoned: true };

describe('dayViolations', () => {
  it('returns nothing for a correct day', () => {
    const first = [node('w1', cordoned), node('w2'), node('m1', { pool: 'master', ...cordoned })];
    expect(dayViolations(day({ moments: [first] }))).toEqual([]);
  });

  it.each<[string, Partial<EndedDay>, string]>([
    [
      'two nodes of a pool were unavailable at once',
      { moments: [[node('w1', cordoned), node('w2', { desired: 'x' })]] },
      'away at once: w1, w2',
    ],
    [
      'a host still runs the old image',
      { hosts: [host('w1', { booted: before })] },
      'host w1 runs',
    ],
    ['a host rebooted twice', { hosts: [host('w1', { restarts: 2 })] }, 'w1 went down 2, not 1'],
    [
      'a kernel argument is missing',
      { hosts: [host('w1', { commandLine: 'rw' })] },
      'kernel of w1 has nothing, not audit=1',
    ],
    ['a node is cordoned', { nodes: [node('w1', cordoned)] }, 'node w1 is cordoned, not'],
    [
      'a node has another image',
      { nodes: [node('w1', { current: 'x' })] },
      'node w1 has x, not rendered',
    ],
    ['nothing was built', { pools: [{ ...pool, final: before }] }, 'is the old one, not'],
    ['a budget was broken', { ready: [2, 1, 2] }, 'only 1 of 2 pods'],
    ['a request was refused', { refused: ['get pods'] }, 'refused: get pods'],
  ])('reports that %s', (_, change, text) => {
    expect(dayViolations(day(change)).join('\n')).toContain(text);
  });
});
