import { expect, it } from 'vitest';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { agentPolicy } from './manifests.ts';

it('allows an agent to write its own annotations and none of the controller', () => {
  const text = JSON.stringify(agentPolicy);
  const { desiredConfig, desiredImage, lastAppliedDrain, ...own } = nodeKeys;
  for (const key of Object.values(own)) expect(text).toContain(`'${key}'`);
  for (const key of [desiredConfig, desiredImage, lastAppliedDrain])
    expect(text).not.toContain(key);
});
