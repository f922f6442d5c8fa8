import { Hono } from 'hono';
import { domainError, frameworkError } from './answers.ts';
import { type Auth, refusalOf } from './auth.ts';
import { isUuid } from './bodies.ts';
import { addClusterRoutes } from './routes/clusters.ts';
import { addDownloadRoutes } from './routes/downloads.ts';
import { addLogRoutes } from './routes/logs.ts';
import { addProgressRoutes } from './routes/progress.ts';
import { addV1Routes } from './routes/v1.ts';
import type { InventoryStore } from './store.ts';

/** Path below which version 2 lives. */
const BASE_V2 = '/api/assisted-install';
/** Paths below which version 1 lived: until 7 May 2020 and after. */
const BASES_V1 = ['/api/bm-inventory/v1', '/api/assisted-install/v1'] as const;

/** The whole service as one application: who may come in, what a path must look like, routes. */
export function inventoryApp(store: InventoryStore, auth: Auth): Hono {
  const app = new Hono({ strict: false });
  app.get('/health', () => new Response(null, { status: 200 }));
  app.get('/ready', () => new Response(null, { status: 200 }));
  app.use('/api/*', async ({ req }, next) => {
    const refusal =
      unauthorised(store, { auth, token: req.header('x-secret-key') ?? '' }) ??
      malformed(new URL(req.url).pathname);
    if (refusal !== undefined) return refusal;
    await next();
    return undefined;
  });
  for (const add of [addProgressRoutes, addDownloadRoutes, addClusterRoutes, addLogRoutes]) {
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
