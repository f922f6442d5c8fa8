import { describe, expect, it } from 'vitest';
import type { ConnectionTimeouts } from '../../../src/adapters/http/connection.ts';
import { minutes, seconds } from '../../../src/model/duration.ts';
import { quickClock } from '../../support/quick-clock.ts';
import { startServer, type TestServer } from '../real/http-server.ts';
import { atFault } from './at-fault.ts';
import { type Ending, type Fault, faults, type RequestKind, requestKinds } from './requests.ts';
import { isWatch, senders } from './senders.ts';

interface Cell {
  readonly name: string;
  readonly fault: Fault;
  readonly ending: Ending;
  readonly limit: RequestKind['limit'];
}

const cells: readonly Cell[] = requestKinds.flatMap(({ names, endings, limit }) =>
  names.flatMap((name) =>
    (Object.keys(faults) as Fault[]).map((fault) => ({
      name,
      fault,
      ending: endings[fault],
      limit,
    })),
  ),
);

/** Endless bodies run one by one: several at once would overload the test itself. */
const isLarge = ({ fault }: Cell): boolean => fault.startsWith('endless');

describe('every kind of request', () => {
  it('is in the table and has a sender', () => {
    const names = requestKinds.flatMap(({ names: some }) => some);
    expect([...names].sort()).toEqual(Object.keys(senders).sort());
  });

  it.concurrent.each(cells.filter((cell) => !isLarge(cell)))('$name: $fault', ends);
  it.each(cells.filter(isLarge))('$name: $fault', ends);
});

/** Sends the request of a cell to a faulty server, and checks the outcome. */
async function ends({ name, fault, ending, limit }: Cell): Promise<void> {
  const server = await faultyServer(name, fault);
  const clock = quickClock(paceOf(fault, ending, limit));
  const since = clock.elapsed();
  try {
    const sender = senders[name];
    if (sender === undefined) throw new RangeError(`nothing sends ${name}`);
    // Short timeouts only for a silent server: on a busy machine, no other attempt may be cut
    // short.
    const timeouts = impatience[fault];
    const outcome = await sender({ server, clock, timeouts, ending });
    expect(outcome).toMatchObject({
      code: ending.code,
      message: expect.stringContaining(ending.says ?? '') as string,
    });
    expect(outcome.isLeft).toBe(ending.isLeft);
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

const impatience: Partial<Record<Fault, ConnectionTimeouts>> = {
  stall: { connect: 2000, headers: 50, idle: 2000 },
  'slow 400': { connect: 2000, headers: 300, idle: 2000 },
};

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
  if (fault === 'slow 400') return 20;
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
