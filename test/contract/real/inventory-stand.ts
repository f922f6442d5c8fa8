import { afterEach, beforeEach } from 'vitest';
import type { InventoryOptions } from '../../../src/adapters/http/inventory-client.ts';
import { inventoryOf } from '../../../src/adapters/http/inventory.ts';
import { Secret } from '../../../src/model/secret.ts';
import type { Inventory } from '../../../src/ports/inventory.ts';
import { fakeRandom } from '../../support/fake-random.ts';
import { quickClock } from '../../support/quick-clock.ts';
import { json, startServer, type TestServer } from './http-server.ts';

/** The host that reports. */
export const host = { infraEnvId: 'I', hostId: 'H' };

/** An empty successful answer. */
export const ok = json(200, {});

/** A server on loopback with a test's answers, and inventories connected to it. */
interface InventoryStand {
  /** The server of the running test. */
  readonly server: TestServer;
  readonly v2: (more?: Partial<InventoryOptions>) => Inventory;
}

/** Gives each test of a file a server that answers 200 until the test changes it. */
export function inventoryStand(): InventoryStand {
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer(ok);
  });
  afterEach(() => server.close());
  return {
    get server() {
      return server;
    },
    v2: (more = {}) =>
      inventoryOf('v2', {
        url: server.url,
        token: new Secret('token'),
        clusterId: 'C',
        ...host,
        clock: quickClock(),
        random: fakeRandom(),
        ...more,
      }),
  };
}
