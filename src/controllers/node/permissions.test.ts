import { expect, it } from 'vitest';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { agentKeys, agentPolicy } from './permissions.ts';

it('allows an agent to write its own annotations and none of the controller', () => {
  const text = JSON.stringify(agentPolicy);
  for (const key of agentKeys) expect(text).toContain(`'${key}'`);
  for (const name of ['desiredConfig', 'desiredImage', 'lastAppliedDrain'] as const)
    expect(text).not.toContain(nodeKeys[name]);
});
