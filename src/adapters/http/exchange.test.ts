import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { answerTo, exchange, shortText, wholeBody } from './exchange.ts';

const { signal } = new AbortController();

async function* body(...chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  for (const chunk of chunks) yield Buffer.from(chunk);
}

async function all(chunks: AsyncIterable<Uint8Array>): Promise<readonly Uint8Array[]> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return read;
}

it.each([
  [5, 'stopped after 4 of 5 bytes: its end is missing'],
  [3, 'stopped after 4 of 3 bytes: its end is missing'],
])('wholeBody fails when 4 bytes arrive and %d were announced', async (bytes, words) => {
  const whole = wholeBody(body('ab', 'cd'), { origin: 'http://a/b', signal, bytes });
  await expect(all(whole)).rejects.toMatchObject({
    code: 'web.cut',
    message: `the download of http://a/b ${words}`,
  });
});

it.each([4, undefined])('wholeBody accepts 4 bytes when %s were announced', async (bytes) => {
  const whole = wholeBody(body('ab', 'cd'), { origin: 'http://a/b', signal, bytes });
  await expect(all(whole)).resolves.toHaveLength(2);
});

it('exchange throws the reason of a stop instead of a network error', async () => {
  const stop = new AbortController();
  const reset = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
  const timeouts = { connect: 1, headers: 1, idle: 1 };
  const dispatcherFor = (): Promise<never> => Promise.reject(reset);
  const reach = { connection: { timeouts, dispatcherFor }, clock: fakeClock() };
  const question = { method: 'GET', url: new URL('http://a/b'), headers: {} } as const;
  await expect(exchange(reach, question, stop.signal)).resolves.toMatchObject({
    networkError: { kind: 'passing' },
  });
  stop.abort(new Error('the run was stopped'));
  await expect(exchange(reach, question, stop.signal)).rejects.toThrow('the run was stopped');
});

const question = { method: 'GET', url: new URL('http://a/b'), headers: {} } as const;

/** A client that answers every request the same way. */
const answering = (request: () => Promise<object>): Parameters<typeof answerTo>[0] => {
  const dispatcher = { request } as unknown as Dispatcher;
  const dispatcherFor = (): Promise<Dispatcher> => Promise.resolve(dispatcher);
  const timeouts = { connect: 1, headers: 1, idle: 1 };
  return { connection: { timeouts, dispatcherFor }, clock: fakeClock() };
};

it('answerTo does not wait for an open request after a stop', async () => {
  const stop = new AbortController();
  const answered = answerTo(
    answering(() => {
      queueMicrotask(() => {
        stop.abort(new Error('the run was stopped'));
      });
      return new Promise(() => undefined);
    }),
    question,
    stop.signal,
  );
  await expect(answered).rejects.toThrow('the run was stopped');
});

describe('the body of an error response', () => {
  const refusal = async (read: (this: Readable) => void): Promise<readonly [string, Readable]> => {
    const raw = new Readable({ read });
    const reach = answering(() => Promise.resolve({ statusCode: 400, headers: {}, body: raw }));
    const { body } = await answerTo(reach, question, signal);
    return [await shortText(body, Number.POSITIVE_INFINITY), raw];
  };

  it('is read up to 64 KiB', async () => {
    const [text, raw] = await refusal(function () {
      this.push('x'.repeat(1000));
    });
    expect(text).toHaveLength(64 * 1024);
    expect(raw.destroyed).toBe(true);
  });

  it('is read as far as it arrives in time', async () => {
    const parts = ['no'];
    const [text, raw] = await refusal(function () {
      const part = parts.pop();
      if (part !== undefined) this.push(part);
    });
    expect(text).toBe('no');
    expect(raw.destroyed).toBe(true);
  });
});
