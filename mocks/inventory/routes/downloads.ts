import { asDownloadError, domainError, download, frameworkError } from '../answers.ts';
import { clusterFile, clusterFileNames, hostIgnition } from '../ignition-files.ts';
import type { ClusterStatus } from '../records.ts';
import type { InventoryStore } from '../store.ts';
import type { AddRoutes } from './shape.ts';

const givesFiles: ReadonlySet<ClusterStatus> = new Set([
  'installing',
  'finalizing',
  'installed',
  'error',
  'adding-hosts',
  'cancelled',
]);

/** Ignition of a host (the path says infra-env, singular) and files of the cluster, version 2. */
export const addDownloadRoutes: AddRoutes = (app, store) => {
  app.get('/v2/infra-env/:infraEnv/hosts/:host/downloads/ignition', ({ req }) =>
    giveHostIgnition(store, req.param('host')),
  );
  app.get('/v2/clusters/:cluster/downloads/files', ({ req }) =>
    giveClusterFile(store, req.param('cluster'), req.query('file_name') ?? ''),
  );
};

async function giveHostIgnition(store: InventoryStore, hostId: string): Promise<Response> {
  const host = store.host(hostId);
  if (host === undefined) {
    return asDownloadError(domainError(404, `host ${hostId} not found`));
  }
  const refusal = statusRefusal(store);
  if (refusal !== undefined) return asDownloadError(refusal);
  return download(`${host.role}-${host.id}.ign`, hostIgnition(store.cluster(), host));
}

/** Gives a file of the cluster, in either version of the interface. */
export async function giveClusterFile(
  store: InventoryStore,
  clusterId: string,
  name: string,
): Promise<Response> {
  if (!(clusterFileNames as readonly string[]).includes(name)) {
    return frameworkError(
      400,
      `file_name in query should be one of [${clusterFileNames.join(' ')}]`,
    );
  }
  if (clusterId !== store.cluster().id) {
    return asDownloadError(domainError(404, `cluster ${clusterId} not found`));
  }
  const refusal = statusRefusal(store);
  if (refusal !== undefined) return asDownloadError(refusal);
  const content = clusterFile(store.cluster(), name);
  return content === undefined
    ? asDownloadError(domainError(409, `object ${clusterId}/${name} was not found`))
    : download(name, content);
}

function statusRefusal(store: InventoryStore): Response | undefined {
  const { status } = store.cluster();
  return givesFiles.has(status)
    ? undefined
    : domainError(409, `cluster is in ${status} state, files can not be downloaded`);
}
