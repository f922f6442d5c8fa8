import { describe, expect, it } from 'vitest';
import { condition } from './condition.ts';
import { lanes } from './role.ts';
import { fakeClock, settle } from '../../test/support/fake-clock.ts';
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

describe('lanes', () => {
  it('pass facts to each other', async () => {
    const { world } = await runToy(
      toy({ steps: [lanes({ one: [wipe], two: [doing('b/slow'), findDisk] }), doing('a/end')] }),
    );
    expect(world.did).toEqual(['b/slow', 'disk/find', 'wipe /dev/toy', 'a/end']);
  });

  it('all end before the next step starts', async () => {
    const world = worldOf((what) => (what === 'b/slow' ? settle() : Promise.resolve()));
    const both = lanes({ one: [doing('a/quick')], two: [doing('b/slow')] });
    await runToy(toy({ steps: [both, doing('a/end')] }), { world });
    expect(world.did).toEqual(['a/quick', 'b/slow', 'a/end']);
  });

  it('stop each other on a failure, and the run reports the first failure', async () => {
    const stops: string[] = [];
    const waits = step({
      id: 'a/waits',
      title: 'Wait',
      uses: [],
      limit,
      run: ({ signal }) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => {
            stops.push('a/waits');
            reject(failure('toy.wrong', 'an echo'));
          });
        }),
    });
    const world = worldOf(() => Promise.reject(failure('toy.broken', 'it broke')));
    const { error, events } = await runToy(
      toy({ steps: [lanes({ one: [waits], two: [doing('b/breaks')] })] }),
      { world },
    );
    expect(error).toMatchObject({ code: 'toy.broken' });
    expect(stops).toEqual(['a/waits']);
    expect(types(events)).toContain('step.stopped a/waits');
    expect(types(events).filter((type) => type.startsWith('step.failed'))).toEqual([
      'step.failed b/breaks',
    ]);
  });

  const isSmall = condition<ToyConfig>('the toy cleans', ({ cleans }) => cleans);
  const beside = { one: [doing('a/one'), doing('a/two')], two: [doing('b/one')] };

  it('run in sequence when the condition inTurn holds', async () => {
    const { world, events } = await runToy(toy({ steps: [lanes(beside, { inTurn: isSmall })] }));
    expect(world.did).toEqual(['a/one', 'a/two', 'b/one']);
    expect(types(events)).not.toContain('lanes.started');
  });
});

describe('a cancelled run', () => {
  const withdrawn = failure('toy.wrong', 'cancelled');
  const waiting = (id: string) =>
    step({
      id,
      title: id,
      uses: [],
      limit,
      run: async ({ until }) => {
        await until('it is there', () => Promise.resolve({ status: 'no' }), {
          every: limit / 10,
          within: limit,
        });
      },
    });

  it('finishes the current step and ends before the next one', async () => {
    const halt = new AbortController();
    const world = worldOf((what) => {
      if (what === 'a/one') halt.abort(withdrawn);
      return Promise.resolve();
    });
    const { error, events } = await runToy(toy({ steps: [doing('a/one'), doing('a/two')] }), {
      world,
      halt: halt.signal,
    });
    expect(error).toBe(withdrawn);
    expect(world.did).toEqual(['a/one']);
    expect(types(events)).toContain('step.finished a/one');
    expect(types(events).at(-1)).toBe('run.failed');
  });

  it('ends a wait immediately and runs the steps that always run', async () => {
    const halt = new AbortController();
    const run = runToy(
      toy({ steps: [waiting('a/waits'), doing('a/two')], always: [doing('a/always')] }),
      { clock: fakeClock({ auto: false }), halt: halt.signal },
    );
    await settle();
    halt.abort(withdrawn);
    const { error, world } = await run;
    expect(error).toBe(withdrawn);
    expect(world.did).toEqual(['a/always']);
  });

  it('lets the current step of another lane finish', async () => {
    const halt = new AbortController();
    const { promise: written, resolve: end } = Promise.withResolvers<void>();
    const signals: AbortSignal[] = [];
    const writes = step({
      id: 'b/writes',
      title: 'Write',
      uses: [],
      limit,
      run: async ({ signal }) => {
        signals.push(signal);
        halt.abort(withdrawn);
        await written;
      },
    });
    const run = runToy(
      toy({ steps: [lanes({ one: [waiting('a/waits')], two: [writes, doing('b/two')] })] }),
      { clock: fakeClock({ auto: false }), halt: halt.signal },
    );
    await settle();
    end();
    const { error, events, world } = await run;
    expect(error).toBe(withdrawn);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    expect(types(events)).toContain('step.finished b/writes');
    expect(world.did).toEqual([]);
  });

  it('does not retry a failed step', async () => {
    const halt = new AbortController();
    let attempts = 0;
    const failing: typeof findDisk = {
      ...findDisk,
      retry: { attempts: 2, every: limit },
      run: () => {
        attempts += 1;
        halt.abort(withdrawn);
        throw failure('toy.broken', 'not now');
      },
    };
    const { error } = await runToy(toy({ steps: [failing] }), {
      clock: fakeClock({ auto: false }),
      halt: halt.signal,
    });
    expect([error, attempts]).toEqual([withdrawn, 1]);
  });

  it('does not wait for a fact of a lane that has ended', async () => {
    const halt = new AbortController();
    const withoutFact: typeof findDisk = {
      ...findDisk,
      run: ({ until }) => {
        halt.abort(withdrawn);
        return until('there is one', () => Promise.resolve({ status: 'no' }), {
          every: limit,
          within: limit,
        });
      },
    };
    const { error, world } = await runToy(
      toy({ steps: [lanes({ one: [wipe], two: [withoutFact] })] }),
      { clock: fakeClock({ auto: false }), halt: halt.signal },
    );
    expect(error).toBe(withdrawn);
    expect(world.did).toEqual([]);
  });
});
