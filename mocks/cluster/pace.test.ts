import { describe, expect, it } from 'vitest';
import { ladderOf } from '../inventory/ladders.ts';
import { lifeAfterReboot, Pace } from './pace.ts';

describe('the life of a node after its reboot', () => {
  it.each(['master', 'worker'])('climbs the end of the ladder of a %s', (role) => {
    const ladder = ladderOf({ role, isBootstrap: false, isSingleNode: false, api: 'v2' });
    const stages = lifeAfterReboot(role, Pace.parse({})).map(({ stage }) => stage);
    expect(stages).toEqual(ladder.slice(ladder.indexOf('Rebooting') + 1));
  });
});
