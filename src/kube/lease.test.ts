import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeClock, fakeClock, settle } from '../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../test/support/fake-kube.ts';
import { fakeRandom } from '../../test/support/fake-random.ts';
import { leases } from './kinds.ts';
import { hours, type Millis, minutes, seconds } from '../model/duration.ts';
import { kubeFailure } from '../ports/kube-failures.ts';
import type { Kube } from '../ports/kube.ts';
import { type HeldLease, holdLease } from './lease.ts';

const namespace = 'assisted-installer';
const ref = { kind: leases, namespace, name: 'bootwright-controller' };
const live = new AbortController().signal;
const forbidden = kubeFailure('kube.denied', 'forbidden', { context: { status: 403 } });
const without = 'RBAC forbids leases; running without leader election';

describe('a lease contender', () => {
  let clock: FakeClock;
  let kube: FakeKube;
  let stops: AbortController[];
  beforeEach(() => {
    clock = fakeClock({ auto: false, start: Date.parse('2026-11-23T00:00:00Z') });
    kube = fakeKube();
    stops = [];
  });
  afterEach(() => {
    for (const stop of stops) stop.abort(new Error('the test is over'));
  });

  const join = (pod: string, more: { kube?: Kube; skew?: Millis; isSingleNode?: boolean } = {}) => {
    const stop = new AbortController();
    stops.push(stop);
    const notes: string[] = [];
    const { skew = 0, isSingleNode = false } = more;
    const scope = {
      kube: more.kube ?? kube,
      clock: { ...clock, now: () => clock.now() + skew },
      random: fakeRandom(),
      signal: stop.signal,
      note: (_: string, message: string, fields: Readonly<Record<string, unknown>> = {}) =>
        void notes.push([message, ...Object.values(fields)].join(': ')),
    };
    const state: { lease?: HeldLease } = {};
    const ended = holdLease(scope, { lease: ref.name, namespace, pod, isSingleNode }).then(
      (lease) => {
        state.lease = lease;
      },
    );
    ended.catch(() => undefined);
    return { ended, notes, state, stop };
  };
  /** Joins and lets all ready work run. */
  const joined = async (...given: Parameters<typeof join>) => {
    const one = join(...given);
    await settle();
    return one;
  };
  const isLost = ({ state }: ReturnType<typeof join>) => state.lease?.lost.aborted;
  const held = (spec: object): FakeKube =>
    kube.put(leases, { metadata: { name: ref.name, namespace }, spec });
  const stored = (): Readonly<Record<string, unknown>> => {
    const [lease] = kube.objectsOf(leases);
    return Object(lease?.['spec']) as Readonly<Record<string, unknown>>;
  };
  const identity = (pod: string) => `${pod}_00000000-0000-4000-8000-000000000001`;

  it('creates a missing lease and renews it', async () => {
    const one = await joined('a');
    expect(one.state.lease).toBeDefined();
    expect(stored()).toEqual({
      holderIdentity: identity('a'),
      leaseDurationSeconds: 137,
      acquireTime: '2026-11-23T00:00:00.000000Z',
      renewTime: '2026-11-23T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await clock.advance(hours(1));
    expect(stored()).toMatchObject({
      acquireTime: '2026-11-23T00:00:00.000000Z',
      renewTime: '2026-11-23T00:59:48.000000Z',
    });
    expect(isLost(one)).toBe(false);
    expect(one.notes).toEqual([`the lease is held: ${identity('a')}`]);
  });

  it('waits for the holder, reports its name and takes the lease when it is released', async () => {
    const one = await joined('a');
    const two = join('b');
    await clock.advance(hours(1));
    expect(two.state.lease).toBeUndefined();
    expect(two.notes).toEqual([`another controller holds the lease: ${identity('a')}`]);
    await one.state.lease?.release();
    expect(stored()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    await clock.advance(seconds(32));
    expect(stored()).toMatchObject({ holderIdentity: identity('b'), leaseTransitions: 1 });
    expect(isLost(two)).toBe(false);
    expect(isLost(one)).toBe(false);
  });

  it('releases the lease when it is stopped', async () => {
    const one = await joined('a');
    await kube.patch(ref, { type: 'merge', body: { metadata: { labels: { a: 'b' } } } }, live);
    one.stop.abort(new Error('the end'));
    await one.state.lease?.release();
    expect(stored()).toMatchObject({ holderIdentity: '' });
  });

  it.each([-hours(5), 0, hours(5)])(
    'takes over from a dead holder with a clock skew of %i ms',
    async (skew) => {
      const one = await joined('a');
      const two = join('b', { skew });
      await clock.advance(seconds(60));
      const renewed = stored()['renewTime'];
      one.stop.abort(new Error('killed'));
      await clock.advance(seconds(100));
      expect(two.state.lease).toBeUndefined();
      await clock.advance(seconds(70));
      expect(stored()).toMatchObject({ holderIdentity: identity('b'), leaseTransitions: 1 });
      expect(stored()['renewTime']).not.toBe(renewed);
      expect(two.notes).toContain(`the lease is taken over: it was not renewed: ${identity('a')}`);
    },
  );

  it('takes over at once from an earlier process of its pod', async () => {
    held({ holderIdentity: 'a_x', leaseDurationSeconds: 137, leaseTransitions: 3 });
    const one = await joined('a');
    expect(one.state.lease).toBeDefined();
    expect(stored()).toMatchObject({ holderIdentity: identity('a'), leaseTransitions: 4 });
  });

  it('loses a lease that it could not renew for 107 seconds before another can take it', async () => {
    const away = { until: Number.POSITIVE_INFINITY };
    const shaky: Kube = {
      ...kube,
      replace: async (...given) => {
        if (clock.elapsed() >= away.until) throw kubeFailure('kube.unreachable', 'away');
        return kube.replace(...given);
      },
    };
    const one = await joined('a', { kube: shaky });
    const two = join('b');
    await clock.advance(seconds(26));
    away.until = seconds(26) + 1;
    await clock.advance(seconds(106));
    expect(isLost(one)).toBe(false);
    await clock.advance(seconds(2));
    expect(isLost(one)).toBe(true);
    expect(two.state.lease).toBeUndefined();
    await clock.advance(seconds(60));
    expect(two.state.lease).toBeDefined();
    expect(stored()).toMatchObject({ holderIdentity: identity('b') });
    // A release does not clear a lost lease.
    await one.state.lease?.release();
    expect(stored()).toMatchObject({ holderIdentity: identity('b') });
  });

  it.each([
    ['has no holder', {}, 0],
    ['has an empty holder', { holderIdentity: '' }, 0],
    ['is not renewed', { holderIdentity: 'z', leaseDurationSeconds: 137 }, 137],
    ['is held by a pod whose name has the same prefix', { holderIdentity: 'ab_0' }, 137],
    [
      'has a longer duration',
      { holderIdentity: 'z', renewTime: 'x', leaseDurationSeconds: 270 },
      270,
    ],
  ])('takes a lease that %s as soon as it is free', async (_, spec, freeAfter) => {
    held(spec);
    const one = join('a');
    if (freeAfter > 0) await clock.advance(seconds(freeAfter - 1));
    expect(one.state.lease).toBeUndefined();
    await clock.advance(seconds(1));
    expect(one.state.lease).toBeDefined();
  });

  it('counts from the start of a renewal, however late the response', async () => {
    let renewals = 0;
    const slow: Kube = {
      ...kube,
      replace: async (...given) => {
        renewals += 1;
        if (renewals > 1) throw kubeFailure('kube.unreachable', 'away');
        await clock.sleep(seconds(60), live);
        return kube.replace(...given);
      },
    };
    const one = join('a', { kube: slow });
    await clock.advance(seconds(26 + 106));
    expect(isLost(one)).toBe(false);
    await clock.advance(seconds(2));
    expect(isLost(one)).toBe(true);
  });

  it('loses the lease at its next renewal when another holds it', async () => {
    const one = await joined('a');
    held({ holderIdentity: 'z', leaseDurationSeconds: 137 });
    await clock.advance(seconds(26));
    expect(isLost(one)).toBe(true);
    expect(one.notes.at(-1)).toBe('the lease is lost: z holds it');
    expect(stored()).toMatchObject({ holderIdentity: 'z' });
  });

  it('keeps the lease when somebody labels or deletes it', async () => {
    const one = await joined('a');
    const body = { metadata: { labels: { a: 'b' } } };
    await kube.patch(ref, { type: 'merge', body }, live);
    await clock.advance(seconds(60));
    expect(stored()).toMatchObject({ renewTime: expect.stringContaining('T00:00:5') as unknown });
    kube.drop(ref);
    await clock.advance(seconds(60));
    expect(stored()).toMatchObject({ holderIdentity: identity('a') });
    expect(isLost(one)).toBe(false);
  });

  it('is the only holder when two write at once', async () => {
    held({ holderIdentity: '' });
    const both = [join('a'), join('b')];
    await clock.advance(seconds(100));
    expect(both.filter(({ state }) => state.lease !== undefined)).toHaveLength(1);
  });

  it('runs without a lease when RBAC forbids it, and reports that once', async () => {
    kube.lastError(forbidden);
    const one = await joined('a');
    expect(one.notes).toEqual([`${without}: forbidden`]);
    await clock.advance(hours(1));
    expect(isLost(one)).toBe(false);
    await one.state.lease?.release();
    expect(one.notes).toHaveLength(1);
  });

  it('retries a forbidden lease and holds it once it is allowed', async () => {
    kube.lastError(forbidden);
    const one = join('a');
    await clock.advance(minutes(1));
    kube.lastError(undefined);
    await clock.advance(minutes(1));
    expect(stored()).toMatchObject({ holderIdentity: identity('a') });
    expect(one.notes).toEqual([`${without}: forbidden`, 'the lease is held']);
    await one.state.lease?.release();
    expect(stored()).toMatchObject({ holderIdentity: '' });
  });

  it('stops when another holds the lease that was forbidden', async () => {
    kube.lastError(forbidden);
    const one = await joined('a');
    held({ holderIdentity: 'other_1', leaseDurationSeconds: 137 }).lastError(undefined);
    await clock.advance(minutes(1));
    expect(isLost(one)).toBe(true);
    await one.state.lease?.release();
    expect(stored()).toMatchObject({ holderIdentity: 'other_1' });
  });

  it('retries while the API server refuses its credentials, and reports that once', async () => {
    kube.lastError(kubeFailure('kube.denied', 'who?', { context: { status: 401 } }));
    const one = join('a');
    await clock.advance(hours(1));
    expect(one.notes).toEqual(['the lease cannot be taken: trying again: kube.denied']);
    kube.lastError(undefined);
    await clock.advance(seconds(32));
    expect(one.state.lease).toBeDefined();
  });

  it('uses a longer duration on a single node', async () => {
    await joined('a', { isSingleNode: true });
    expect(stored()).toMatchObject({ leaseDurationSeconds: 270 });
  });

  it('rejects with the abort reason when it is stopped while waiting', async () => {
    await joined('a');
    const two = await joined('b');
    two.stop.abort(new Error('the end'));
    await expect(two.ended).rejects.toThrow('the end');
  });
});
