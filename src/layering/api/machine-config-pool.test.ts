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
  ['that a user has paused', pool(true), ours],
  ['that a user has paused, without a pause of ours', pool(true), ''],
  ['with a newer pause for the same reason', pool(true, { [keys.handOver]: others }), ours],
  ['that is paused only for another reason', pool(true, { [keys.labels]: ours }), ours],
])('endPause changes nothing in a pool %s', (_, paused, since) => {
  expect(endPause(paused, 'handOver', since)).toBeUndefined();
});

it.each<[what: string, pool: KubeObject, paused: boolean]>([
  ['unpauses the pool', pool(true, { [keys.handOver]: ours }), false],
  [
    'keeps the pool paused while another reason remains',
    pool(true, { [keys.handOver]: ours, [keys.labels]: others }),
    true,
  ],
  [
    'does not pause again a pool that a user has unpaused',
    pool(false, { [keys.handOver]: ours, [keys.labels]: others }),
    false,
  ],
])('endPause %s', (_, paused, stays) => {
  expect(endPause(paused, 'handOver', ours)).toEqual({
    metadata: { annotations: { [keys.handOver]: null } },
    spec: { paused: stays },
  });
});
