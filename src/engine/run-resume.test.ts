import fc from '../../test/support/properties.ts';
import { describe, expect, it } from 'vitest';
import { memoryJournal } from '../../test/support/memory-journal.ts';
import {
  doing,
  failure,
  findDisk,
  limit,
  runToy,
  step,
  toy,
  wipe,
  worldOf,
} from '../../test/support/toy-role.ts';

describe('a run that continues after a crash', () => {
  const reboot = step({
    id: 'host/reboot',
    title: 'Reboot',
    uses: ['world'],
    leaves: true,
    rerun: 'probe',
    limit,
    probe: ({ world }) =>
      Promise.resolve(
        world.did.includes('reboot') ? { isDone: true, fact: undefined } : { isDone: false },
      ),
    run: ({ world }) => world.perform('reboot'),
  });
  const whole = toy({ steps: [findDisk, wipe, doing('a/three'), reboot] });

  it('reaches the same world from every point of a crash, and finished steps run once', async () => {
    const { world: straight, outcome } = await runToy(whole);
    expect(outcome).toBe('left the host');
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 12 }), fc.boolean(), async (crashAfter, losesUnflushed) => {
        const journal = memoryJournal([], { crashAfter: crashAfter + 1, losesUnflushed });
        const world = worldOf();
        const first = await runToy(whole, { world, journal });
        journal.restart();
        const finished = journal
          .entries()
          .flatMap((entry) => (entry.type === 'finished' ? [entry.step] : []));
        const before = [...world.did];
        const second = await runToy(whole, { world, journal });
        expect(second.error).toBeUndefined();
        expect(new Set(world.did)).toEqual(new Set(straight.did));
        expect(world.did.filter((what) => what === 'reboot')).toHaveLength(1);
        const again = world.did.slice(before.length);
        for (const step of finished) expect(again).not.toContain(step);
        expect(first.outcome === undefined || again.length === 0).toBe(true);
      }),
    );
  });

  it.each([
    ['is kept', () => Promise.resolve(true), []],
    ['is gone', () => Promise.resolve(false), ['disk/find']],
    ['cannot be looked at', () => Promise.reject(new Error('no')), ['disk/find']],
  ])('runs a finished step again unless what it made %s', async (...[, isKept, again]) => {
    const seen: unknown[] = [];
    const finds = {
      ...findDisk,
      isKept: (_: unknown, fact: unknown) => {
        seen.push(fact);
        return isKept();
      },
    };
    const journal = memoryJournal();
    const broken = { ...wipe, run: () => Promise.reject(failure('toy.broken', 'no')) };
    await runToy(toy({ steps: [finds, broken] }), { journal });
    journal.restart();
    const { world } = await runToy(toy({ steps: [finds, wipe] }), { journal });
    expect(world.did).toEqual([...again, 'wipe /dev/toy']);
    expect(seen).toEqual([{ path: '/dev/toy' }]);
  });

  it('begins again after the host was started again', async () => {
    const journal = memoryJournal();
    await runToy(whole, { journal });
    const { world } = await runToy(whole, { journal, bootId: 'another' });
    expect(world.did).toContain('disk/find');
    expect(journal.old).toHaveLength(1);
  });

  it('says that it does', async () => {
    const journal = memoryJournal();
    const first = await runToy(whole, { journal });
    const second = await runToy(whole, { journal });
    expect([first, second].map(({ events }) => events[0])).toMatchObject([
      { type: 'run.started', isResumed: false },
      { type: 'run.started', isResumed: true },
    ]);
  });

  it('looks again until the step that ends it has begun', async () => {
    const fresh = toy({ steps: [{ ...findDisk, freshUntil: 'disk/wipe' }, wipe] });
    const finds = async (crashAfter: number): Promise<number> => {
      const journal = memoryJournal([], { crashAfter });
      const world = worldOf();
      await runToy(fresh, { journal, world });
      journal.restart();
      await runToy(fresh, { journal, world });
      return world.did.filter((what) => what === 'disk/find').length;
    };
    // The lines: header, disk/find started and finished, disk/wipe started.
    expect([await finds(3), await finds(4)]).toEqual([2, 1]);
  });

  it('runs a step again whose work ends with the process', async () => {
    const lock = toy({ steps: [{ ...doing('a/lock'), rerun: 'always' as const }] });
    const journal = memoryJournal();
    const world = worldOf();
    await runToy(lock, { journal, world });
    await runToy(lock, { journal, world });
    expect(world.did).toEqual(['a/lock', 'a/lock']);
  });
});
