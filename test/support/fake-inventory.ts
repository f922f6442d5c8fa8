import type {
  HostRef,
  InstallationResult,
  InstallationView,
  InstallingCluster,
  InstallingHost,
  Inventory,
  InventoryHost,
  LogsState,
  MonitoredOperator,
  OperatorReport,
  Reports,
  ReportStatus,
} from '../../src/ports/inventory.ts';
import type { Stage } from '../../src/model/stage.ts';
import { inventoryFailure } from '../../src/adapters/http/failures.ts';
import { downloadOf } from './download.ts';

/** A received report. */
interface ReceivedReport {
  readonly host: HostRef;
  readonly stage: Stage;
  readonly info: string;
}

/** State of a fake inventory service. */
interface InventoryWorld {
  readonly cluster?: Partial<Omit<InstallingCluster, 'hosts'>>;
  readonly hosts?: readonly (InventoryHost | InstallingHost)[];
  /** The pointer config of this host. */
  readonly ignition?: string | Uint8Array;
  /** Until it is set, the service refuses the kubeconfig. */
  readonly kubeconfig?: string;
  /** Files of the cluster by name. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** An inventory service in memory. */
export interface FakeInventory extends Inventory {
  readonly reports: readonly ReceivedReport[];
  readonly logsStates: readonly { readonly host: HostRef; readonly state: LogsState }[];
  /** All uploaded archives of controller logs. */
  readonly controllerLogs: readonly Uint8Array[];
  /**
   * All calls in order, with their argument if they have one: `hosts master`, `stage Done`,
   * `operator console available`.
   */
  readonly calls: readonly string[];
  readonly results: readonly InstallationResult[];
  readonly operatorReports: readonly OperatorReport[];
  /** Number of calls of `refresh`. */
  readonly refreshes: () => number;
  /** Changes the cluster; followers see it at once. */
  readonly set: (change: Partial<InstallingCluster>) => void;
  readonly setOperators: (operators: readonly Partial<MonitoredOperator>[]) => void;
  /** Followers get no answer until the next `set`. */
  readonly lose: (lastError: NonNullable<InstallationView['lastError']>) => void;
  /** Replaces some calls by a test's own functions. */
  readonly answering: (members: Partial<Inventory>) => FakeInventory;
  /** Makes the next calls of one kind fail with this error. */
  readonly failing: (call: keyof Inventory, error: Error, times?: number) => FakeInventory;
}

/** A host of the service with usual values, except the given ones. */
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

/** A host for the controller with usual values, except the given ones. */
export const installingHost = (host: Partial<InstallingHost> = {}): InstallingHost => ({
  ...inventoryHost(host),
  labels: {},
  pool: '',
  ...host,
});

const operatorOf = (operator: Partial<MonitoredOperator>): MonitoredOperator => ({
  name: 'console',
  type: 'builtin',
  namespace: '',
  subscription: '',
  version: '',
  status: '',
  statusInfo: '',
  ...operator,
});

/** An inventory service that accepts and records every report. */
export function fakeInventory({
  cluster = {},
  hosts = [],
  ...world
}: InventoryWorld = {}): FakeInventory {
  const reports: ReceivedReport[] = [];
  const logsStates: { host: HostRef; state: LogsState }[] = [];
  const archives: Uint8Array[] = [];
  const results: InstallationResult[] = [];
  const operatorReports: OperatorReport[] = [];
  const calls: string[] = [];
  const failures = new Map<keyof Inventory, { readonly error: Error; times: number }[]>();
  const followers = new Set<(view: InstallationView) => void>();
  let replaced: Partial<Inventory> = {};
  let refreshes = 0;
  let operators: readonly MonitoredOperator[] = [operatorOf({})];
  let lastError: InstallationView['lastError'];
  let known: InstallingCluster = {
    id: 'cluster-1',
    kind: 'Cluster',
    name: 'lab',
    baseDomain: 'example.com',
    status: 'installing',
    ...cluster,
    hosts: hosts.map((host) => installingHost(host)),
  };

  /** The hosts that are not disabled. */
  const enabled = () => known.hosts.filter(({ status }) => status !== 'disabled');
  /** A host with the fields for an agent. */
  const plain = ({ labels: _labels, pool: _pool, ...host }: InstallingHost): InventoryHost => host;
  const hostsOf = (wanted: string): readonly InventoryHost[] =>
    known.hosts.filter(({ role }) => role === wanted).map(plain);
  const view = (): InstallationView => ({
    cluster: { ...known, hosts: enabled() },
    ...(lastError === undefined ? {} : { lastError }),
  });
  const show = (): void => {
    for (const seen of [...followers]) seen(view());
  };
  const enter = async (
    call: keyof Inventory,
    signal: AbortSignal,
    what: string = call,
  ): Promise<void> => {
    await Promise.resolve();
    signal.throwIfAborted();
    calls.push(what);
    const next = failures.get(call)?.find(({ times }) => times > 0);
    if (next === undefined) return;
    next.times -= 1;
    throw next.error;
  };

  const fake: FakeInventory = {
    reports,
    logsStates,
    controllerLogs: archives,
    calls,
    results,
    operatorReports,
    refreshes: () => refreshes,
    set: (change) => {
      known = { ...known, ...change };
      lastError = undefined;
      show();
    },
    setOperators: (now) => {
      operators = now.map(operatorOf);
    },
    lose: (error) => {
      lastError = error;
      show();
    },
    answering: (members) => {
      replaced = { ...replaced, ...members };
      return fake;
    },
    failing: (call, error, times = 1) => {
      failures.set(call, [...(failures.get(call) ?? []), { error, times }]);
      return fake;
    },
    report: async (host, progress, signal) => {
      await enter('report', signal, `report ${progress.stage}`);
      reports.push({ host, ...progress });
      await replaced.report?.(host, progress, signal);
    },
    hostIgnition: async (role, signal) => {
      await enter('hostIgnition', signal, `hostIgnition ${role}`);
      if (replaced.hostIgnition !== undefined) return replaced.hostIgnition(role, signal);
      return given({ what: 'Ignition of this host', code: 'inventory.not-found' }, world.ignition);
    },
    clusterFile: async (name, signal) => {
      await enter('clusterFile', signal, `clusterFile ${name}`);
      if (replaced.clusterFile !== undefined) return replaced.clusterFile(name, signal);
      return given({ what: name, code: 'inventory.refused' }, world.files?.[name]);
    },
    cluster: async (signal) => {
      await enter('cluster', signal);
      if (replaced.cluster !== undefined) return replaced.cluster(signal);
      const { id, kind, platformType, installConfigOverrides } = known;
      return {
        id,
        kind,
        ...(platformType === undefined ? {} : { platformType }),
        ...(installConfigOverrides === undefined ? {} : { installConfigOverrides }),
      };
    },
    hosts: async (role, signal) => {
      await enter('hosts', signal, `hosts ${role}`);
      if (replaced.hosts !== undefined) return replaced.hosts(role, signal);
      // This call of the service only has names that a user gave.
      return hostsOf(role).map((host) => ({ ...host, name: '' }));
    },
    namedHosts: async (role, signal) => {
      await enter('namedHosts', signal, `namedHosts ${role}`);
      if (replaced.namedHosts !== undefined) return replaced.namedHosts(role, signal);
      return hostsOf(role);
    },
    enabledHosts: async (signal) => {
      await enter('enabledHosts', signal);
      if (replaced.enabledHosts !== undefined) return replaced.enabledHosts(signal);
      return enabled().map(plain);
    },
    clusterLogsState: async (state, signal) => {
      await enter('clusterLogsState', signal, `clusterLogsState ${state}`);
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
      await enter('logsState', signal, `logsState ${state}`);
      logsStates.push({ host, state });
      await replaced.logsState?.(host, state, signal);
    },
    follow: (seen, signal) =>
      new Promise((resolve) => {
        followers.add(seen);
        const end = (): void => {
          followers.delete(seen);
          resolve();
        };
        if (signal.aborted) end();
        else signal.addEventListener('abort', end, { once: true });
        queueMicrotask(() => {
          if (followers.has(seen)) seen(view());
        });
      }),
    refresh: () => {
      refreshes += 1;
    },
    reportFinalizing: (stage, signal) => enter('reportFinalizing', signal, `stage ${stage}`),
    operators: async (signal) => {
      await enter('operators', signal);
      return operators;
    },
    reportOperator: async (report, signal) => {
      await enter('reportOperator', signal, `operator ${report.name} ${report.status}`);
      operatorReports.push(report);
      operators = operators.map((one) => (one.name === report.name ? { ...one, ...report } : one));
    },
    uploadIngressCa: (pem, signal) => enter('uploadIngressCa', signal, `ingress ca ${pem}`),
    complete: async (result, signal) => {
      await enter('complete', signal, `complete ${String(result.isSuccess)}`);
      results.push(result);
    },
    overview: async (signal) => {
      await enter('overview', signal);
      return {
        id: known.id,
        name: known.name,
        status: known.status,
        statusInfo: '',
        version: '',
        operators,
        isSingleNode: false,
        startedAt: undefined,
        completedAt: undefined,
        finalizing: known.finalizing?.stage ?? '',
        hosts: enabled().map((host) => ({
          ...plain(host),
          isBootstrap: false,
          statusInfo: '',
          stageInfo: '',
          stageSince: undefined,
          hardware: '',
          hasLogs: false,
        })),
      };
    },
  };
  return fake;
}

/** Reports with a status given by a test; default: all accepted. */
export const fakeReports = (status: ReportStatus = { unanswered: [] }): Reports => ({
  settled: () => Promise.resolve(status),
  confirm: () => Promise.resolve(),
  flush: () => Promise.resolve(status),
});

/** The service answers 404 for an unknown host, and 409 for a missing file. */
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
