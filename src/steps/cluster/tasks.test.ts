import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { seconds } from '../../model/duration.ts';
import { tasksOf } from './tasks.ts';

function setUp() {
  const clock = fakeClock({ auto: false });
  const controller = new AbortController();
  const notified: number[] = [];
  const tasks = tasksOf({ clock, signal: controller.signal }, () => notified.push(clock.now()));
  return { clock, controller, notified, tasks };
}

describe('work beside a wait', () => {
  it('is under way once, and notified when it ends', async () => {
    const { notified, tasks } = setUp();
    const gate = Promise.withResolvers<undefined>();
    let begun = 0;
    const work = async (): Promise<void> => {
      begun += 1;
      await gate.promise;
    };
    tasks.run('a', 0, work);
    tasks.run('a', 0, work);
    tasks.run('b', 0, work);
    expect([begun, notified.length]).toEqual([2, 0]);
    gate.resolve(undefined);
    await settle();
    expect(notified).toHaveLength(2);
  });

  it('is begun again after its pause, also when it failed', async () => {
    const { clock, tasks } = setUp();
    const begun: number[] = [];
    const work = (): Promise<void> => {
      begun.push(clock.now());
      return Promise.reject(new Error('failed'));
    };
    for (let count = 0; count < 5; count += 1) {
      tasks.run('a', seconds(5), work);
      await clock.advance(seconds(2));
    }
    expect(begun).toEqual([0, seconds(6)]);
  });

  it('is new for ten seconds, and only the first time', async () => {
    const { clock, tasks } = setUp();
    const ends: (() => void)[] = [];
    const work = (): Promise<void> =>
      new Promise((resolve) => {
        ends.push(resolve);
      });
    expect(tasks.isNewRunning()).toBe(false);
    tasks.run('a', 0, work);
    expect(tasks.isNewRunning()).toBe(true);
    await clock.advance(seconds(10));
    expect(tasks.isNewRunning()).toBe(false);
    ends[0]?.();
    await settle();
    tasks.run('a', 0, work);
    expect(tasks.isNewRunning()).toBe(false);
  });

  it('is stopped at the end, and all of it waited for', async () => {
    const { tasks } = setUp();
    const stopped: string[] = [];
    const start = (name: string, end: () => Promise<void>): void =>
      tasks.run(name, 0, async (signal) => {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        await end();
        stopped.push(name);
      });
    start('slow', settle);
    start('quick', () => Promise.resolve());
    await tasks.close();
    expect(stopped).toEqual(['quick', 'slow']);
  });
});
