import {
  decideCompletion,
  decideIngressCa,
  decideOperator,
  decideStage,
  type EndDecision,
} from '../../mocks/inventory/finalizing.ts';
import {
  clusterSeed,
  type HostRecord,
  hostSeed,
  operatorSeed,
} from '../../mocks/inventory/records.ts';
import { type InventoryStore, inventoryStore } from '../../mocks/inventory/store.ts';
import { inventoryFailure } from '../../src/adapters/http/failures.ts';
import { minutes } from '../../src/model/duration.ts';
import type { InstallationView, InstallingCluster, Inventory } from '../../src/ports/inventory.ts';
import { fakeInventory } from '../support/fake-inventory.ts';

// The service of an installation: the rules of the stand-in, without a network.

const infraEnvId = '7a000000-0000-4000-8000-000000000000';
/** Hosts of the installation with their addresses. */
export const addressOf = {
  m0: '192.0.2.10',
  m1: '192.0.2.11',
  m2: '192.0.2.12',
  w0: '192.0.2.20',
} as const;
/** The name of a host. */
export type HostName = keyof typeof addressOf;
const names = Object.keys(addressOf) as readonly HostName[];

/** The settings of users for the worker; a service that leaves takes them along. */
const wishes = { nodeLabels: { team: 'storage' }, pool: 'infra' };

/**
 * The end of the installation: as the service reports it or, if its bootstrap host is the service,
 * as the cluster reports it.
 */
export type Ending = 'installed' | 'error' | 'agent-based';

function storeOf(ending: Ending, now: () => number) {
  const cluster = clusterSeed({
    operators: [...clusterSeed().operators, operatorSeed({ name: 'lso' })],
  });
  const hosts = names.map((hostname): HostRecord =>
    hostSeed({
      clusterId: cluster.id,
      infraEnvId,
      id: `host-${hostname}`,
      hostname,
      role: hostname === 'w0' ? 'worker' : 'master',
      ...(hostname === 'w0' && ending !== 'agent-based' ? wishes : {}),
      addresses: [`${addressOf[hostname]}/24`],
      status: 'installing-in-progress',
      stage: 'Rebooting',
      stageStartedAt: now(),
      stageUpdatedAt: now(),
    }),
  );
  const finalizingLimits =
    ending === 'error' ? { 'Waiting for cluster operators': minutes(1) } : {};
  return inventoryStore({ cluster, hosts, finalizingLimits }, now);
}

/** A service and its progress. */
interface Service {
  readonly store: InventoryStore;
  readonly now: () => number;
  /** It ran on the bootstrap host, which has left. */
  readonly hasLeft: () => boolean;
}

const gone = inventoryFailure('inventory.unreachable', 'no route to host');

/** The installation as one process sees it. */
function installationOf({ store, now, hasLeft }: Service) {
  const followers = new Set<(view: InstallationView) => void>();
  let last: InstallationView = {};
  const shown = (): InstallationView => {
    last = hasLeft() ? { ...last, lastError: gone } : shownNow();
    return last;
  };
  const shownNow = (): InstallationView => {
    const { id, kind, name, baseDomain, status, finalizing } = store.cluster();
    const cluster: InstallingCluster = {
      id,
      kind,
      name,
      baseDomain,
      status,
      ...(finalizing === undefined ? {} : { finalizing }),
      hosts: store.hosts().map((host) => ({
        id: host.id,
        infraEnvId: host.infraEnvId,
        name: host.hostname,
        role: host.role,
        status: host.status,
        stage: host.stage,
        pool: host.pool ?? '',
        addresses: host.addresses.map((one) => one.replace(/\/.*/, '')),
        labels: host.nodeLabels ?? {},
      })),
    };
    return { cluster };
  };
  const show = (): void => {
    for (const seen of [...followers]) seen(shown());
  };
  const take = async (decide: () => EndDecision, signal: AbortSignal): Promise<void> => {
    await Promise.resolve();
    signal.throwIfAborted();
    if (hasLeft()) throw gone;
    const decision = decide();
    if (decision.kind === 'refused') {
      throw inventoryFailure('inventory.rejected', decision.reason, {
        context: { status: decision.status },
      });
    }
    store.setCluster(decision.cluster);
    show();
  };
  const calls: Partial<Inventory> = {
    follow: (seen, signal) =>
      new Promise((resolve) => {
        const end = (): void => {
          followers.delete(seen);
          resolve();
        };
        if (signal.aborted) end();
        signal.addEventListener('abort', end, { once: true });
        followers.add(seen);
        queueMicrotask(() => {
          if (followers.has(seen)) seen(shown());
        });
      }),
    refresh: () => undefined,
    reportFinalizing: (stage, signal) =>
      take(() => decideStage(store.cluster(), stage, now()), signal),
    operators: () => Promise.resolve(store.cluster().operators),
    reportOperator: (report, signal) => take(() => decideOperator(store.cluster(), report), signal),
    uploadIngressCa: (pem, signal) => take(() => decideIngressCa(store.cluster(), pem), signal),
    complete: ({ isSuccess, error, data }, signal) =>
      take(() => {
        store.addCompletion({
          isSuccess,
          error,
          data: data as Readonly<Record<string, unknown>> | undefined,
        });
        return decideCompletion(store.cluster(), { isSuccess, error });
      }, signal),
  };
  return { calls, show };
}

const content = Buffer.from('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-lso}\n');
const files = {
  'custom_manifests.json': JSON.stringify([{ Name: 'lso', Content: content.toString('base64') }]),
};

/** The interface of the service for agents. */
const inventoryOf = (service: Service) => {
  const { store, hasLeft } = service;
  const { calls, show } = installationOf(service);
  const report: Inventory['report'] = async ({ hostId }, { stage, info }) => {
    await Promise.resolve();
    if (hasLeft()) throw gone;
    const decision = store.report(hostId, { stage, info }, 'v2');
    if (decision?.kind === 'refused') throw inventoryFailure('inventory.refused', decision.reason);
    show();
  };
  const clusterLogsState: Inventory['clusterLogsState'] = (state) => {
    store.setClusterLogs(state);
    return Promise.resolve();
  };
  const fake = fakeInventory({ files }).answering({ report, clusterLogsState });
  return { inventory: { ...fake, ...calls }, show };
};

/** Starts a service. */
export function serviceOf(ending: Ending, now: () => number) {
  let isGone = false;
  const shows = new Set<() => void>();
  const service: Service = { store: storeOf(ending, now), now, hasLeft: () => isGone };
  return {
    store: service.store,
    hasLeft: service.hasLeft,
    leave: (): void => {
      isGone = true;
    },
    /** Sends the state to all followers. */
    show: (): void => {
      for (const show of [...shows]) show();
    },
    /** A connection of one process: it keeps the state that it has received. */
    connect: () => {
      const { inventory, show } = inventoryOf(service);
      shows.add(show);
      return { inventory };
    },
  };
}
