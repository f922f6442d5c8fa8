import { describe, expect, it } from 'vitest';
import { keyOf } from '../../layering/objects.ts';
import { killings } from './faults.ts';
import { awaySeconds } from './gather.ts';
import { unexplained } from './layer-status.ts';
import { isAway, seenNode, whereIs } from './record.ts';

const node = (
  annotations: Readonly<Record<string, string>>,
  { ready = 'True', unschedulable = false } = {},
) =>
  seenNode({
    metadata: {
      name: 'w1',
      labels: { 'node-role.kubernetes.io/worker': '' },
      annotations: Object.fromEntries(
        Object.entries({ currentConfig: 'c', currentImage: 'old', ...annotations }).map(
          ([key, value]) => [keyOf(key), value],
        ),
      ),
    },
    spec: { unschedulable },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  });
const rest = { desiredConfig: 'c', desiredImage: 'old', state: 'Done' };
const chosen = { ...rest, desiredImage: 'new', state: 'Working' };
const drain = { ...chosen, desiredDrain: 'drain-c' };
const arrived = { ...rest, currentImage: 'new', desiredImage: 'new' };
const away = { unschedulable: true };

describe('a node on the day after', () => {
  it.each([
    ['waits for its turn', false, node(rest)],
    ['stages its image', true, node(chosen)],
    ['degraded: why', true, node({ ...chosen, state: 'Degraded', reason: 'why' })],
    ['waits for its drain', true, node(drain)],
    ['is drained', true, node(drain, away)],
    ['is drained, and reboots', true, node({ ...drain, lastAppliedDrain: 'drain-c' }, away)],
    ['reboots', true, node(drain, { ...away, ready: 'False' })],
    ['is uncordoned', true, node({ ...arrived, desiredDrain: 'uncordon-c' }, away)],
    ['has what changed', false, node(arrived)],
  ])('%s', (text, isIt, seen) => {
    expect(whereIs(seen, 'old')).toBe(text);
    expect(isAway(seen)).toBe(isIt);
  });

  it.each([
    ['agent-killed', node(drain), 'bootwright-node-agent-x', true],
    ['agent-killed', node(chosen), 'bootwright-node-agent-x', false],
    ['controller-killed', node(drain), 'bootwright-node-controller-x', false],
    ['controller-killed', node(drain, away), 'bootwright-node-controller-x', true],
  ] as const)('%s: %j', (...[kind, seen, name, isIt]) => {
    const pod = { metadata: { name }, spec: { nodeName: 'w1' } };
    const { isDue, isMeant } = killings[kind] ?? {};
    expect(isDue?.(seen) === true && isMeant?.(pod, seen) === true).toBe(isIt);
  });

  it('counts how long a node was away', () => {
    const moments = [rest, chosen, drain, arrived, rest].map((one, at) => ({
      at: at * 2000,
      nodes: [node(one)],
    }));
    expect(awaySeconds({ moments }, 'w1')).toBe(4);
  });
});

describe('layer status while a node cannot be drained', () => {
  const said = `pool worker
  run by            bootwright node controller: x holds the lease bootwright-node-controller
    w1              Working; drain blocked: pod shop/shop-5d8-x by budget
                    shop/shop; runs the release
    w2              Done; waits: maxUnavailable 1: first w1; runs the release
  to do             let w1 be drained: run more replicas of what the budget protects, or delete
                    the pod`;
  const nodes = ['w1', 'w2', 'm1'].map((name) => ({
    name,
    pool: name === 'm1' ? ('master' as const) : ('worker' as const),
  }));

  it('explains it', () => {
    expect(unexplained(said, 'w1', nodes)).toEqual([]);
  });

  it.each(['run by', 'drain blocked', 'first w1', 'to do             let'])('lacks %s', (words) => {
    expect(unexplained(said.replace(words, ''), 'w1', nodes)).toHaveLength(1);
  });
});
