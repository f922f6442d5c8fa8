import type { Context } from 'hono';
import {
  type AddRoutes,
  asDownloadError,
  domainError,
  download,
  frameworkError,
  hostAt,
  listedHost,
  LogsProgress,
  ProgressV1,
  ProgressV2,
  readJson,
  shownCluster,
  shownHost,
  shownOperator,
  unknownCluster,
} from './answers.ts';
import {
  clusterFile,
  clusterFileNames,
  clusterFileNamesV1,
  credentialNames,
  hostIgnition,
} from './ignition-files.ts';
import type { ClusterStatus } from './records.ts';
import type { InventoryStore } from './store.ts';
import { z } from 'zod';
import {
  decideCompletion,
  decideIngressCa,
  decideOperator,
  decideStage,
  type EndDecision,
  finalizingStages,
} from './finalizing.ts';

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

const Stage = z.strictObject({ finalizing_stage: z.enum(finalizingStages) });

const Operator = z.strictObject({
  name: z.string(),
  version: z.string().optional(),
  status: z.enum(['failed', 'progressing', 'available']),
  status_info: z.string().default(''),
});

const Completion = z.strictObject({
  is_success: z.boolean(),
  error_info: z.string().default(''),
  data: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Routes for the end of an installation, version 2: stages of finalizing, operators, the ingress,
 * completion.
 */
export const addFinalizingRoutes: AddRoutes = (app, store) => {
  /** Reads a body for the cluster of the path, and answers by the rules. */
  const takes =
    <T>(schema: z.ZodType<T>, status: number, decide: (body: T) => EndDecision) =>
    async ({ req }: { readonly req: { readonly raw: Request; param(): object } }) => {
      const body = await readJson(req.raw, schema);
      if ('refusal' in body) return body.refusal;
      const { cluster = '' } = req.param() as { readonly cluster?: string };
      if (cluster !== store.cluster().id) return unknownCluster(cluster);
      return answerOf(store, decide(body.value), status);
    };
  app.put(
    '/v2/clusters/:cluster/progress',
    takes(Stage, 200, (body) => decideStage(store.cluster(), body.finalizing_stage, store.now())),
  );
  app.put(
    '/v2/clusters/:cluster/monitored-operators',
    takes(Operator, 200, ({ status_info: statusInfo, version, ...report }) => {
      const versioned = version === undefined ? {} : { version };
      return decideOperator(store.cluster(), { ...report, ...versioned, statusInfo });
    }),
  );
  app.post(
    '/v2/clusters/:cluster/uploads/ingress-cert',
    takes(z.string(), 201, (pem) => decideIngressCa(store.cluster(), pem)),
  );
  app.post(
    '/v2/clusters/:cluster/actions/complete-installation',
    takes(Completion, 202, ({ is_success: isSuccess, error_info: error, data }) => {
      store.addCompletion({ isSuccess, error, data });
      return decideCompletion(store.cluster(), { isSuccess, error });
    }),
  );
  app.get('/v2/clusters/:cluster/monitored-operators', ({ req }) => {
    const { id, operators } = store.cluster();
    if (req.param('cluster') !== id) return unknownCluster(req.param('cluster'));
    const name = req.query('operator_name') ?? '';
    const listed = operators.filter((one) => name === '' || one.name === name);
    if (name !== '' && listed.length === 0) return domainError(404, 'record not found');
    return Response.json(listed.map(shownOperator));
  });
};

function answerOf(store: InventoryStore, decision: EndDecision, status: number): Response {
  if (decision.kind === 'refused') return domainError(decision.status, decision.reason);
  store.setCluster(decision.cluster);
  return status === 202 ? Response.json({}, { status }) : new Response(null, { status });
}

const noContent = (): Response => new Response(null, { status: 204 });

/** Routes for the state of logs and for the logs themselves, version 2. */
export const addLogRoutes: AddRoutes = (app, store) => {
  app.put('/v2/infra-envs/:infraEnv/hosts/:host/logs-progress', async ({ req }) => {
    const body = await readJson(req.raw, LogsProgress);
    if ('refusal' in body) return body.refusal;
    const host = hostAt(store, req.param());
    if (host === undefined) return domainError(404, `host ${req.param('host')} not found`);
    store.setHostLogs(host.id, { logsState: body.value.logs_state });
    return noContent();
  });
  app.put('/v2/clusters/:cluster/logs-progress', async ({ req }) => {
    const body = await readJson(req.raw, LogsProgress);
    if ('refusal' in body) return body.refusal;
    if (req.param('cluster') !== store.cluster().id) return unknownCluster(req.param('cluster'));
    store.setClusterLogs(body.value.logs_state);
    return noContent();
  });
  app.post('/v2/clusters/:cluster/logs', (context) => {
    const { req } = context;
    if (req.param('cluster') !== store.cluster().id) return unknownCluster(req.param('cluster'));
    const type = req.query('logs_type') ?? '';
    if (type === 'controller') return takeControllerLogs(context, store);
    if (type !== 'host') {
      return frameworkError(400, 'logs_type in query should be one of [host controller]');
    }
    const hostId = req.query('host_id');
    return hostId === undefined
      ? frameworkError(400, 'host_id in query is required')
      : takeLogs(context, store, hostId);
  });
};

async function takeControllerLogs({ req }: Context, store: InventoryStore): Promise<Response> {
  const upload = await uploadIn(req);
  if ('refusal' in upload) return upload.refusal;
  const { name, type } = upload.file;
  const bytes = new Uint8Array(await upload.file.arrayBuffer());
  store.addControllerLogs({ filename: name, contentType: type, bytes });
  store.setClusterLogs('collecting');
  return noContent();
}

/** Accepts the logs of a host. */
export async function takeLogs(
  { req }: Context,
  store: InventoryStore,
  hostId: string | undefined,
): Promise<Response> {
  const upload = await uploadIn(req);
  if ('refusal' in upload) return upload.refusal;
  const logs = { logsState: 'collecting', logBytes: upload.file.size };
  return store.setHostLogs(hostId ?? '', logs)
    ? noContent()
    : domainError(404, `host ${hostId ?? ''} not found`);
}

/** An upload is a form with a file named `upfile`. */
async function uploadIn(
  request: Context['req'],
): Promise<{ readonly file: File } | { readonly refusal: Response }> {
  if (!(request.header('content-type') ?? '').startsWith('multipart/form-data')) {
    const said = 'upfile in formData: request content type is not multipart';
    return { refusal: frameworkError(400, said) };
  }
  const form: Record<string, unknown> = await request.parseBody().catch(() => ({}));
  const file = form['upfile'];
  return file instanceof File
    ? { file }
    : { refusal: frameworkError(400, 'upfile in formData is required') };
}
