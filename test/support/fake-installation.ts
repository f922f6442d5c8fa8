import type {
  Installation,
  InstallationEvent,
  InstallationResult,
  InstallationView,
  InstallingCluster,
  InstallingHost,
  MonitoredOperator,
  OperatorReport,
} from '../../src/ports/installation.ts';
import { inventoryHost } from './fake-inventory.ts';

/** A cluster in memory, as the service has it. */
export interface FakeInstallation extends Installation {
  /** Each call that changes something, in order: `stage Done`, `operator console available`. */
  readonly calls: readonly string[];
  readonly results: readonly InstallationResult[];
  readonly events: readonly InstallationEvent[];
  readonly operatorReports: readonly OperatorReport[];
  /** How often it was asked to be quick. */
  readonly refreshes: () => number;
  /** Changes the cluster; whoever follows sees it at once. */
  readonly set: (change: Partial<InstallingCluster>) => void;
  readonly setOperators: (operators: readonly Partial<MonitoredOperator>[]) => void;
  /** The service does not answer until something is set. */
  readonly lose: (lastError: NonNullable<InstallationView['lastError']>) => void;
  /** The next calls of one kind fail with this. */
  readonly failing: (call: keyof Installation, error: Error, times?: number) => void;
}

/** A host of it with everything left usual but what a test names. */
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

/** Without the hosts that a user took out. */
const enabled = (cluster: InstallingCluster): InstallingCluster => ({
  ...cluster,
  hosts: cluster.hosts.filter(({ status }) => status !== 'disabled'),
});

/** A service that keeps one cluster, and takes all that it is given. */
export function fakeInstallation(first: Partial<InstallingCluster> = {}): FakeInstallation {
  const calls: string[] = [];
  const results: InstallationResult[] = [];
  const events: InstallationEvent[] = [];
  const operatorReports: OperatorReport[] = [];
  const failures = new Map<string, { readonly error: Error; times: number }>();
  const followers = new Set<(view: InstallationView) => void>();
  let refreshes = 0;
  let operators: readonly MonitoredOperator[] = [operatorOf({})];
  let view: InstallationView & { readonly cluster: InstallingCluster } = {
    cluster: enabled({
      id: '0123e456-0000-4000-8000-000000000000',
      kind: 'Cluster',
      name: 'lab',
      baseDomain: 'example.com',
      status: 'installing',
      hosts: [],
      ...first,
    }),
  };
  const show = (): void => {
    for (const seen of [...followers]) seen(view);
  };
  const call = async (kind: keyof Installation, what: string, signal: AbortSignal) => {
    await Promise.resolve();
    signal.throwIfAborted();
    calls.push(what);
    const failure = failures.get(kind);
    if (failure === undefined || failure.times === 0) return;
    failure.times -= 1;
    throw failure.error;
  };
  return {
    calls,
    results,
    events,
    operatorReports,
    refreshes: () => refreshes,
    set: (change) => {
      view = { cluster: enabled({ ...view.cluster, ...change }) };
      show();
    },
    setOperators: (now) => {
      operators = now.map(operatorOf);
    },
    lose: (lastError) => {
      view = { cluster: view.cluster, lastError };
      show();
    },
    failing: (kind, error, times = Infinity) => {
      failures.set(kind, { error, times });
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
          if (followers.has(seen)) seen(view);
        });
      }),
    refresh: () => {
      refreshes += 1;
    },
    reportFinalizing: (stage, signal) => call('reportFinalizing', `stage ${stage}`, signal),
    operators: async (signal) => {
      await call('operators', 'operators', signal);
      return operators;
    },
    reportOperator: async (report, signal) => {
      await call('reportOperator', `operator ${report.name} ${report.status}`, signal);
      operatorReports.push(report);
      operators = operators.map((one) => (one.name === report.name ? { ...one, ...report } : one));
    },
    uploadIngressCa: (pem, signal) => call('uploadIngressCa', `ingress ca ${pem}`, signal),
    complete: async (result, signal) => {
      await call('complete', `complete ${String(result.isSuccess)}`, signal);
      results.push(result);
    },
    addEvent: async (event, signal) => {
      await call('addEvent', `event ${event.name}`, signal);
      events.push(event);
    },
  };
}
