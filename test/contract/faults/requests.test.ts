import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { ConnectionTimeouts } from '../../../src/adapters/http/connection.ts';
import { minutes, seconds } from '../../../src/model/duration.ts';
import { quickClock } from '../../support/quick-clock.ts';
import { type Responder, startServer, type TestServer } from '../real/http-server.ts';
import { type Ending, type Fault, type RequestKind, requestKinds } from './requests.ts';
import { isWatch, senders } from './senders.ts';

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Responder =>
  (_, response) => {
    response.writeHead(code, headers).end('said by whoever stands before the server');
  };

/** Sends forty bytes of a hundred, then closes the connection. */
const broken: Responder = (_, response) => {
  response.writeHead(200, { 'content-length': '100' });
  response.write(`{"items":[{"metadata":{"name":"${'x'.repeat(10)}`);
  const reset = (): void => void response.socket?.resetAndDestroy();
  setTimeout(reset, 5); // sleeps: until the client has read the head
};

/**
 * Resolves when the response can take more, or its client is gone; ignores the event that loses.
 */
async function drained(response: ServerResponse): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  over.abort();
}

const lump = Buffer.alloc(2 ** 20, 'x');

/** The answers of a faulty server; a refusing server is closed, and does not answer. */
const atFault: Readonly<Record<Fault, Responder>> = {
  refused: () => undefined,
  reset: broken,
  stall: () => undefined,
  '401': status(401),
  '404': status(404),
  '409': status(409),
  '429': status(429, { 'retry-after': '30' }),
  '503': status(503),
  HTML: (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Log in</html>');
  },
  endless: async (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('["');
    while (!response.destroyed) {
      if (!response.write(lump)) await drained(response);
    }
  },
};

const faults = Object.keys(atFault) as Fault[];

describe.each(Object.entries<RequestKind>(requestKinds))('%s', (name, { endings, limit }) => {
  const ends = (fault: Fault) => expectEnding(name, fault, endings[fault], limit);
  // Endless bodies run one by one: several at once would overload the test itself.
  it.concurrent.each(faults.filter((fault) => fault !== 'endless'))('%s', ends);
  it('endless', () => ends('endless'));
});

/** Sends a request to a faulty server, and checks the outcome. */
async function expectEnding(
  name: string,
  fault: Fault,
  ending: Ending,
  limit: RequestKind['limit'],
): Promise<void> {
  const server = await faultyServer(name, fault);
  const clock = quickClock(paceOf(fault, ending, limit));
  const since = clock.elapsed();
  try {
    // Short timeouts only for a silent server: on a busy machine, no other attempt may be cut
    // short.
    const timeouts: ConnectionTimeouts | undefined =
      fault === 'stall' ? { connect: 2000, headers: 50, idle: 2000 } : undefined;
    const outcome = await senders[name as keyof typeof senders]({
      server,
      clock,
      timeouts,
      ending,
    });
    expect(outcome).toMatchObject({
      code: ending.code,
      message: expect.stringContaining(ending.says ?? '') as string,
    });
    if (limit === undefined) return;
    const took = clock.elapsed() - since;
    // The clock continues while the outcome is checked.
    expect(took).toBeLessThan(limit + seconds(45));
    if (ending.attempts === 'limit') expect(took).toBeGreaterThan(limit / 4);
    else if (fault !== 'refused') expect(server.seen).toHaveLength(ending.attempts as number);
    if (fault === '429') {
      expect(server.seen.length).toBeLessThanOrEqual(1 + limit / seconds(30));
    }
  } finally {
    if (fault !== 'refused') await server.close();
  }
}

/**
 * The client detects a silent server after at least a second; a call takes four seconds then, with
 * a retry.
 */
const silent = seconds(4);

/**
 * The speed of the clock: ten minutes are short, but a silent server gets more than one request,
 * and a large body is read in time.
 */
function paceOf(fault: Fault, { attempts }: Ending, limit = minutes(1)): number {
  if (fault === 'stall') return limit / silent;
  if (fault === 'endless') return 45;
  return attempts === 'limit' ? 1000 : 200;
}

async function faultyServer(name: string, fault: Fault): Promise<TestServer> {
  const respond = atFault[fault];
  const server = await startServer((seen, response) => {
    if (name !== 'watch of what is followed' || isWatch(seen.path)) return respond(seen, response);
    // The server stops listening before the watch that follows the list.
    if (fault === 'refused') response.once('finish', () => void server.close());
    response.end('{"metadata":{"resourceVersion":"1"},"items":[]}');
    return undefined;
  });
  if (fault === 'refused' && name !== 'watch of what is followed') await server.close();
  return server;
}
