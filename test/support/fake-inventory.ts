import type {
  HostRef,
  Inventory,
  InventoryCluster,
  InventoryHost,
  LogsState,
} from '../../src/ports/inventory.ts';
import type { Stage } from '../../src/model/stage.ts';
import { inventoryFailure } from '../../src/adapters/http/failures.ts';
import { downloadOf } from './download.ts';

/** A report as it was received. */
export interface ReceivedReport {
  readonly host: HostRef;
  readonly stage: Stage;
  readonly info: string;
}

/** What a fake inventory service knows. */
export interface InventoryWorld {
  readonly cluster?: Partial<InventoryCluster>;
  readonly hosts?: readonly InventoryHost[];
  /** The pointer config of this host. */
  readonly ignition?: string | Uint8Array;
  /** Files of the cluster by name. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** An inventory service in memory. */
export interface FakeInventory extends Inventory {
  readonly reports: readonly ReceivedReport[];
  readonly logsStates: readonly { readonly host: HostRef; readonly state: LogsState }[];
  /** Name of each call, in order, with its argument where it has one: `hosts master`. */
  readonly calls: readonly string[];
  /** Replaces some calls by a test's own. */
  readonly answering: (members: Partial<Inventory>) => FakeInventory;
  /** The next calls of one kind fail with this. */
  readonly failing: (call: keyof Inventory, error: Error, times?: number) => FakeInventory;
}

/** A host of the service with everything left usual but what a test names. */
export function inventoryHost(host: Partial<InventoryHost> = {}): InventoryHost {
  return {
    id: 'host-1',
    infraEnvId: 'infra-env-1',
    name: 'master-1',
    role: 'master',
    status: 'installing-in-progress',
    addresses: [],
    ...host,
  };
}

/** An inventory service that accepts every report and knows what it was given. */
export function fakeInventory(world: InventoryWorld = {}): FakeInventory {
  const reports: ReceivedReport[] = [];
  const logsStates: { host: HostRef; state: LogsState }[] = [];
  const calls: string[] = [];
  const failures = new Map<keyof Inventory, Error[]>();
  let replaced: Partial<Inventory> = {};

  const enter = async (call: keyof Inventory, signal: AbortSignal, what = ''): Promise<void> => {
    await Promise.resolve();
    signal.throwIfAborted();
    calls.push(what === '' ? call : `${call} ${what}`);
    const failure = failures.get(call)?.shift();
    if (failure !== undefined) throw failure;
  };

  const fake: FakeInventory = {
    reports,
    logsStates,
    calls,
    answering: (members) => {
      replaced = { ...replaced, ...members };
      return fake;
    },
    failing: (call, error, times = 1) => {
      const known = failures.get(call) ?? [];
      failures.set(call, [...known, ...Array.from({ length: times }, () => error)]);
      return fake;
    },
    report: async (host, progress, signal) => {
      await enter('report', signal, progress.stage);
      reports.push({ host, ...progress });
      await replaced.report?.(host, progress, signal);
    },
    hostIgnition: async (role, signal) => {
      await enter('hostIgnition', signal, role);
      if (replaced.hostIgnition !== undefined) return replaced.hostIgnition(role, signal);
      return given('the ignition of this host', world.ignition);
    },
    clusterFile: async (name, signal) => {
      await enter('clusterFile', signal, name);
      if (replaced.clusterFile !== undefined) return replaced.clusterFile(name, signal);
      return given(name, world.files?.[name]);
    },
    cluster: async (signal) => {
      await enter('cluster', signal);
      if (replaced.cluster !== undefined) return replaced.cluster(signal);
      return { id: 'cluster-1', kind: 'Cluster', ...world.cluster };
    },
    hosts: async (role, signal) => {
      await enter('hosts', signal, role);
      if (replaced.hosts !== undefined) return replaced.hosts(role, signal);
      return (world.hosts ?? []).filter((host) => host.role === role);
    },
    logsState: async (host, state, signal) => {
      await enter('logsState', signal, state);
      logsStates.push({ host, state });
      await replaced.logsState?.(host, state, signal);
    },
  };
  return fake;
}

function given(
  what: string,
  content: string | Uint8Array | undefined,
): ReturnType<typeof downloadOf> {
  if (content === undefined) {
    throw inventoryFailure('inventory.not-found', `the inventory service has no ${what}`, {
      context: { status: 404 },
    });
  }
  return downloadOf(content, {
    origin: 'the inventory service',
    contentType: 'application/octet-stream',
  });
}
