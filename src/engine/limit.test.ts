import { expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { seconds } from '../model/duration.ts';
import { limited } from './limit.ts';

const late = (): Error => new Error('late');
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

it('gives stopped work two seconds to clean up and throws the reason of the limit', async () => {
  const clock = fakeClock();
  const { signal } = new AbortController();
  let isClean = false;
  const work = limited(clock, { limit: seconds(5), signal, late }, async (inner) => {
    await aborted(inner);
    await clock.sleep(seconds(2), signal);
    isClean = true;
    throw new Error('an echo');
  });
  await expect(work).rejects.toThrow('late');
  expect(isClean).toBe(true);
});

it('abandons work that ignores the stop, before podman would kill the container', async () => {
  const clock = fakeClock();
  const { signal } = new AbortController();
  const ignoring = () => Promise.withResolvers<void>().promise;
  await expect(limited(clock, { limit: seconds(5), signal, late }, ignoring)).rejects.toThrow(
    'late',
  );
  expect(clock.elapsed()).toBeLessThan(seconds(5 + 4));
});

it('passes an aborted signal to work that begins after the stop', async () => {
  const signal = AbortSignal.abort(new Error('stopped'));
  let hasStopped = false;
  const work = limited(fakeClock(), { limit: seconds(5), signal, late }, (inner) => {
    hasStopped = inner.aborted;
    return Promise.reject(new Error('an echo'));
  });
  await expect(work).rejects.toThrow('stopped');
  expect(hasStopped).toBe(true);
});
