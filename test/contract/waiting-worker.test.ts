// The load of waiting workers on a failing service: hundreds of hosts wait at once.
import { expect, it } from 'vitest';
import type { RunEventBody } from '../../src/engine/events.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import { Reporter } from '../../src/reporting/reporter.ts';
import { waitForControlPlane } from '../../src/steps/cluster/wait-for-control-plane.ts';
import { quickClock } from '../support/quick-clock.ts';
import { tryStep } from '../support/run-step.ts';
import { json, type Responder } from './real/http-server.ts';
import { host, inventoryStand } from './real/inventory-stand.ts';

const stand = inventoryStand();
const config = { role: 'worker', service: { url: 'http://svc.example' } } as const;

/** The largest number of times within one minute. */
const mostInAMinute = (times: readonly number[]): number =>
  Math.max(
    0,
    ...times.map((from) => times.filter((at) => at >= from && at < from + minutes(1)).length),
  );

it.each<[string, Responder]>([
  ['503', json(503, {})],
  ['429', json(429, {})],
  ['404', json(404, {})],
  ['no response', (_, response) => void response.destroy()],
])(
  'a waiting worker sends at most two requests and four reports a minute on %s',
  async (_, bad) => {
    const clock = quickClock(400);
    const asked: number[] = [];
    const reported: number[] = [];
    stand.server.answering((seen, response) => {
      (seen.method === 'GET' ? asked : reported).push(clock.elapsed());
      return bad(seen, response);
    });
    const inventory = stand.v2({ clock, reportLimit: seconds(15) });
    const stop = new AbortController();
    const emit = (event: RunEventBody): void => {
      reporter.sink({ ...event, at: clock.now(), run: 'r' });
    };
    const reporter = new Reporter({
      ladder: 'worker',
      clock,
      send: (report, signal) => inventory.report(host, report, signal),
      emit: () => undefined,
    });
    const waiting = tryStep(waitForControlPlane, {
      config,
      clock,
      inventory,
      signal: stop.signal,
      heard: emit,
    });
    await clock.sleep(minutes(8), stop.signal);
    stop.abort(new Error('enough'));
    await waiting;
    reporter.close();
    expect(asked.length).toBeGreaterThan(8);
    expect(mostInAMinute(asked.filter((at) => at > seconds(10)))).toBeLessThanOrEqual(2);
    expect(mostInAMinute(reported.filter((at) => at > minutes(1)))).toBeLessThanOrEqual(4);
  },
);
