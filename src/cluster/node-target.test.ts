import { expect, it } from 'vitest';
import { nodeTarget } from './node-target.ts';

it.each([
  ['master', 0, 0],
  ['master', 1, 0],
  ['master', 2, 1],
  ['master', 3, 2],
  ['master', 4, 2],
  ['master', 5, 2],
  ['arbiter', 0, 0],
  ['arbiter', 1, 1],
  ['arbiter', 2, 1],
] as const)('of the role %s with %i replicas, %i are waited for', (role, replicas, target) => {
  const config = {
    controlPlaneReplicas: role === 'master' ? replicas : 3,
    arbiterReplicas: role === 'arbiter' ? replicas : 1,
  };
  expect(nodeTarget(role, config)).toBe(target);
});
