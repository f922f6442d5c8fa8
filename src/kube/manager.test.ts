import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../test/support/fake-clock.ts';
import { fakeKube } from '../../test/support/fake-kube.ts';
import { fakeRandom } from '../../test/support/fake-random.ts';
import { leases, nodes, pods } from './kinds.ts';
import type { RunEventBody } from '../engine/events.ts';
import { minutes, seconds } from '../model/duration.ts';
import { kubeFailure } from '../ports/kube-failures.ts';
import { informer } from './informer.ts';
import { type Controller, runControllers } from './manager.ts';

const contender = { lease: 'l', namespace: 'n', pod: 'p', isSingleNode: false };

function setUp(more: Partial<Controller> = {}) {
  const kube = fakeKube();
  const clock = fakeClock({ auto: false });
  const stop = new AbortController();
  const events: RunEventBody[] = [];
  const ran: string[] = [];
  const store = informer({ kube, clock }, { kind: nodes });
  const controller: Controller = {
    id: 'test/one',
    title: 'Test',
    idle: 'nothing to do',
    reads: [store],
    about: (key) => `node ${key}`,
    keys: () => store.all().map(({ metadata }) => metadata.name),
    watch: (add) => {
      store.onChange(({ before, after }) => add((after ?? before)?.metadata.name ?? ''));
    },
    reconcile: (key) => {
      ran.push(key);
      return Promise.resolve({});
    },
    ...more,
  };
  const emit = (event: RunEventBody): void => void events.push(event);
  let ended: Promise<unknown> | undefined;
  const run = (controllers: readonly Controller[] = [controller]): Promise<unknown> => {
    ended = runControllers(
      { kube, clock, random: fakeRandom(), emit, signal: stop.signal },
      { name: 'test', controllers, lease: contender },
    ).catch((error: unknown) => error);
    return ended;
  };
  const end = () => {
    stop.abort(new Error('stop'));
    return ended;
  };
  const statuses = (): readonly string[] =>
    events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : []));
  const holder = (): unknown =>
    (kube.objectsOf(leases)[0]?.['spec'] as { holderIdentity?: string } | undefined)
      ?.holderIdentity;
  return { kube, clock, end, events, ran, store, controller, run, statuses, holder };
}

const node = (name: string) => ({ metadata: { name } });

describe('controllers', () => {
  it('reconcile the existing keys, then the changed ones, and release the lease at the end', async () => {
    const { kube, end, ran, run, events, holder } = setUp();
    kube.put(nodes, node('a')).put(nodes, node('b'));
    void run();
    await settle();
    expect(ran).toEqual(['a', 'b']);
    kube.put(nodes, node('b'));
    kube.drop({ kind: nodes, name: 'a' });
    await settle();
    expect(ran).toEqual(['a', 'b', 'b', 'a']);
    expect(await end()).toEqual(new Error('stop'));
    expect(holder()).toBe('');
    expect(events.map(({ type }) => type)).toEqual([
      ...['run.started', 'note', 'step.started', 'wait.updated', 'step.stopped', 'run.stopped'],
    ]);
  });

  it('reconcile nothing before they hold the lease', async () => {
    const { kube, clock, end, ran, run } = setUp();
    const spec = { holderIdentity: 'other_1', leaseDurationSeconds: 60 };
    kube.put(leases, { metadata: { name: 'l', namespace: 'n' }, spec }).put(nodes, node('a'));
    void run();
    await clock.advance(seconds(59));
    kube.put(nodes, node('a'));
    await settle();
    expect(ran).toEqual([]);
    await clock.advance(seconds(40));
    expect(ran).toEqual(['a']);
    await end();
  });

  it('abort their work when another holds the lease, and do not release it', async () => {
    const signals: AbortSignal[] = [];
    const { kube, clock, run, events, holder } = setUp({
      reconcile: (_, signal) =>
        new Promise((_resolve, reject) => {
          signals.push(signal);
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
    });
    kube.put(nodes, node('a'));
    const ended = run();
    await settle();
    const [lease] = kube.objectsOf(leases);
    kube.put(leases, { ...lease!, spec: { holderIdentity: 'other', leaseDurationSeconds: 60 } });
    await clock.advance(minutes(1));
    expect(await ended).toMatchObject({ code: 'controller.lease-lost' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(holder()).toBe('other');
    expect(events.at(-1)).toMatchObject({ type: 'run.failed' });
  });

  it('hold the keys during a gap and reconcile all of them afterwards', async () => {
    const { kube, clock, end, ran, run, statuses } = setUp();
    kube.put(nodes, node('a')).put(nodes, node('b'));
    void run();
    await settle();
    ran.length = 0;
    kube.lastError(kubeFailure('kube.unreachable', 'no'));
    await clock.advance(minutes(1));
    kube.put(nodes, node('c'));
    await settle();
    expect(ran).toEqual([]);
    expect(statuses().at(-1)).toContain('does not answer');
    kube.lastError(undefined);
    await settle();
    expect(ran.toSorted()).toEqual(['a', 'b', 'c']);
    expect(statuses().at(-1)).toBe('nothing to do');
    await end();
  });

  it.each([
    ['one that fails, and log its error once', 'kube.unreachable', 'warn'],
    ['one with a conflict, and log it once as info', 'kube.conflict', 'info'],
  ] as const)('continue beside %s', async (_, code, level) => {
    const { kube, clock, end, ran, run, controller, events } = setUp();
    const broken: Controller = {
      ...controller,
      id: 'test/broken',
      reconcile: () => Promise.reject(kubeFailure(code, 'no')),
    };
    kube.put(nodes, node('a'));
    void run([broken, controller]);
    await clock.advance(minutes(1));
    expect(ran).toEqual(['a']);
    const notes = events.filter((event) => event.type === 'note' && event.step === 'test/broken');
    expect(notes).toMatchObject([
      { level, step: 'test/broken', message: 'node a: trying again', fields: { code } },
    ]);
    await end();
  });

  it('show what their keys wait for, at most ten', async () => {
    const { kube, end, run, statuses } = setUp({
      reconcile: (key) => Promise.resolve(key === 'z' ? {} : { status: `waits ${key}` }),
    });
    for (const name of ['a', 'b', 'z']) kube.put(nodes, node(name));
    void run();
    await settle();
    expect(statuses().at(-1)).toBe('waits a; waits b');
    for (let number = 0; number < 20; number += 1) kube.put(nodes, node(`n${number}`));
    await settle(40);
    expect(statuses().at(-1)).toMatch(/; and 12 more$/);
    await end();
  });

  it('show a key that fails, until it succeeds', async () => {
    let isBroken = true;
    const { kube, clock, end, run, statuses } = setUp({
      reconcile: () =>
        isBroken ? Promise.reject(kubeFailure('kube.invalid', 'no')) : Promise.resolve({}),
    });
    kube.put(nodes, node('a'));
    void run();
    await clock.advance(seconds(10));
    expect(statuses()).toEqual(['nothing to do', 'node a: kube.invalid']);
    isBroken = false;
    await clock.advance(minutes(1));
    expect(statuses().at(-1)).toBe('nothing to do');
    await end();
  });

  it('fail with the error that ends an informer', async () => {
    const { kube, clock, run, controller } = setUp();
    const follow = () => Promise.reject(kubeFailure('kube.bad-credentials', 'no'));
    const broken = informer({ kube: { follow }, clock }, { kind: pods });
    const ended = run([{ ...controller, reads: [broken] }]);
    expect(await ended).toMatchObject({ code: 'kube.bad-credentials' });
    expect(kube.objectsOf(leases).length).toBeLessThanOrEqual(1);
  });
});
