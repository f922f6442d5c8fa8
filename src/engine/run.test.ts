import { describe, expect, it } from 'vitest';
import { seconds } from '../model/duration.ts';
import { memoryJournal, type MemoryJournal } from '../../test/support/memory-journal.ts';
import { condition } from './condition.ts';
import {
  doing,
  failure,
  findDisk,
  limit,
  runToy,
  step,
  toy,
  type ToyConfig,
  types,
  wipe,
  worldOf,
} from '../../test/support/toy-role.ts';

describe('a run', () => {
  it('runs its steps in order and passes facts on', async () => {
    const { outcome, world, events } = await runToy(toy({ steps: [findDisk, wipe] }));
    expect(outcome).toBe('finished');
    expect(world.did).toEqual(['disk/find', 'wipe /dev/toy']);
    expect(types(events)).toEqual([
      'run.started',
      'step.started disk/find',
      'step.finished disk/find',
      'step.started disk/wipe',
      'step.finished disk/wipe',
      'run.finished',
    ]);
  });

  it('skips a step whose condition the configuration does not meet', async () => {
    const cleans = condition<ToyConfig>('the disk is cleaned', (config) => config.cleans);
    const { world, events } = await runToy(
      toy({ steps: [{ ...doing('a/clean'), when: cleans }] }),
      {
        config: { cleans: false },
      },
    );
    expect(world.did).toEqual([]);
    expect(events[0]).toMatchObject({ type: 'run.started', steps: 0 });
    expect(types(events)).toContain('step.skipped a/clean');
  });

  it('skips a step when skipIf returns a reason', async () => {
    const needless = { ...wipe, skipIf: () => 'nothing is on the disk' };
    const { world } = await runToy(toy({ steps: [findDisk, needless] }));
    expect(world.did).toEqual(['disk/find']);
  });

  it('does not give a step a port that it does not name', async () => {
    const seen: string[] = [];
    const listPorts = step({
      id: 'a/nosy',
      title: 'Look around',
      uses: [],
      limit,
      run: (scope) => {
        seen.push(...Object.keys(scope));
        return Promise.resolve();
      },
    });
    await runToy(toy({ steps: [listPorts] }));
    expect(seen).toContain('signal');
    expect(seen).not.toContain('world');
  });

  it('leaves the host after the steps that always run', async () => {
    const reboot = { ...doing('host/reboot'), effect: 'leaves' as const };
    const { outcome, world } = await runToy(
      toy({ steps: [doing('a/one'), reboot], always: [doing('logs/collect')] }),
    );
    expect(outcome).toBe('left the host');
    expect(world.did).toEqual(['a/one', 'logs/collect', 'host/reboot']);
  });

  it('finishes normally when the step that leaves the host is skipped', async () => {
    const reboot = {
      ...doing('host/reboot'),
      effect: 'leaves' as const,
      skipIf: () => 'nobody asked for it',
    };
    const { outcome, world } = await runToy(toy({ steps: [doing('a/one'), reboot] }));
    expect(outcome).toBe('finished');
    expect(world.did).toEqual(['a/one']);
  });
});

