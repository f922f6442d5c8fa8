import { expect, it } from 'vitest';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { wrongWithRollOut } from './do-controller-deed.ts';

const nodeOf = (name: string, role: string): KubeObject => ({
  metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' } },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});
const [m1, m2, w1] = [nodeOf('m1', 'master'), nodeOf('m2', 'master'), nodeOf('w1', 'worker')];

it.each([
  ['three masters', 'master', [m1, m2, nodeOf('m3', 'master'), w1], []],
  ['two masters and an arbiter', 'master', [m1, m2, nodeOf('a1', 'arbiter')], []],
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
