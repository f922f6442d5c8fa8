import type {
  HostRef,
  Inventory,
  InventoryCluster,
  InventoryHost,
  LogsState,
  Reports,
  ReportStatus,
} from '../../src/ports/inventory.ts';
import type { Stage } from '../../src/model/stage.ts';
import { inventoryFailure } from '../../src/adapters/http/failures.ts';
import { downloadOf } from './download.ts';

/** A report as it was received. */
interface ReceivedReport {
  readonly host: HostRef;
  readonly stage: Stage;
  readonly info: string;
}

/** What a fake inventory service knows. */
interface InventoryWorld {
  readonly cluster?: Partial<InventoryCluster>;
  readonly hosts?: readonly InventoryHost[];
  /** The pointer config of this host. */
  readonly ignition?: string | Uint8Array;
  /** Until there is one the service refuses to give it. */
  readonly kubeconfig?: string;
  /** Files of the cluster by name. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** An inventory service in memory. */
export interface FakeInventory extends Inventory {
  readonly reports: readonly ReceivedReport[];
  readonly logsStates: readonly { readonly host: HostRef; readonly state: LogsState }[];
  /** States of the logs of the cluster. */
  readonly clusterLogsStates: readonly LogsState[];
  /** Every archive of controller logs that was uploaded. */
  readonly controllerLogs: readonly Uint8Array[];
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
  const clusterLogsStates: LogsState[] = [];
  const archives: Uint8Array[] = [];
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

  const hostsOf = (role: string): readonly InventoryHost[] =>
    (world.hosts ?? []).filter((host) => host.role === role);

  const fake: FakeInventory = {
    reports,
    logsStates,
    clusterLogsStates,
    controllerLogs: archives,
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
      return given({ what: 'Ignition of this host', code: 'inventory.not-found' }, world.ignition);
    },
    clusterFile: async (name, signal) => {
      await enter('clusterFile', signal, name);
      if (replaced.clusterFile !== undefined) return replaced.clusterFile(name, signal);
      return given({ what: name, code: 'inventory.refused' }, world.files?.[name]);
    },
    cluster: async (signal) => {
      await enter('cluster', signal);
      if (replaced.cluster !== undefined) return replaced.cluster(signal);
      return { id: 'cluster-1', kind: 'Cluster', ...world.cluster };
    },
    hosts: async (role, signal) => {
      await enter('hosts', signal, role);
      if (replaced.hosts !== undefined) return replaced.hosts(role, signal);
      // The service names hosts here only where a user has named them.
      return hostsOf(role).map((host) => ({ ...host, name: '' }));
    },
    namedHosts: async (role, signal) => {
      await enter('namedHosts', signal, role);
      if (replaced.namedHosts !== undefined) return replaced.namedHosts(role, signal);
      return hostsOf(role);
    },
    enabledHosts: async (signal) => {
      await enter('enabledHosts', signal);
      if (replaced.enabledHosts !== undefined) return replaced.enabledHosts(signal);
      return (world.hosts ?? []).filter(({ status }) => status !== 'disabled');
    },
    clusterLogsState: async (state, signal) => {
      await enter('clusterLogsState', signal, state);
      clusterLogsStates.push(state);
      await replaced.clusterLogsState?.(state, signal);
    },
    uploadControllerLogs: async (archive, signal) => {
      await enter('uploadControllerLogs', signal);
      archives.push(archive);
      await replaced.uploadControllerLogs?.(archive, signal);
    },
    kubeconfig: async (signal) => {
      await enter('kubeconfig', signal);
      if (replaced.kubeconfig !== undefined) return replaced.kubeconfig(signal);
      return given({ what: 'kubeconfig', code: 'inventory.refused' }, world.kubeconfig);
    },
    logsState: async (host, state, signal) => {
      await enter('logsState', signal, state);
      logsStates.push({ host, state });
      await replaced.logsState?.(host, state, signal);
    },
  };
  return fake;
}

/** Reports that fare as a test says: all taken, unless given. */
export const fakeReports = (status: ReportStatus = { unanswered: [] }): Reports => ({
  settled: () => Promise.resolve(status),
  confirm: () => Promise.resolve(),
  flush: () => Promise.resolve(status),
});

/** The service answers 404 for a host that it does not have, and 409 for a file. */
function given(
  {
    what,
    code,
  }: { readonly what: string; readonly code: 'inventory.not-found' | 'inventory.refused' },
  content: string | Uint8Array | undefined,
): ReturnType<typeof downloadOf> {
  if (content === undefined) {
    throw inventoryFailure(code, `the inventory service has no ${what}`, {
      context: { status: code === 'inventory.refused' ? 409 : 404 },
    });
  }
  return downloadOf(content, {
    origin: 'the inventory service',
    contentType: 'application/octet-stream',
  });
}
