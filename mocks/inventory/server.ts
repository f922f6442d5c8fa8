import type { Fault } from '../http/fault.ts';
import { type MockServer, startMockServer } from '../http/mock-server.ts';
import { inventoryApp } from './app.ts';
import type { Auth } from './auth.ts';
import type { ClusterView } from './cluster-rules.ts';
import { type InventoryStore, inventoryStore } from './store.ts';

/** A running inventory service. */
export interface InventoryServer extends MockServer {
  readonly store: InventoryStore;
}

/** How an inventory service is started. */
export interface InventoryOptions extends ClusterView {
  /** Nobody is asked for a token unless given. */
  readonly auth?: Auth;
  readonly faults?: readonly Fault[];
  /** A free port unless given. */
  readonly port?: number;
}

/** Starts the stand-in of the inventory service on 127.0.0.1. */
export async function startInventory({
  cluster,
  hosts,
  auth = { kind: 'none' },
  ...options
}: InventoryOptions): Promise<InventoryServer> {
  const store = inventoryStore({ cluster, hosts });
  const app = inventoryApp(store, auth);
  const server = await startMockServer({ ...options, answer: (request) => app.fetch(request) });
  return { ...server, store };
}
