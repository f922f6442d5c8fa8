import type { Context } from 'hono';
import {
  type AddRoutes,
  asDownloadError,
  domainError,
  download,
  frameworkError,
  hostAt,
  listedHost,
  ProgressV1,
  ProgressV2,
  readJson,
  unknownCluster,
  shownCluster,
  shownHost,
} from './answers.ts';
import {
  clusterFile,
  clusterFileNames,
  clusterFileNamesV1,
  credentialNames,
  hostIgnition,
} from './ignition-files.ts';
import type { ClusterStatus } from './records.ts';
import { takeLogs } from './logs.ts';
import type { InventoryStore } from './store.ts';

const roleFilters = ['auto-assign', 'master', 'arbiter', 'worker'];

/** Routes for the cluster and the list of its hosts, version 2. */
export const addClusterRoutes: AddRoutes = (app, store) => {
  app.get('/v2/clusters/:cluster', ({ req }) => {
    const cluster = store.cluster();
    if (req.param('cluster') !== cluster.id) return unknownCluster(req.param('cluster'));
    const withHosts = req.query('exclude-hosts') !== 'true';
    return Response.json(shownCluster(cluster, withHosts ? store.hosts() : undefined));
  });
  app.get('/v2/clusters/:cluster/hosts', ({ req }) => {
    if (req.param('cluster') !== store.cluster().id) return unknownCluster(req.param('cluster'));
    const role = req.query('role');
    if (role !== undefined && !roleFilters.includes(role)) {
      return frameworkError(400, `role in query should be one of [${roleFilters.join(' ')}]`);
    }
    const listed = store.hosts().filter((host) => role === undefined || host.role === role);
    const withInventory = req.query('with-inventory') === 'true';
    return Response.json(listed.map((host) => listedHost(host, withInventory)));
  });
};

/** Routes for progress reports of hosts, version 2. */
export const addProgressRoutes: AddRoutes = (app, store) => {
  app.put('/v2/infra-envs/:infraEnv/hosts/:host/progress', (context) =>
    takeProgress(context, store, 'v2'),
  );
};

/** Accepts a progress report for the host of the path. */
async function takeProgress(
  context: Context,
  store: InventoryStore,
  api: 'v1' | 'v2',
): Promise<Response> {
  const body = await readJson(context.req.raw, api === 'v1' ? ProgressV1 : ProgressV2);
  if ('refusal' in body) return body.refusal;
  const host = hostAt(store, context.req.param());
  if (host === undefined) {
    return domainError(404, `host ${context.req.param('host') ?? ''} not found`);
  }
  const report = { stage: body.value.current_stage as string, info: body.value.progress_info };
  const decision = store.report(host.id, report, api);
  if (decision?.kind === 'refused') return domainError(decision.status, decision.reason);
  return new Response(null, { status: 200 });
}

const givesFiles: ReadonlySet<ClusterStatus> = new Set([
  'installing',
  'installing-pending-user-action',
  'finalizing',
  'installed',
  'error',
  'adding-hosts',
  'cancelled',
]);

/**
 * Routes for the Ignition of a host (the path says infra-env, singular), files and credentials,
 * version 2.
 */
export const addDownloadRoutes: AddRoutes = (app, store) => {
  app.get('/v2/infra-env/:infraEnv/hosts/:host/downloads/ignition', ({ req }) =>
    giveHostIgnition(store, req.param()),
  );
  for (const [area, offered] of [
    ['files', clusterFileNames],
    ['credentials', credentialNames],
  ] as const) {
    app.get(`/v2/clusters/:cluster/downloads/${area}`, ({ req }) =>
      giveClusterFile(store, offered, {
        cluster: req.param('cluster'),
        name: req.query('file_name') ?? '',
      }),
    );
  }
};

async function giveHostIgnition(
  store: InventoryStore,
  path: { readonly infraEnv: string; readonly host: string },
): Promise<Response> {
  const host = hostAt(store, path);
  if (host === undefined) {
    return asDownloadError(domainError(404, `host ${path.host} not found`));
  }
  const refusal = statusRefusal(store);
  if (refusal !== undefined) return asDownloadError(refusal);
  return download(`${host.role}-${host.id}.ign`, hostIgnition(store, host));
}

/** Answers with one of the files that this path offers, in either version of the API. */
async function giveClusterFile(
  store: InventoryStore,
  offered: readonly string[],
  { cluster, name }: { readonly cluster: string; readonly name: string },
): Promise<Response> {
  if (!offered.includes(name)) {
    return frameworkError(400, `file_name in query should be one of [${offered.join(' ')}]`);
  }
  if (cluster !== store.cluster().id) {
    return asDownloadError(domainError(404, `cluster ${cluster} not found`));
  }
  const refusal = statusRefusal(store, name);
  if (refusal !== undefined) return asDownloadError(refusal);
  const content = clusterFile(store, name);
  return content === undefined
    ? asDownloadError(domainError(409, `object ${cluster}/${name} was not found`))
    : download(servedName(store, name), content);
}

/**
 * Until the ingress has its certificate, the file without the ingress replaces the complete
 * kubeconfig.
 */
const servedName = (store: InventoryStore, name: string): string =>
  name === 'kubeconfig' && !store.cluster().hasIngressCa ? 'kubeconfig-noingress' : name;

function statusRefusal(store: InventoryStore, name = ''): Response | undefined {
  const { status } = store.cluster();
  // The kubeconfig with the ingress is available later than all other files.
  const isEarly = name === 'kubeconfig' && status === 'installing';
  return givesFiles.has(status) && !isEarly
    ? undefined
    : domainError(409, `cluster is in ${status} state, files can not be downloaded`);
}

/**
 * Version 1 of the API, as of August 2020: no infra-envs, one Ignition for each role, all hosts of
 * the cluster in one list.
 */
export const addV1Routes: AddRoutes = (app, store) => {
  app.put('/clusters/:cluster/hosts/:host/progress', (context) =>
    takeProgress(context, store, 'v1'),
  );
  app.get('/clusters/:cluster/downloads/files', ({ req }) =>
    giveClusterFile(store, clusterFileNamesV1, {
      cluster: req.param('cluster'),
      name: req.query('file_name') ?? '',
    }),
  );
  app.get('/clusters/:cluster/hosts', ({ req }) =>
    req.param('cluster') === store.cluster().id
      ? Response.json(store.hosts().map((host) => shownHost(host, true)))
      : unknownCluster(req.param('cluster')),
  );
  app.get('/clusters/:cluster', ({ req }) =>
    req.param('cluster') === store.cluster().id
      ? Response.json(shownCluster(store.cluster(), store.hosts()))
      : unknownCluster(req.param('cluster')),
  );
  app.post('/clusters/:cluster/hosts/:host/logs', (context) =>
    takeLogs(context, store, context.req.param('host')),
  );
};
