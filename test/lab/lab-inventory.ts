import { afterEach } from 'vitest';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import type { ClusterView } from '../../mocks/inventory/rules.ts';
import { clusterSeed, hostSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { Fault } from '../../mocks/http/fault.ts';

/** Where the hosts come from. */
export const infraEnvId = 'b2f4d8f0-0000-4000-8000-000000000001';

/** The cluster that is installed. */
export const cluster = clusterSeed({ id: 'b2f4d8f0-0000-4000-8000-000000000002' });

/** A master of it, the one that is usually there. */
export const host = hostSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000003',
  clusterId: cluster.id,
  infraEnvId,
  hostname: 'm1',
  role: 'master',
});

/** Its bootstrap host. */
export const bootstrap = hostSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000004',
  clusterId: cluster.id,
  infraEnvId,
  hostname: 'm0',
  role: 'master',
  isBootstrap: true,
});

/** A host that is not to be installed. */
export const disabled = hostSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000005',
  clusterId: cluster.id,
  infraEnvId,
  hostname: 'd0',
  role: 'worker',
  status: 'disabled',
});

const issuer = tokenIssuer();

/** What lets a host in. */
export const token = issuer.issue({ infra_env_id: infraEnvId });

/** Where version 2 of the service is. */
export const v2 = '/api/assisted-install/v2';

/** Where the host reports. */
export const progressPath = `${v2}/infra-envs/${infraEnvId}/hosts/${host.id}/progress`;

/** Where its Ignition is. */
export const ignitionPath = `${v2}/infra-env/${infraEnvId}/hosts/${host.id}/downloads/ignition`;

/** Starts an inventory service with faults, or with others than the usual cluster and host. */
type Started = (
  faults?: readonly object[],
  seeds?: Partial<ClusterView>,
) => Promise<InventoryServer>;

/** Gives a file the inventory service; whatever a test starts ends with it. */
export function labInventory(): Started {
  let server: InventoryServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });
  return async (faults = [], seeds = {}) => {
    server = await startInventory({
      cluster,
      hosts: [host],
      ...seeds,
      auth: issuer.auth,
      faults: faults.map((fault) => Fault.parse(fault)),
    });
    return server;
  };
}

interface Asked extends RequestInit {
  readonly headers?: Record<string, string>;
}

/** Asks the service as the host does. */
export const ask = (url: string, init: Asked = {}): Promise<Response> =>
  fetch(url, {
    ...init,
    headers: { 'x-secret-key': token, 'content-type': 'application/json', ...init.headers },
  });

/** Sends it an object as the host does. */
export const put = (url: string, body: object): Promise<Response> =>
  ask(url, { method: 'PUT', body: `${JSON.stringify(body)}\n` });