describe('a step that fails', () => {
  const breaks = (times: number, code: 'toy.broken' | 'toy.wrong' = 'toy.broken') => {
    let left = times;
    return worldOf((what) => {
      if (what !== 'a/two' || left === 0) return Promise.resolve();
      left -= 1;
      return Promise.reject(failure(code, 'it broke'));
    });
  };
  const three = toy({
    steps: [doing('a/one'), doing('a/two'), doing('a/three')],
    always: [doing('logs/collect')],
  });

  it('ends the run with its failure, reported before the steps that always run', async () => {
    const { error, world, events } = await runToy(three, { world: breaks(1) });
    expect(error).toMatchObject({ code: 'toy.broken' });
    expect(world.did).toEqual(['a/one', 'logs/collect']);
    expect(types(events).slice(-4)).toEqual([
      'step.failed a/two',
      'run.failed',
      'step.started logs/collect',
      'step.finished logs/collect',
    ]);
  });

  it('keeps its failure when a stop comes during the steps that always run', async () => {
    const control = new AbortController();
    const world = worldOf((what) => {
      if (what === 'logs/collect') control.abort(failure('toy.wrong', 'stopped'));
      return what === 'a/two'
        ? Promise.reject(failure('toy.broken', 'it broke'))
        : Promise.resolve();
    });
    const { error } = await runToy(three, { world, signal: control.signal });
    expect(error).toMatchObject({ code: 'toy.broken' });
  });

  it('reports the failure of the first attempt with a different failure of a later one', async () => {
    const retried = { ...doing('a/two'), retry: { attempts: 3, every: seconds(1) } };
    const failures = [failure('toy.broken', 'no link'), failure('toy.wrong', 'too small')];
    const { error } = await runToy(toy({ steps: [retried] }), {
      world: worldOf(() => Promise.reject(failures.shift() ?? new Error('a third attempt'))),
    });
    expect(error).toMatchObject({
      code: 'toy.wrong',
      message: 'too small (the first attempt failed with toy.broken: no link)',
    });
  });

  it('is not retried after a permanent failure', async () => {
    const retried = { ...doing('a/two'), retry: { attempts: 3, every: seconds(1) } };
    const { error, events } = await runToy(toy({ steps: [retried] }), {
      world: breaks(1, 'toy.wrong'),
    });
    expect(error).toMatchObject({ code: 'toy.wrong' });
    expect(events.filter(({ type }) => type === 'step.retrying')).toHaveLength(0);
  });

  it('runs its exit handlers in reverse order and keeps its failure when one of them fails', async () => {
    const undone: string[] = [];
    const sets = step({
      id: 'a/mount',
      title: 'Mount',
      uses: ['world'],
      limit,
      run: ({ onExit }) => {
        onExit(() => Promise.resolve(void undone.push('first')), 'always');
        onExit(() => Promise.reject(new Error('cannot unmount')), 'failure');
        onExit(() => Promise.resolve(void undone.push('last')), 'failure');
        return Promise.reject(failure('toy.broken', 'it broke'));
      },
    });
    const { error, events } = await runToy(toy({ steps: [sets] }));
    expect(error).toMatchObject({ code: 'toy.broken' });
    expect(undone).toEqual(['last', 'first']);
    expect(events).toContainEqual(expect.objectContaining({ type: 'note', level: 'warn' }));
  });

  it('times out at its limit', async () => {
    const slow = step({
      id: 'a/slow',
      title: 'Take long',
      uses: [],
      limit: seconds(5),
      run: ({ signal }) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('an echo'));
          });
        }),
    });
    const { error } = await runToy(toy({ steps: [slow] }));
    expect(error).toMatchObject({ code: 'step.timed-out', context: { step: 'a/slow' } });
  });

  it('reports an unexpected error as a bug', async () => {
    const world = worldOf(() => Promise.reject(new TypeError('x is undefined')));
    const { error } = await runToy(toy({ steps: [doing('a/one')] }), { world });
    expect(error).toMatchObject({ code: 'run.unexpected', kind: 'bug' });
  });
});

describe('a journal that cannot be written', () => {
  const full = failure('toy.wrong', 'no space left on device');
  /** A journal that is full after a number of lines. */
  const fullAfter = (lines: number): MemoryJournal => {
    const kept = memoryJournal();
    return {
      ...kept,
      append: (line, options) =>
        kept.lines.length < lines ? kept.append(line, options) : Promise.reject(full),
    };
  };

  it('does not replace the failure of a step or prevent the steps that always run', async () => {
    const world = worldOf((what) =>
      what === 'a/one'
        ? Promise.reject(failure('toy.broken', 'the disk is full'))
        : Promise.resolve(),
    );
    const { error, events } = await runToy(
      toy({ steps: [doing('a/one')], always: [doing('logs/collect')] }),
      { world, journal: fullAfter(2) },
    );
    expect(error).toMatchObject({ code: 'toy.broken' });
    expect(world.did).toEqual(['logs/collect']);
    expect(types(events)).toEqual([
      'run.started',
      'step.started a/one',
      'step.failed a/one',
      'note a/one',
      'run.failed',
      'step.started logs/collect',
      'step.finished logs/collect',
    ]);
  });

  it('does not replace a stop', async () => {
    const control = new AbortController();
    const world = worldOf(() => {
      control.abort(failure('toy.broken', 'stopped'));
      return Promise.reject(new Error('an echo'));
    });
    const how = { world, journal: fullAfter(2), signal: control.signal };
    const { error } = await runToy(toy({ steps: [doing('a/one')] }), how);
    expect(error).toMatchObject({ message: 'stopped' });
  });

  it.each([0, 1, 2])('fails the run when it is full after %d lines', async (lines) => {
    const { error, events } = await runToy(toy({ steps: [doing('a/one')] }), {
      journal: fullAfter(lines),
    });
    expect(error).toBe(full);
    expect(types(events).at(-1)).toBe('run.failed');
  });
});

describe('a stop from outside', () => {
  it('ends the run with its reason and skips the steps that always run', async () => {
    const control = new AbortController();
    const world = worldOf((what) => {
      if (what === 'a/two') control.abort(failure('toy.broken', 'stopped'));
      return Promise.resolve();
    });
    const { error, events } = await runToy(
      toy({ steps: [doing('a/two'), doing('a/three')], always: [doing('logs/collect')] }),
      { world, signal: control.signal },
    );
    expect(error).toMatchObject({ message: 'stopped' });
    expect(world.did).toEqual(['a/two']);
    expect(types(events).at(-1)).toBe('run.stopped');
  });
});
