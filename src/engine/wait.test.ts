import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../test/support/fake-clock.ts';
import { minutes, seconds } from '../model/duration.ts';
import { untilOf, type WaitEnd, type WaitUpdate } from './wait.ts';

const open = new AbortController().signal;

function waiting(signal = open) {
  const clock = fakeClock();
  const reported: WaitUpdate[] = [];
  const ended: WaitEnd[] = [];
  const listener = {
    updated: (update: WaitUpdate) => void reported.push(update),
    finished: (end: WaitEnd) => void ended.push(end),
  };
  return { clock, reported, ended, until: untilOf(clock, signal, listener) };
}

describe('a wait', () => {
  it('reports its end after it has reported a status', async () => {
    const { until, clock, ended } = waiting();
    const poll = () => Promise.resolve(clock.now() > 0 ? { done: 1 } : { status: 'not yet' });
    await until('it is true', poll, { every: seconds(3), within: minutes(5) });
    expect(ended).toEqual([{ sentence: 'it is true', isReached: true, waited: seconds(3) }]);
  });

  it('times out at its limit, even if the next poll is due later', async () => {
    const { until, clock } = waiting();
    const poll = () => Promise.resolve({ status: 'not yet' });
    const late = until('it is true', poll, { every: minutes(4), within: minutes(5) });
    await expect(late).rejects.toMatchObject({ code: 'wait.timed-out' });
    expect(clock.now()).toBe(minutes(5));
  });

  it('reports a status only when it changes', async () => {
    const { until, reported } = waiting();
    const statuses = ['one', 'one', 'two', 'one'];
    const poll = () => {
      const status = statuses.shift();
      return Promise.resolve(status === undefined ? { done: 1 } : { status });
    };
    await until('it is true', poll, { every: seconds(3), within: minutes(5) });
    expect(reported.map(({ status }) => status)).toEqual(['one', 'two', 'one']);
  });

  it('reports nothing when the first poll succeeds', async () => {
    const { until, reported, ended } = waiting();
    await until('it is true', () => Promise.resolve({ done: 1 }), { every: 1, within: 2 });
    expect([reported, ended]).toEqual([[], []]);
  });
});

describe('a wait that watches', () => {
  it('polls when the watch reports a change, not on an interval', async () => {
    const { until, clock } = waiting();
    let isTrue = false;
    const polls: number[] = [];
    const done = until(
      'it is true',
      () => {
        polls.push(clock.now());
        return Promise.resolve(isTrue ? { done: 'yes' } : { status: 'not yet' });
      },
      {
        within: minutes(5),
        watch: async (changed, signal) => {
          await clock.sleep(seconds(7), signal);
          isTrue = true;
          changed();
        },
      },
    );
    expect(await done).toBe('yes');
    expect(polls).toEqual([0, seconds(7)]);
  });

  it('polls again when a change arrives during a poll', async () => {
    const { until, clock } = waiting();
    let notify = (): void => undefined;
    let polls = 0;
    const done = until(
      'it is true',
      async () => {
        polls += 1;
        if (polls === 2) return { done: polls };
        notify();
        await settle();
        return { status: 'not yet' };
      },
      {
        within: minutes(5),
        watch: (changed, signal) => {
          notify = changed;
          return new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve(), { once: true });
          });
        },
      },
    );
    expect(await done).toBe(2);
    expect(clock.now()).toBe(0);
  });

  it('stops its watch when it ends', async () => {
    const { until } = waiting();
    const watched: string[] = [];
    await until('it is true', () => Promise.resolve({ done: true }), {
      within: minutes(1),
      watch: async (_, signal) => {
        watched.push('started');
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        watched.push('stopped');
      },
    });
    expect(watched).toEqual(['started', 'stopped']);
  });

  it('fails when its watch fails', async () => {
    const { until } = waiting();
    const done = until('it is true', () => Promise.resolve({ status: 'not yet' }), {
      within: minutes(5),
      watch: () => Promise.reject(new Error('denied')),
    });
    await expect(done).rejects.toThrow('denied');
  });

  it('polls on its interval after the watch has ended', async () => {
    const { until, clock } = waiting();
    let polls = 0;
    const poll = () => {
      polls += 1;
      return Promise.resolve(polls === 3 ? { done: true } : { status: 'not yet' });
    };
    await until('it is true', poll, {
      every: seconds(5),
      within: minutes(5),
      watch: () => Promise.resolve(),
    });
    expect(clock.now()).toBe(seconds(10));
  });

  it('times out at its limit while it watches', async () => {
    const { until, reported, ended } = waiting();
    const done = until('it is true', () => Promise.resolve({ status: 'not yet' }), {
      within: minutes(5),
      watch: (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
        }),
    });
    await expect(done).rejects.toMatchObject({
      code: 'wait.timed-out',
      message: 'it is true: not within 5 min; last seen: not yet',
    });
    expect(reported).toEqual([
      { sentence: 'it is true', status: 'not yet', waited: 0, limit: minutes(5) },
    ]);
    expect(ended).toEqual([{ sentence: 'it is true', isReached: false, waited: minutes(5) }]);
  });
});
