import { expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import { endPause } from './machine-config-pool.ts';

const keys = {
  handOver: 'bootwright.io/paused-for-hand-over',
  labels: 'bootwright.io/paused-for-labels',
} as const;
const [ours, others] = ['2026-11-29T10:00:00Z', '2026-11-29T11:00:00Z'];
const pool = (paused: boolean, annotations: Record<string, string> = {}): KubeObject => ({
  metadata: { name: 'worker', annotations },
  spec: { paused },
});

it.each<[what: string, pool: KubeObject, since: string]>([
  ['that a person has paused', pool(true), ours],
  ['that a person has paused, by who never paused one', pool(true), ''],
  [
    'that somebody else has paused for the same since',
    pool(true, { [keys.handOver]: others }),
    ours,
  ],
  ['that is paused for something else alone', pool(true, { [keys.labels]: ours }), ours],
])('ends no pause of a pool %s', (_, paused, since) => {
  expect(endPause(paused, 'handOver', since)).toBeUndefined();
});

it.each<[what: string, pool: KubeObject, paused: boolean]>([
  ['unpauses the pool', pool(true, { [keys.handOver]: ours }), false],
  [
    'leaves a pool paused that something else pauses too',
    pool(true, { [keys.handOver]: ours, [keys.labels]: others }),
    true,
  ],
  [
    'pauses no pool again that a person has unpaused',
    pool(false, { [keys.handOver]: ours, [keys.labels]: others }),
    false,
  ],
])('the end of our own pause %s', (_, paused, stays) => {
  expect(endPause(paused, 'handOver', ours)).toEqual({
    metadata: { annotations: { [keys.handOver]: null } },
    spec: { paused: stays },
  });
});
