import { randomUUID } from 'node:crypto';

import { type MockServer, startMockServer } from '../../../mocks/http/mock-server.ts';
import { download } from '../../../mocks/inventory/answers.ts';
import { inventoryApp } from '../../../mocks/inventory/server.ts';
import { tokenIssuer } from '../../../mocks/inventory/auth.ts';
import {
  type ClusterRecord,
  clusterSeed,
  type HostRecord,
  hostSeed,
} from '../../../mocks/inventory/records.ts';
import { type InventoryStore, inventoryStore } from '../../../mocks/inventory/store.ts';
import { type FinalOs, machineConfig, pointerConfig } from './ignition.ts';

/** This machine, as guests see it. */
export const gateway = '10.0.2.2';

/** The servers that one installation talks to, outside of the guest. */
export interface Outside extends AsyncDisposable {
  readonly cluster: ClusterRecord;
  readonly host: HostRecord;
  readonly token: string;
  /** The inventory service; the Ignition it serves points to the Machine Config Server. */
  readonly inventory: MockServer & { readonly store: InventoryStore };
  readonly machineConfigServer: MockServer;
}

/** The OS image of a cluster; while it is undefined, the config is withheld. */
type HeldOs = () => FinalOs | undefined;

/**
 * Starts the servers for a cluster with one master that is about to be installed; it may want
 * another system on it.
 */
export async function startOutside(hostname: string, wanted?: FinalOs | HeldOs): Promise<Outside> {
  const issuer = tokenIssuer();
  const cluster = clusterSeed();
  const host = hostSeed({
    clusterId: cluster.id,
    infraEnvId: randomUUID(),
    hostname,
    role: 'master',
  });
  const store = inventoryStore({ cluster, hosts: [host] });
  const machineConfigServer = await startMockServer({
    answer: ({ url }) =>
      new URL(url).pathname === `/config/${host.role}`
        ? renderedFor(wanted)
        : new Response(null, { status: 404 }),
  });
  const source = `${seenByGuests(machineConfigServer.url)}/config/${host.role}`;
  const pointer = JSON.stringify(pointerConfig({ hostname, source }));
  const app = inventoryApp(store, issuer.auth);
  const server = await startMockServer({
    answer: async (request) => {
      const answer = await app.fetch(request);
      const isPointer = answer.ok && request.url.endsWith('/downloads/ignition');
      return isPointer ? download(`${host.role}-${host.id}.ign`, pointer) : answer;
    },
  });
  return {
    cluster,
    host,
    token: issuer.issue({ infra_env_id: host.infraEnvId }),
    inventory: { ...server, store },
    machineConfigServer,
    async [Symbol.asyncDispose]() {
      await Promise.all([server.close(), machineConfigServer.close()]);
    },
  };
}

/** The answer of a machine-config-server; one whose config is held back answers 500. */
export function renderedFor(wanted: FinalOs | HeldOs | undefined): Response {
  if (typeof wanted !== 'function') return Response.json(machineConfig(wanted));
  const finalOs = wanted();
  return finalOs === undefined
    ? new Response(null, { status: 500 })
    : Response.json(machineConfig(finalOs));
}

/** The URL under which a guest reaches a server on this machine's loopback. */
export const seenByGuests = (url: string): string => url.replace('127.0.0.1', gateway);

/** The reports that a service was sent, in order: the stage, and its text behind a colon. */
export const reportsTo = ({ requests }: MockServer): readonly string[] =>
  requests
    .filter(({ method, path }) => method === 'PUT' && path.endsWith('/progress'))
    .map(({ body }) => {
      const report = JSON.parse(body) as { current_stage: string; progress_info?: string };
      return `${report.current_stage}: ${report.progress_info ?? ''}`;
    });
