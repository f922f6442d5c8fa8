import { asDownloadError, domainError, download, frameworkError } from '../answers.ts';
import { clusterFile, clusterFileNames, credentialNames, hostIgnition } from '../ignition-files.ts';
import type { ClusterStatus } from '../records.ts';
import type { InventoryStore } from '../store.ts';
import { hostAt } from './host-at.ts';
import type { AddRoutes } from './shape.ts';

const givesFiles: ReadonlySet<ClusterStatus> = new Set([
  'installing',
  'finalizing',
  'installed',
  'error',
  'adding-hosts',
  'cancelled',
]);

/** Ignition of a host (the path says infra-env, singular), files and credentials, version 2. */
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

/** Gives one of the files that are offered at this place, in either version of the interface. */
export async function giveClusterFile(
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
    : download(servedName(name), content);
}

/** Until the ingress has its certificate, the whole kubeconfig is the one without it. */
const servedName = (name: string): string =>
  name === 'kubeconfig' ? 'kubeconfig-noingress' : name;

function statusRefusal(store: InventoryStore, name = ''): Response | undefined {
  const { status } = store.cluster();
  // The kubeconfig with the ingress comes later than all the rest.
  const isEarly = name === 'kubeconfig' && status === 'installing';
  return givesFiles.has(status) && !isEarly
    ? undefined
    : domainError(409, `cluster is in ${status} state, files can not be downloaded`);
}
