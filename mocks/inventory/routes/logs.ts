import type { Context } from 'hono';
import { domainError, frameworkError } from '../answers.ts';
import { LogsProgress, readJson } from '../bodies.ts';
import type { InventoryStore } from '../store.ts';
import { unknownCluster } from './clusters.ts';
import type { AddRoutes } from './shape.ts';

const noContent = (): Response => new Response(null, { status: 204 });

/** How far logs are, and the logs themselves, version 2. */
export const addLogRoutes: AddRoutes = (app, store) => {
  app.put('/v2/infra-envs/:infraEnv/hosts/:host/logs-progress', async ({ req }) => {
    const body = await readJson(req.raw, LogsProgress);
    if ('refusal' in body) return body.refusal;
    return store.setHostLogs(req.param('host'), { logsState: body.value.logs_state })
      ? noContent()
      : domainError(404, `host ${req.param('host')} not found`);
  });
  app.put('/v2/clusters/:cluster/logs-progress', async ({ req }) => {
    const body = await readJson(req.raw, LogsProgress);
    if ('refusal' in body) return body.refusal;
    if (req.param('cluster') !== store.cluster().id) return unknownCluster(req.param('cluster'));
    store.setClusterLogs(body.value.logs_state);
    return noContent();
  });
  app.post('/v2/clusters/:cluster/logs', (context) => {
    if (context.req.query('logs_type') === 'controller') return takeLogs(context, store, undefined);
    const hostId = context.req.query('host_id');
    return hostId === undefined
      ? frameworkError(400, 'host_id in query is required')
      : takeLogs(context, store, hostId);
  });
};

/** Takes an upload of logs: multipart with a file part named `upfile`. */
export async function takeLogs(
  { req }: Context,
  store: InventoryStore,
  hostId: string | undefined,
): Promise<Response> {
  if (!(req.header('content-type') ?? '').startsWith('multipart/form-data')) {
    return frameworkError(400, 'upfile in formData: request content type is not multipart');
  }
  const { upfile: upload } = await req.parseBody();
  if (!(upload instanceof File)) return frameworkError(400, 'upfile in formData is required');
  if (hostId === undefined) {
    store.setClusterLogs('collecting');
    return noContent();
  }
  return store.setHostLogs(hostId, { logsState: 'collecting', logBytes: upload.size })
    ? noContent()
    : domainError(404, `host ${hostId} not found`);
}
