import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../test/support/fake-clock.ts';
import { type Millis, minutes, seconds } from '../model/duration.ts';
import { keyQueue, type QueueOptions, type Result } from './queue.ts';

/** A queue whose runs the test ends one by one. */
function setUp(options: Partial<QueueOptions> = {}) {
  const clock = fakeClock({ auto: false });
  const stop = new AbortController();
  const begun: string[] = [];
  const open = new Map<string, PromiseWithResolvers<Result>>();
  const failed: [string, Millis][] = [];
  const queue = keyQueue(
    { clock, signal: stop.signal },
    {
      reconcile: (key, signal) => {
        begun.push(key);
        const run = Promise.withResolvers<Result>();
        signal.addEventListener('abort', () => {
          run.reject(signal.reason);
        });
        open.set(key, run);
        return run.promise;
      },
      failed: (key, _, pause) => void failed.push([key, pause]),
      ...options,
    },
  );
  const end = async (key: string, result: Result = {}): Promise<void> => {
    open.get(key)?.resolve(result);
    await settle();
  };
  const fail = async (key: string): Promise<void> => {
    open.get(key)?.reject(new Error('no'));
    await settle();
  };
  const add = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) queue.add(key);
    await settle();
  };
  return { clock, begun, failed, queue, add, end, fail };
}

describe('a queue', () => {
  it('runs a key once at a time, and once more if it was added meanwhile', async () => {
    const { add, begun, end } = setUp();
    await add('a', 'a', 'a', 'a');
    expect(begun).toEqual(['a']);
    await end('a');
    expect(begun).toEqual(['a', 'a']);
    await end('a');
    expect(begun).toHaveLength(2);
  });

  it('runs at most atOnce keys and keeps the others', async () => {
    const { queue, add, begun, end } = setUp({ atOnce: 2 });
    await add('a', 'b', 'c', 'd');
    expect(begun).toEqual(['a', 'b']);
    queue.add('c');
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('doubles the backoff of a failing key up to 30 seconds, without delaying other keys', async () => {
    const { queue, add, begun, failed, fail, clock, end } = setUp();
    queue.add('a');
    for (let times = 0; times < 7; times += 1) {
      await settle();
      await fail('a');
      await add('a');
      expect(begun).toHaveLength(times + 1);
      await clock.advance(seconds(30));
    }
    expect(failed.map(([, pause]) => pause)).toEqual([1, 2, 4, 8, 16, 30, 30].map(seconds));
    await add('b');
    expect(begun.at(-1)).toBe('b');
    await end('a');
    await add('a');
    await fail('a');
    expect(failed.at(-1)).toEqual(['a', seconds(1)]);
  });

  it('runs a key again after the requested time, or sooner when it is added', async () => {
    const { add, begun, clock, end } = setUp();
    await add('a');
    await end('a', { after: minutes(5) });
    await clock.advance(minutes(4));
    expect(begun).toHaveLength(1);
    await add('a');
    expect(begun).toHaveLength(2);
    await end('a', { after: minutes(5) });
    await clock.advance(minutes(4));
    expect(begun).toHaveLength(2);
    await clock.advance(minutes(1));
    expect(begun).toHaveLength(3);
  });

  it('uses the earliest of several times', async () => {
    const { queue, begun, clock } = setUp();
    queue.add('a', minutes(3));
    queue.add('a', minutes(1));
    queue.add('a', minutes(2));
    await clock.advance(seconds(59));
    expect(begun).toEqual([]);
    await clock.advance(seconds(1));
    expect(begun).toEqual(['a']);
  });

  it('merges additions of a key within the settle time', async () => {
    const { add, begun, clock, end } = setUp({ settle: seconds(1) });
    await add('a');
    await end('a');
    await add('a', 'a', 'a', 'a', 'a');
    expect(begun).toHaveLength(1);
    await clock.advance(seconds(1));
    expect(begun).toHaveLength(2);
    await end('a');
    await clock.advance(minutes(1));
    expect(begun).toHaveLength(2);
    expect(clock.sleeping()).toBe(0);
  });

  it('aborts the running key when it is closed, and starts nothing afterwards', async () => {
    const { queue, begun, failed, clock } = setUp({ atOnce: 1 });
    queue.add('a');
    queue.add('b');
    queue.add('c', minutes(1));
    await settle();
    await queue.close();
    queue.add('d');
    await clock.advance(minutes(2));
    expect(begun).toEqual(['a']);
    expect(failed).toEqual([]);
    expect(clock.sleeping()).toBe(0);
  });

  it('is closed once the running key has ended', async () => {
    const ending = Promise.withResolvers<Result>();
    const { queue, add } = setUp({ reconcile: () => ending.promise });
    await add('a');
    const seen: string[] = [];
    const closed = queue.close().then(() => seen.push('closed'));
    await settle();
    seen.push('ended');
    ending.resolve({});
    await closed;
    expect(seen).toEqual(['ended', 'closed']);
  });

  it('leaves no timer behind after its keys have run', async () => {
    const { queue, clock } = setUp({ reconcile: () => Promise.resolve({}), settle: seconds(1) });
    for (let number = 0; number < 50; number += 1) queue.add(`${number}`);
    await settle();
    await clock.advance(seconds(1));
    expect(clock.sleeping()).toBe(0);
  });
});
