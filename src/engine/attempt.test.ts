import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../test/support/fake-clock.ts';
import { memoryJournal, type MemoryJournal } from '../../test/support/memory-journal.ts';
import {
  doing,
  failure,
  findDisk,
  limit,
  runToy,
  step,
  toy,
  types,
  wipe,
  worldOf,
} from '../../test/support/toy-role.ts';
import { minutes, seconds } from '../model/duration.ts';
import { type JournalEntry, renderRecord } from './journal.ts';

/** Runs pending work for less time than the fake clock needs to count as idle. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A journal with the entries of an earlier run of the toy role. */
const journalOf = (...entries: readonly JournalEntry[]): MemoryJournal => {
  const header = { version: '1', fingerprint: 'f', bootId: 'b' };
  const records = [{ type: 'header', v: 1, role: 'toy', ...header } as const, ...entries];
  return memoryJournal(records.map((record) => renderRecord(record)));
};

describe('the journal of a step', () => {
  const destroys = { ...doing('a/destroy'), effect: 'destroys' } as const;

  it('is flushed before a step that destroys and after every step', async () => {
    const flushed: string[] = [];
    const journal = memoryJournal([], {
      onStored: (line, isFlushed) => {
        const { type, step: id = '' } = JSON.parse(line) as { type: string; step?: string };
        if (isFlushed) flushed.push(`${type} ${id}`);
      },
    });
    await runToy(toy({ steps: [destroys, doing('a/safe')] }), { journal });
    expect(flushed).toEqual([
      'header ',
      'started a/destroy',
      'finished a/destroy',
      'finished a/safe',
    ]);
  });

  it('is written before a step starts and before the next one does', async () => {
    const kept = memoryJournal();
    const slow: MemoryJournal = {
      ...kept,
      append: async (line, options) => {
        await settle();
        await kept.append(line, options);
      },
    };
    const known: string[][] = [];
    const world = worldOf(() => {
      known.push(kept.lines.slice(1).map((line) => (JSON.parse(line) as JournalEntry).type));
      return Promise.resolve();
    });
    await runToy(toy({ steps: [destroys, doing('a/safe')] }), { journal: slow, world });
    expect(known).toEqual([['started'], ['started', 'finished', 'started']]);
  });

  it('masks secrets in the message of a failure', async () => {
    const journal = memoryJournal();
    const world = worldOf(() => Promise.reject(failure('toy.broken', 'the password hunter2')));
    const mask = (text: string): string => text.replaceAll('hunter2', '***');
    await runToy(toy({ steps: [doing('a/one')] }), { journal, world, mask });
    expect(journal.entries()).toMatchObject([{}, { type: 'failed', message: 'the password ***' }]);
  });
});

describe('a fact', () => {
  it('of an earlier run that does not match its schema is not given to a step', async () => {
    const journal = journalOf(
      { type: 'finished', step: 'disk/find', at: 1, fact: { disk: 'a' } },
      { type: 'started', step: 'disk/wipe', at: 2 },
    );
    const { error, world } = await runToy(toy({ steps: [findDisk, wipe] }), { journal });
    expect(error).toMatchObject({ code: 'run.unexpected' });
    expect(world.did).toEqual([]);
  });
});

it('a run waits for the last report only before the step that leaves the host', async () => {
  const order: string[] = [];
  const world = worldOf((what) => Promise.resolve(void order.push(what)));
  const beforeLeaving = async (): Promise<void> => {
    order.push('the report begins');
    await settle();
    order.push('the report is sent');
  };
  const reboot = { ...doing('host/reboot'), effect: 'leaves' as const };
  await runToy(toy({ steps: [doing('a/one'), reboot] }), { world, beforeLeaving });
  expect(order).toEqual(['a/one', 'the report begins', 'the report is sent', 'host/reboot']);
});

describe('attempts', () => {
  const retried = { ...doing('a/two'), retry: { attempts: 3, every: seconds(7) } };

  it('pause between each other', async () => {
    const clock = fakeClock();
    const world = worldOf(() => Promise.reject(failure('toy.broken', 'it broke')));
    await runToy(toy({ steps: [retried] }), { clock, world });
    expect(clock.slept.filter((duration) => duration === seconds(7))).toHaveLength(2);
  });

  it('end when the run is stopped', async () => {
    const control = new AbortController();
    const world = worldOf(() => {
      control.abort(failure('toy.broken', 'stopped'));
      return Promise.reject(failure('toy.broken', 'it broke'));
    });
    const how = { world, signal: control.signal };
    const { error, events } = await runToy(toy({ steps: [retried] }), how);
    expect(error).toMatchObject({ message: 'stopped' });
    expect(types(events)).toEqual([
      'run.started',
      'step.started a/two',
      'step.stopped a/two',
      'run.stopped',
    ]);
  });

  it('run only the exit handlers for "always" when they succeed', async () => {
    const undone: string[] = [];
    const sets = step({
      id: 'a/mount',
      title: 'Mount',
      uses: [],
      limit,
      run: ({ onExit }) => {
        onExit(() => Promise.resolve(void undone.push('always')), 'always');
        onExit(() => Promise.resolve(void undone.push('failure')), 'failure');
        return Promise.resolve();
      },
    });
    await runToy(toy({ steps: [sets] }));
    expect(undone).toEqual(['always']);
  });
});

describe('follow steps', () => {
  it('end before the run ends', async () => {
    const ended: string[] = [];
    const follow = step({
      id: 'follow/hosts',
      title: 'Follow',
      uses: [],
      limit: minutes(60),
      run: async ({ signal }) => {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve, { once: true });
        });
        await turn();
        ended.push('follow/hosts');
      },
    });
    const clock = fakeClock();
    const { events } = await runToy(toy({ steps: [doing('a/one')], follow: [follow] }), { clock });
    expect(ended).toEqual(['follow/hosts']);
    expect(clock.elapsed()).toBe(0);
    expect(types(events)).toContain('step.started follow/hosts');
  });

  it.each(['immediately', 'at the end of the run'])(
    'do not fail the run when they fail %s',
    async (when) => {
      const follow = step({
        id: 'follow/hosts',
        title: 'Follow',
        uses: [],
        limit: minutes(60),
        run: async ({ signal }) => {
          if (when === 'at the end of the run') {
            await new Promise((resolve) => {
              signal.addEventListener('abort', resolve, { once: true });
            });
          }
          throw failure('toy.broken', 'the log is gone');
        },
      });
      const steps = [doing('a/one')];
      const { outcome, events } = await runToy(toy({ steps, follow: [follow] }));
      expect(outcome).toBe('finished');
      const failed = types(events).indexOf('step.failed follow/hosts');
      const isFirst = failed !== -1 && failed < types(events).indexOf('run.finished');
      expect(isFirst).toBe(when === 'immediately');
    },
  );
});
