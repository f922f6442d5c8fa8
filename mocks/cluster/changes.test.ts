import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { WatchEvent } from '../kube/transport.ts';
import { type Changes, followChanges } from './changes.ts';
import { kinds } from './objects.ts';

const event: WatchEvent = { type: 'MODIFIED', object: { metadata: { name: 'm1' } } };

/** Tells of a change whenever it is let; ends with the signal. */
let emit: () => void;
let closing: AbortController;
let changes: Changes;

async function* watched(signal: AbortSignal): AsyncGenerator<WatchEvent> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    emit = () => resolve(undefined);
    signal.addEventListener('abort', emit);
    await promise;
    if (signal.aborted) return;
    yield event;
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  closing = new AbortController();
  changes = followChanges(
    {
      kube: { client: { watch: (_, { signal }) => watched(signal) } },
      state: () => ({ isApiUp: true }),
      signal: closing.signal,
    },
    [{ kind: kinds.Node }],
  );
});
afterEach(async () => {
  closing.abort(new Error('the test is over'));
  await changes.ended;
  vi.useRealTimers();
});

const afterHops = async (): Promise<void> => {
  for (let hop = 0; hop < 10; hop += 1) await Promise.resolve();
};

describe('changes of a cluster', () => {
  it('are there before anything was seen, and once', () => {
    expect([changes.take(), changes.take()]).toEqual([true, false]);
  });

  it('are there again when a watch tells of one, however many it tells of', async () => {
    changes.take();
    emit();
    await afterHops();
    emit();
    await afterHops();
    expect([changes.take(), changes.take()]).toEqual([true, false]);
  });

  it('are looked for again when the last look failed', () => {
    changes.take();
    changes.keep();
    expect([changes.take(), changes.take()]).toEqual([true, false]);
  });

  it('are looked for again after two seconds in which nobody told of any', () => {
    changes.take();
    vi.setSystemTime(Date.now() + 1999);
    expect(changes.take()).toBe(false);
    vi.setSystemTime(Date.now() + 1);
    expect([changes.take(), changes.take()]).toEqual([true, false]);
  });
});
