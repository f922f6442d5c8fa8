import { Hono } from 'hono';
import type { Fault } from '../http/fault.ts';
import { type MockServer, startMockServer } from '../http/mock-server.ts';
import { domainError, frameworkError, isUuid } from './answers.ts';
import { type Auth, refusalOf } from './auth.ts';
import {
  addClusterRoutes,
  addDownloadRoutes,
  addFinalizingRoutes,
  addLogRoutes,
  addProgressRoutes,
  addV1Routes,
} from './routes.ts';
import { type InventoryStore, inventoryStore, type StoreSeed } from './store.ts';

/** A running inventory service. */
export interface InventoryServer extends MockServer {
  readonly store: InventoryStore;
}

/** Options of an inventory service. */
interface InventoryOptions extends StoreSeed {
  /** Default: no token is required. */
  readonly auth?: Auth;
  readonly faults?: readonly Fault[];
  /** Default: a free port. */
  readonly port?: number;
  /** Certificate and key as PEM; without them, the server uses plain HTTP. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
}

/** Starts the stand-in of the inventory service on 127.0.0.1. */
export async function startInventory({
  cluster,
  hosts,
  finalizingLimits = {},
  hostLimits = {},
  auth = { kind: 'none' },
  ...options
}: InventoryOptions): Promise<InventoryServer> {
  const store = inventoryStore({ cluster, hosts, finalizingLimits, hostLimits });
  const app = inventoryApp(store, auth);
  const server = await startMockServer({ ...options, answer: (request) => app.fetch(request) });
  return { ...server, store };
}

/** Base path of version 2. */
const BASE_V2 = '/api/assisted-install';
/** Base paths of version 1: until 7 May 2020 and after. */
const BASES_V1 = ['/api/bm-inventory/v1', '/api/assisted-install/v1'] as const;

/** The whole service as one application: authentication, checks of paths, routes. */
export function inventoryApp(store: InventoryStore, auth: Auth): Hono {
  const app = new Hono({ strict: false });
  app.get('/health', () => new Response(null, { status: 200 }));
  app.get('/ready', () => new Response(null, { status: 200 }));
  app.use('/api/*', async ({ req }, next) => {
    const refusal =
      unauthorised(store, { auth, token: req.header('x-secret-key') ?? '' }) ??
      malformed(new URL(req.url).pathname);
    if (refusal !== undefined) return refusal;
    store.checkStages();
    await next();
    return undefined;
  });
  for (const add of [
    ...[addProgressRoutes, addDownloadRoutes, addClusterRoutes],
    ...[addLogRoutes, addFinalizingRoutes],
  ]) {
    add(app.basePath(BASE_V2), store);
  }
  for (const base of BASES_V1) addV1Routes(app.basePath(base), store);
  app.notFound(({ req }) => frameworkError(404, `path ${req.path} was not found`));
  app.onError((error) => domainError(500, error.message));
  return app;
}

function unauthorised(
  store: InventoryStore,
  { auth, token }: { readonly auth: Auth; readonly token: string },
): Response | undefined {
  const refusal = refusalOf(auth, token, {
    infraEnvIds: new Set(store.hosts().map(({ infraEnvId }) => infraEnvId)),
    clusterIds: new Set([store.cluster().id]),
  });
  return refusal === undefined ? undefined : frameworkError(401, refusal);
}

/** Ids in a path must be UUIDs, else 400. */
function malformed(path: string): Response | undefined {
  const ids = path.matchAll(/\/(infra-envs?|hosts|clusters)\/([^/]+)/g);
  for (const [, kind, id] of ids) {
    if (id !== undefined && !isUuid(id)) {
      return frameworkError(400, `${kind ?? ''} in path must be of type uuid: "${id}"`);
    }
  }
  return undefined;
}
