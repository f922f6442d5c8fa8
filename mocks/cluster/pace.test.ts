import { describe, expect, it } from 'vitest';
import { ladderOf } from '../inventory/ladders.ts';
import { stagesAfterReboot, Pace } from './pace.ts';

describe('the life of a node after its reboot', () => {
  it.each([
    { kind: 'control-plane', role: 'master', isSingleNode: false },
    { kind: 'worker', role: 'worker', isSingleNode: false },
    { kind: 'single-node', role: 'master', isSingleNode: true },
  ] as const)('climbs the end of the ladder: $kind', ({ kind, role, isSingleNode }) => {
    const ladder = ladderOf({ role, isBootstrap: isSingleNode, isSingleNode, api: 'v2' });
    const stages = stagesAfterReboot(kind, Pace.parse({})).map(({ stage }) => stage);
    expect(stages).toEqual(ladder.slice(ladder.indexOf('Rebooting') + 1));
  });
});
