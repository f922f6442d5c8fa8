import { describe, expect, it } from 'vitest';
import { corners } from './corners.ts';
import { expectAlikeAfterEachWrite, install } from './processes.ts';

/** A disk with a partition that can be kept, and another disk that can be formatted. */
const plan = { disks: [{ name: 'sda', leftovers: 'data' as const }, { name: 'sdb' }] };

/** Corners with builds of OS images have a suite of their own. */
const quick = corners.filter(({ layering }) => layering === undefined);

describe.each(quick)('a $name', ({ config, plan: more }) => {
  it('is installed identically when the agent is killed after each write to its journal', async () => {
    const host = { config, plan: { ...plan, ...more } };
    const straight = await install(host);
    expect(straight.life.error).toBeUndefined();
    expect(straight.machine.unknown).toEqual([]);
    await expectAlikeAfterEachWrite(host, straight, [true]);
  });
});
