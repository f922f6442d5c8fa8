import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeRandom } from '../../../test/support/fake-random.ts';
import { reportRetries, type WaitEnd, type WaitUpdate } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { inventoryFailure } from './failures.ts';
import { AttemptFailure, pauseBefore, retryAfter, withRetry } from './retry.ts';

const signal = new AbortController().signal;
const policy = {
  peer: 'the service',
  what: 'GET /x',
  silence: () => inventoryFailure('inventory.unreachable', 'silent'),
};
const callerOf = (clock = fakeClock()) => ({ clock, random: fakeRandom() });
const failing = (more: Partial<AttemptFailure['verdict']> = {}): AttemptFailure =>
  new AttemptFailure({
    retries: Infinity,
    failure: inventoryFailure('inventory.unreachable', 'gone'),
    ...more,
  });

/** Fails a number of times, then returns its count. */
const after = (failures: number, verdict: Partial<AttemptFailure['verdict']> = {}) => {
  let attempts = 0;
  return () => {
    attempts += 1;
    return attempts > failures ? Promise.resolve(attempts) : Promise.reject(failing(verdict));
  };
};

describe('withRetry', () => {
  it('doubles the pause up to ten seconds', () => {
    const most = { ...fakeRandom(), between: (_: number, high: number) => high };
    expect([0, 1, 2, 3, 50].map((index) => pauseBefore(index, most))).toEqual(
      [2, 4, 8, 10, 10].map((count) => seconds(count)),
    );
  });

  it('reports a wait with the peer, the last failure and the time limit', async () => {
    const clock = fakeClock();
    const reported: unknown[] = [];
    const listener = {
      updated: (update: WaitUpdate) => reported.push(update),
      finished: (end: WaitEnd) => reported.push(end),
    };
    const failure = inventoryFailure('inventory.unreachable', 'm', { context: { status: 503 } });
    const caller = { clock, random: { ...fakeRandom(), between: () => 1000 } };
    await reportRetries(listener, () => withRetry(caller, policy, signal, after(2, { failure })));
    const who = { sentence: 'the service' };
    expect(reported).toEqual([
      { ...who, status: '503, attempt 1', attempt: 1, waited: 0, limit: minutes(10) },
      { ...who, status: '503, attempt 2', attempt: 2, waited: 1000, limit: minutes(10) },
      { ...who, isReached: true, attempt: 3, waited: 2000 },
    ]);
  });

  it('aborts an attempt that does not end within the time limit', async () => {
    const clock = fakeClock();
    const stuck = (inner: AbortSignal) => clock.sleep(minutes(60), inner);
    const tried = withRetry(callerOf(clock), policy, signal, stuck);
    await expect(tried).rejects.toMatchObject({
      code: 'inventory.unreachable',
      context: { attempts: 1 },
    });
    expect(clock.now()).toBe(minutes(10));
  });

  it('pauses as long as the peer asks, for a minute at most', async () => {
    const clock = fakeClock();
    const caller = callerOf(clock);
    await withRetry(caller, policy, signal, after(1, { notBefore: seconds(30) }));
    expect(clock.now()).toBe(seconds(30));
    await withRetry(caller, policy, signal, after(1, { notBefore: minutes(60) }));
    expect(clock.now()).toBe(seconds(90));
  });

  it('ends a pause with the reason of the signal', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const caller = {
      ...callerOf(fakeClock({ auto: false })),
      onRetry: () => controller.abort(reason),
    };
    await expect(withRetry(caller, policy, controller.signal, after(9))).rejects.toBe(reason);
  });

  it('does not retry an error that is not a failed attempt', async () => {
    const broken = new TypeError('a networkError of ours');
    const tried = withRetry(callerOf(), policy, signal, () => Promise.reject(broken));
    await expect(tried).rejects.toBe(broken);
  });
});

it.each([
  ['120', seconds(120)],
  ['Thu, 01 Jan 1970 00:00:10 GMT', seconds(5)],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['soon', undefined],
  [undefined, undefined],
])('retryAfter reads %j as %j milliseconds', (header, wait) => {
  expect(retryAfter(header, seconds(5))).toBe(wait);
});
