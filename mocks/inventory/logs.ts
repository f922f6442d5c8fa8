import type { Context } from 'hono';
import {
  type AddRoutes,
  domainError,
  frameworkError,
  hostAt,
  LogsProgress,
  readJson,
  unknownCluster,
} from './answers.ts';
import type { InventoryStore } from './store.ts';

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
