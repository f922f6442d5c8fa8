import { systemClock, systemRandom } from '../../src/adapters/clock.ts';
import { serveRoutes } from '../../src/adapters/http-server.ts';
import { bootstrapControllers } from '../../src/capi/bootstrap/controller.ts';
import { bootstrapStores } from '../../src/capi/bootstrap/stores.ts';
import { inventoryRoutes } from '../../src/capi/inventory/routes.ts';
import { runControllers } from '../../src/kube/manager.ts';
import { clusterOf } from '../kube/cluster-access.ts';
import type { Management } from './management.ts';

/** The bootstrap provider in this process. */
export interface BootstrapProvider extends AsyncDisposable {
  /** Warnings of the provider, and failures of its server. */
  readonly failures: readonly string[];
}

/**
 * Applies the release, and runs the bootstrap provider with the account of its manager: rights that
 * its roles lack are missing here too. `seenByHosts` gets the local address of the inventory and
 * returns the address for hosts.
 */
export async function startBootstrapProvider(
  rig: Pick<Management, 'kube' | 'deploy'>,
  seenByHosts: (url: string) => string = (url) => url,
): Promise<BootstrapProvider> {
  await rig.deploy();
  const ends = new AsyncDisposableStack();
  const user = { name: 'system:serviceaccount:bootwright-bootstrap-system:manager' };
  const kube = clusterOf(await rig.kube.kubeconfigFor({ user, server: rig.kube.url }));
  ends.defer(kube.close);
  const ports = { kube, clock: systemClock, random: systemRandom };
  const stores = bootstrapStores(ports);
  const failures: string[] = [];
  const server = await serveRoutes(
    { listen: { host: '127.0.0.1', port: 0 }, routes: inventoryRoutes({ ...ports, stores }) },
    (...note) => failures.push(JSON.stringify(note)),
  );
  ends.defer(server.close);
  const emit = (event: object): void => {
    const { type, level } = event as { readonly type: string; readonly level?: string };
    if (type === 'note' && level === 'warn') failures.push(JSON.stringify(event));
  };
  const inventoryUrl = seenByHosts(server.url);
  const controllers = bootstrapControllers({ ...ports, stores, emit, inventoryUrl });
  const stop = new AbortController();
  const ended = runControllers(
    { ...ports, emit, signal: stop.signal },
    { name: 'bootstrap', controllers },
  ).catch(() => undefined);
  ends.defer(async () => {
    stop.abort(new Error('the test has ended'));
    await ended;
  });
  return { failures, [Symbol.asyncDispose]: () => ends.disposeAsync() };
}
