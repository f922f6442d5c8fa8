import fc from '../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { memoryJournal } from '../../test/support/memory-journal.ts';
import { doing, findDisk, runToy, toy, wipe, worldOf } from '../../test/support/toy-role.ts';

describe('a run that continues after a crash', () => {
  const reboot = { ...doing('host/reboot'), effect: 'leaves' as const };
  const whole = toy({ steps: [findDisk, wipe, doing('a/three'), reboot] });

  it('reaches the same result after a crash at any point, and does not repeat finished steps', async () => {
    const { world: straight, outcome } = await runToy(whole);
    expect(outcome).toBe('left the host');
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 12 }), fc.boolean(), async (crashAfter, losesUnflushed) => {
        const journal = memoryJournal([], { crashAfter: crashAfter + 1, losesUnflushed });
        const world = worldOf();
        const first = await runToy(whole, { world, journal });
        journal.restart();
        const isLost = journal.entries().some(({ step }) => step === 'disk/wipe');
        const finished = journal
          .entries()
          .flatMap(({ type, step }) => (isLost && type === 'finished' ? [step] : []))
          .filter((step) => step !== 'host/reboot');
        const before = [...world.did];
        const second = await runToy(whole, { world, journal });
        expect(second.error).toBeUndefined();
        expect(new Set(world.did)).toEqual(new Set(straight.did));
        const again = world.did.slice(before.length);
        for (const step of finished) expect(again).not.toContain(step);
        if (first.outcome !== undefined) expect(again).toEqual(['host/reboot']);
      }),
    );
  });

  it('starts over after the host was rebooted', async () => {
    const journal = memoryJournal();
    await runToy(whole, { journal });
    const { world } = await runToy(whole, { journal, bootId: 'another' });
    expect(world.did).toContain('disk/find');
    expect(journal.old).toHaveLength(1);
  });

  it('reports that it is resumed', async () => {
    const journal = memoryJournal();
    const first = await runToy(whole, { journal });
    const second = await runToy(whole, { journal });
    expect([first, second].map(({ events }) => events[0])).toMatchObject([
      { type: 'run.started', isResumed: false },
      { type: 'run.started', isResumed: true },
    ]);
  });

  it('repeats all steps until the first step that destroys has begun', async () => {
    const fresh = toy({ steps: [findDisk, wipe] });
    const finds = async (crashAfter: number): Promise<number> => {
      const journal = memoryJournal([], { crashAfter });
      const world = worldOf();
      await runToy(fresh, { journal, world });
      journal.restart();
      await runToy(fresh, { journal, world });
      return world.did.filter((what) => what === 'disk/find').length;
    };
    // Lines of the journal: header, disk/find started and finished, disk/wipe started.
    expect([await finds(3), await finds(4)]).toEqual([2, 1]);
  });
});
