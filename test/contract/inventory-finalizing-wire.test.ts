// Requests of the controller to the inventory service, and their times.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type InventoryConnection, inventoryOf } from '../../src/adapters/http/inventory.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import { Secret } from '../../src/model/secret.ts';
import type { InstallationView, Inventory } from '../../src/ports/inventory.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { quickClock } from '../support/quick-clock.ts';
import { inTurn, json, startServer, type TestServer } from './real/http-server.ts';

const { signal } = new AbortController();
const cluster = { id: 'C', status: 'installing' };

let server: TestServer;
let adapters: InventoryConnection[] = [];
beforeEach(async () => {
  server = await startServer(json(200, cluster));
});
afterEach(async () => {
  await Promise.all(adapters.map(({ close }) => close()));
  adapters = [];
  await server.close();
});

function inventory(clock = quickClock()): Inventory {
  const adapter = inventoryOf('v2', {
    url: server.url,
    token: new Secret('token'),
    clusterId: 'C',
    infraEnvId: '',
    hostId: '',
    clock,
    random: fakeRandom(),
  });
  adapters.push(adapter);
  return adapter;
}

describe('requests of the controller', () => {
  it('are retried at most 16 times', async () => {
    server.answering(json(503, {}));
    const call = inventory(quickClock(100)).reportFinalizing('Done', signal);
    await expect(call).rejects.toMatchObject({ code: 'inventory.unreachable' });
    expect(server.seen.length).toBeLessThanOrEqual(16);
    expect(server.seen.length).toBeGreaterThan(5);
  });

  it('list the operators again after 20 seconds and after a report', async () => {
    server.answering(json(200, []));
    const clock = fakeClock({ auto: false });
    const port = inventory(clock);
    const asked = () => server.seen.filter(({ method }) => method === 'GET').length;
    await port.operators(signal);
    await clock.advance(seconds(20));
    await port.operators(signal);
    expect(asked()).toBe(1);
    await clock.advance(1);
    await port.operators(signal);
    expect(asked()).toBe(2);
    const report = { name: 'cvo', version: '', status: 'available', statusInfo: '' } as const;
    await port.reportOperator(report, signal);
    await port.operators(signal);
    expect(asked()).toBe(3);
  });

  it('do not return operators from before a report', async () => {
    const cvo = (status: string) => [{ operator_type: 'builtin', name: 'cvo', status }];
    const old = Promise.withResolvers<undefined>();
    let reads = 0;
    server.answering(async (seen, response) => {
      if (seen.method !== 'GET') return json(200, {})(seen, response);
      reads += 1;
      const status = reads === 1 ? 'progressing' : 'available';
      if (reads === 1) await old.promise;
      return json(200, cvo(status))(seen, response);
    });
    const port = inventory(fakeClock({ auto: false }));
    const asked = port.operators(signal);
    await expect.poll(() => reads, { interval: 2 }).toBe(1);
    const report = { name: 'cvo', version: '', status: 'available', statusInfo: '' } as const;
    await port.reportOperator(report, signal);
    old.resolve(undefined);
    expect(await asked).toMatchObject([{ status: 'available' }]);
    expect(await port.operators(signal)).toMatchObject([{ status: 'available' }]);
    expect(reads).toBe(2);
  });
});

describe('following the cluster', () => {
  /** Follows until the test ends; returns the views so far. */
  function following(port: Inventory, until: AbortSignal): readonly InstallationView[] {
    const views: InstallationView[] = [];
    void port.follow((view) => views.push(view), until);
    return views;
  }

  it('sends one request every 20 seconds for all followers, each with its own id', async () => {
    const clock = fakeClock({ auto: false });
    const port = inventory(clock);
    const stop = new AbortController();
    const [one, other] = [following(port, stop.signal), following(port, stop.signal)];
    for (let round = 1; round <= 4; round += 1) {
      await expect.poll(() => [one.length, other.length]).toEqual([round, round]);
      await clock.advance(seconds(20) - 1);
      expect(server.seen).toHaveLength(round);
      await clock.advance(1);
    }
    await expect.poll(() => one.length).toBe(5);
    stop.abort();
    await clock.advance(minutes(5));
    expect(server.seen).toHaveLength(5);
    const [first, second] = server.seen;
    expect(first?.path).toBe('/api/assisted-install/v2/clusters/C?exclude-hosts=false');
    expect(first?.headers['x-request-id']).not.toBe(second?.headers['x-request-id']);
  });

  it('refreshes early, but at least five seconds after the last request', async () => {
    const clock = fakeClock({ auto: false });
    const port = inventory(clock);
    const stop = new AbortController();
    const views = following(port, stop.signal);
    await expect.poll(() => views.length).toBe(1);
    port.refresh();
    port.refresh();
    await clock.advance(seconds(5) - 1);
    expect(server.seen).toHaveLength(1);
    await clock.advance(1);
    await expect.poll(() => views.length).toBe(2);
    await clock.advance(seconds(8));
    port.refresh();
    await expect.poll(() => views.length).toBe(3);
    await clock.advance(seconds(20) - 1);
    expect(server.seen).toHaveLength(3);
    stop.abort();
  });

  it('shows the known view to a new follower without an early request', async () => {
    const clock = fakeClock({ auto: false });
    const port = inventory(clock);
    const first = new AbortController();
    const before = following(port, first.signal);
    await expect.poll(() => before.length).toBe(1);
    first.abort();
    const second = new AbortController();
    const after = following(port, second.signal);
    expect(after).toEqual(before);
    await clock.advance(seconds(20) - 1);
    expect(server.seen).toHaveLength(1);
    await clock.advance(1);
    await expect.poll(() => after.length).toBe(2);
    second.abort();
  });

  it.each([
    [401, 'inventory.denied'],
    [404, 'inventory.not-found'],
    [500, 'inventory.unreachable'],
  ])(
    'shows the error of status %i with the last known cluster until the next response',
    async (...row) => {
      const [status, code] = row;
      server.answering(inTurn(json(200, cluster), json(status, {}), json(200, cluster)));
      const clock = fakeClock({ auto: false });
      const stop = new AbortController();
      const views = following(inventory(clock), stop.signal);
      for (let round = 1; round <= 3; round += 1) {
        if (round > 1) await clock.advance(seconds(20));
        await expect.poll(() => views.length).toBe(round);
      }
      expect(views.map(({ cluster: seen, lastError }) => [seen?.id, lastError?.code])).toEqual([
        ['C', undefined],
        ['C', code],
        ['C', undefined],
      ]);
      stop.abort();
    },
  );
});
