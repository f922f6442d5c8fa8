import { describe, expect, it } from 'vitest';
import { type FakeClock, fakeClock, settle } from '../../test/support/fake-clock.ts';
import { silently, untilAborted, untilOf } from '../engine/wait.ts';
import { seconds } from '../model/duration.ts';
import { type Action, reconcile, type Reconciler, type ReconcileScope } from './reconcile.ts';

function scopeWith(clock: FakeClock, notes: string[] = []) {
  const controller = new AbortController();
  const { signal } = controller;
  const scope = {
    clock,
    signal,
    until: untilOf(clock, signal, silently),
    note: (_level: string, message: string, fields?: { readonly code?: unknown }) => {
      notes.push(`${message} ${String(fields?.code)}`);
    },
  } as unknown as ReconcileScope;
  return { controller, scope };
}

/** A reconciler of wanted keys; each that was applied is wanted no more. */
function setUp(
  wanted: readonly string[],
  gates: ReadonlyMap<string, PromiseWithResolvers<undefined>> = new Map(),
) {
  const clock = fakeClock({ auto: false });
  const state = {
    wanted: [...wanted],
    begun: [] as string[],
    notes: [] as string[],
    most: 0,
    broken: false,
  };
  const failing = new Set<string>();
  let changed = (): void => undefined;
  let running = 0;
  const { controller, scope } = scopeWith(clock, state.notes);
  const reconciler: Reconciler<readonly string[], Action> = {
    watch: (notify, watched) => {
      changed = notify;
      return untilAborted(watched);
    },
    observe: () => state.wanted,
    decide: (keys) => {
      if (state.broken) throw new TypeError('of an object that nobody foresaw');
      return {
        actions: keys.map((key) => ({ key })),
        missing: keys.length === 0 ? undefined : keys.join(', '),
      };
    },
    apply: async ({ key }) => {
      state.begun.push(key);
      running += 1;
      state.most = Math.max(state.most, running);
      await gates.get(key)?.promise;
      running -= 1;
      if (failing.has(key)) throw new Error('not yet');
      state.wanted = state.wanted.filter((one) => one !== key);
    },
  };
  const end = reconcile(scope, 'all is done', reconciler);
  return { clock, controller, end, failing, state, notify: () => changed() };
}

describe('reconciling', () => {
  it('continues after what cannot be observed or decided, and notes each cause once', async () => {
    const { clock, end, failing, state, notify } = setUp(['a']);
    state.broken = true;
    await settle();
    notify();
    await settle();
    expect(state.begun).toEqual([]);
    expect(state.notes).toEqual(['all is done: looking again run.unexpected']);
    state.broken = false;
    await clock.advance(seconds(30));
    await end;
    expect({ begun: state.begun, failing: failing.size }).toEqual({ begun: ['a'], failing: 0 });
  });

  it('ends when nothing is missing and nothing runs', async () => {
    const { end, state } = setUp(['a', 'b']);
    await end;
    expect(state.begun).toEqual(['a', 'b']);
  });

  it('runs eight actions at once, and each of them once', async () => {
    const keys = Array.from({ length: 10 }, (_, index) => `k${index}`);
    const gate = Promise.withResolvers<undefined>();
    const { end, notify, state } = setUp(keys, new Map(keys.map((key) => [key, gate])));
    await settle();
    notify();
    await settle();
    expect(state.begun).toEqual(keys.slice(0, 8));
    gate.resolve(undefined);
    await end;
    expect(state.begun).toEqual(keys);
    expect(state.most).toBe(8);
  });

  it('tries a failed action again after growing pauses, and notes each cause once', async () => {
    const { clock, end, failing, state } = setUp(['a', 'b']);
    failing.add('a');
    await settle();
    const begun: number[] = [];
    for (let second = 1; second <= 8; second += 1) {
      const before = state.begun.length;
      await clock.advance(seconds(1));
      await settle();
      if (state.begun.length > before) begun.push(second);
    }
    expect(begun).toEqual([1, 3, 7]);
    expect(state.notes).toEqual(['a: trying again run.unexpected']);
    failing.clear();
    await clock.advance(seconds(30));
    await end;
  });

  it('does once what may be done once, however long it is still seen', async () => {
    const clock = fakeClock({ auto: false });
    const { controller, scope } = scopeWith(clock);
    let begun = 0;
    const end = reconcile<undefined, Action>(scope, 'it is gone', {
      watch: (_, watched) => untilAborted(watched),
      every: seconds(1),
      observe: () => undefined,
      decide: () => ({ actions: [{ key: 'a', once: 'uid-1' }], missing: 'still seen' }),
      apply: () => {
        begun += 1;
        return begun === 1 ? Promise.reject(new Error('not yet')) : Promise.resolve();
      },
    });
    end.catch(() => undefined);
    await clock.advance(seconds(60));
    // It counts as done when it succeeded.
    expect(begun).toBe(2);
    controller.abort(new Error('over'));
    await end.catch(() => undefined);
  });

  it('ends with the reason of its signal, and leaves no work behind', async () => {
    const gate = Promise.withResolvers<undefined>();
    const { controller, end, state } = setUp(['a'], new Map([['a', gate]]));
    await settle();
    controller.abort(new Error('the cluster is installed'));
    gate.resolve(undefined);
    await expect(end).rejects.toThrow('the cluster is installed');
    expect(state.begun).toEqual(['a']);
  });
});
