import { overdue, timedOut } from './finalizing.ts';
import {
  type ClusterView,
  decideProgress,
  type ProgressDecision,
  type ProgressReport,
  settle,
} from './rules.ts';
import type { ClusterRecord, Completion, HostRecord, UploadedFile } from './records.ts';

/** The service's state: one cluster and its hosts. */
export type InventoryStore = ReturnType<typeof inventoryStore>;

const cancelled = { status: 'cancelled', statusInfo: 'Installation cancelled by user' } as const;
const reset = {
  status: 'resetting-pending-user-action',
  statusInfo:
    'Host requires booting into the discovery image to complete resetting the installation',
} as const;

type Files = Readonly<Record<string, string>>;

/** Initial state of a service. */
export interface StoreSeed extends ClusterView {
  /**
   * Time limits of stages of finalizing, in milliseconds, if set (`FINALIZING_STAGE_*_TIMEOUT`).
   */
  readonly finalizingLimits?: Readonly<Record<string, number>>;
  /** Time limits of stages of a host, in milliseconds, if set (`HOST_STAGE_*_TIMEOUT`). */
  readonly hostLimits?: Readonly<Record<string, number>>;
}

/** Makes the state of a service; `now` returns milliseconds. */
export function inventoryStore(
  { finalizingLimits = {}, hostLimits: limits = {}, ...begin }: StoreSeed,
  now: () => number = Date.now,
) {
  let view: ClusterView = begin;
  let kubeconfig: string | undefined;
  let configServer: string | undefined;
  let bootstrapFiles: Files = {};
  let clusterFiles: Files = {};
  const controllerLogs: UploadedFile[] = [];
  const completions: Completion[] = [];
  const find = (id: string): HostRecord | undefined => view.hosts.find((one) => one.id === id);
  const replace = (host: HostRecord): void => {
    view = { ...view, hosts: view.hosts.map((one) => (one.id === host.id ? host : one)) };
  };
  const end = (
    status: ClusterRecord['status'],
    ended: Pick<HostRecord, 'status' | 'statusInfo'>,
  ): void => {
    view = {
      cluster: { ...view.cluster, status },
      hosts: view.hosts.map((host) => (host.status === 'disabled' ? host : { ...host, ...ended })),
    };
  };
  return {
    cluster: (): ClusterRecord => view.cluster,
    hosts: (): readonly HostRecord[] => view.hosts,
    host: find,
    /** Applies a progress report by the rules of the service; undefined for an unknown host. */
    report: (
      hostId: string,
      report: ProgressReport,
      api: 'v1' | 'v2',
    ): ProgressDecision | undefined => {
      const host = find(hostId);
      if (host === undefined) return undefined;
      const decision = decideProgress(host, report, {
        api,
        isSingleNode: view.cluster.controlPlaneCount === 1,
        isDay2: view.cluster.kind === 'AddHostsCluster',
        now: now(),
      });
      if (decision.kind === 'changed') {
        replace(decision.host);
        view = settle(view);
      }
      return decision;
    },
    /**
     * The kubeconfig of the cluster; undefined until it is set. The service has it when the
     * installation begins.
     */
    kubeconfig: (): string | undefined => kubeconfig,
    setKubeconfig: (text: string): void => {
      kubeconfig = text;
    },
    /** URL of the machine-config-server; default: a URL with a name that does not resolve. */
    configServer: (): string | undefined => configServer,
    setConfigServer: (url: string): void => {
      configServer = url;
    },
    /** Further files of the bootstrap host, by path. */
    bootstrapFiles: (): Files => bootstrapFiles,
    addBootstrapFiles: (files: Files): void => {
      bootstrapFiles = { ...bootstrapFiles, ...files };
    },
    /** Files of the cluster that a test has set, by name. */
    clusterFiles: (): Files => clusterFiles,
    addClusterFiles: (files: Files): void => {
      clusterFiles = { ...clusterFiles, ...files };
    },
    /** All uploads of the controller's logs. */
    controllerLogs: (): readonly UploadedFile[] => controllerLogs,
    addControllerLogs: (file: UploadedFile): unknown => controllerLogs.push(file),
    /** Stores the state of a host's logs; false for an unknown host. */
    setHostLogs: (
      hostId: string,
      logs: Partial<Pick<HostRecord, 'logsState' | 'logBytes'>>,
    ): boolean => {
      const host = find(hostId);
      if (host !== undefined) replace({ ...host, ...logs });
      return host !== undefined;
    },
    setClusterLogs: (logsState: string): void => {
      view = { ...view, cluster: { ...view.cluster, logsState } };
    },
    /** Stores the cluster after a decision, with the consequences. */
    setCluster: (cluster: ClusterRecord): void => {
      view = settle({ ...view, cluster });
    },
    /** Reports of the end by controllers, in order. */
    completions: (): readonly Completion[] => completions,
    addCompletion: (completion: Completion): unknown => completions.push(completion),
    /** Milliseconds since the epoch. */
    now,
    /** Fails the hosts whose stage has timed out; the service does so every few seconds. */
    checkStages: (): void => {
      const waitsForUser = view.hosts.some(
        ({ status }) => status === 'installing-pending-user-action',
      );
      for (const host of view.hosts) {
        const late = timedOut(host, { now: now(), waitsForUser, limits });
        if (late !== undefined) replace(late);
      }
      view = settle({
        ...view,
        cluster: overdue(view.cluster, now(), finalizingLimits) ?? view.cluster,
      });
    },
    /** Cancels the installation, as a user does. */
    cancel: (): void => end('cancelled', cancelled),
    /**
     * Resets the installation, as a user does (assisted-service, `ResetCluster` and
     * `TransitionTypeResettingPendingUserAction`): the hosts keep their stage and their place in
     * the list, and the service sends no step that stops their agent.
     */
    reset: (): void => end('insufficient', reset),
  };
}
