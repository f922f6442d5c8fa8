import { overdue } from './finalizing.ts';
import {
  type ClusterView,
  decideProgress,
  type ProgressDecision,
  type ProgressReport,
  settle,
} from './rules.ts';
import type {
  ClusterRecord,
  Completion,
  HostRecord,
  ReceivedEvent,
  UploadedFile,
} from './records.ts';
import { timedOut } from './stage-limits.ts';

/** The service's memory: one cluster and its hosts. */
export interface InventoryStore {
  readonly cluster: () => ClusterRecord;
  readonly hosts: () => readonly HostRecord[];
  readonly host: (id: string) => HostRecord | undefined;
  /** Applies a progress report by the rules of the service; undefined for an unknown host. */
  readonly report: (
    hostId: string,
    report: ProgressReport,
    api: 'v1' | 'v2',
  ) => ProgressDecision | undefined;
  /** The kubeconfig of the cluster, undefined until it is set. */
  readonly kubeconfig: () => string | undefined;
  /** Gives the cluster its kubeconfig; the service has it when the installation begins. */
  readonly setKubeconfig: (text: string) => void;
  /** URL of the machine-config-server; undefined for the one of a name that nobody resolves. */
  readonly configServer: () => string | undefined;
  readonly setConfigServer: (url: string) => void;
  /** Puts further files on the bootstrap host, by path. */
  readonly addBootstrapFiles: (files: Readonly<Record<string, string>>) => void;
  readonly bootstrapFiles: () => Readonly<Record<string, string>>;
  /** Files of the cluster that a test has put there, by name. */
  readonly clusterFiles: () => Readonly<Record<string, string>>;
  readonly addClusterFiles: (files: Readonly<Record<string, string>>) => void;
  /** Every upload of the controller's logs. */
  readonly controllerLogs: () => readonly UploadedFile[];
  readonly addControllerLogs: (file: UploadedFile) => void;
  /** Notes how far the logs of a host are; false for an unknown host. */
  readonly setHostLogs: (
    hostId: string,
    logs: Partial<Pick<HostRecord, 'logsState' | 'logBytes'>>,
  ) => boolean;
  readonly setClusterLogs: (state: string) => void;
  /** Keeps the cluster as a decision has changed it, with what follows from that. */
  readonly setCluster: (cluster: ClusterRecord) => void;
  /** What controllers said of the end, in order. */
  readonly completions: () => readonly Completion[];
  readonly addCompletion: (completion: Completion) => void;
  /** What was added to the list that users see, in order. */
  readonly events: () => readonly ReceivedEvent[];
  readonly addEvent: (event: ReceivedEvent) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Fails the hosts whose stage has lasted too long; the service does so every few seconds. */
  readonly checkStages: () => void;
  /** Cancels the installation as a user does. */
  readonly cancel: () => void;
  /**
   * Resets it as a user does (assisted-service, `ResetCluster` and `TransitionTypeResettingPendingUserAction`): the
   * hosts keep their stage and their place in the list, and no step that stops their agent is handed out.
   */
  readonly reset: () => void;
}

const cancelled = { status: 'cancelled', statusInfo: 'Installation cancelled by user' } as const;
const reset = {
  status: 'resetting-pending-user-action',
  statusInfo:
    'Host requires booting into the discovery image to complete resetting the installation',
} as const;

/** What a service begins with. */
export interface StoreSeed extends ClusterView {
  /** How long stages of finalizing may last, in milliseconds, where that is set (`FINALIZING_STAGE_*_TIMEOUT`). */
  readonly finalizingLimits?: Readonly<Record<string, number>>;
}

/** Makes the memory of a service; `now` gives milliseconds. */
export function inventoryStore(
  { finalizingLimits = {}, ...begin }: StoreSeed,
  now: () => number = Date.now,
): InventoryStore {
  let view: ClusterView = begin;
  let kubeconfig: string | undefined;
  let configServer: string | undefined;
  let bootstrapFiles: Readonly<Record<string, string>> = {};
  let clusterFiles: Readonly<Record<string, string>> = {};
  const controllerLogs: UploadedFile[] = [];
  const completions: Completion[] = [];
  const events: ReceivedEvent[] = [];
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
    cluster: () => view.cluster,
    hosts: () => view.hosts,
    host: find,
    report: (hostId, report, api) => {
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
    kubeconfig: () => kubeconfig,
    setKubeconfig: (text) => {
      kubeconfig = text;
    },
    configServer: () => configServer,
    setConfigServer: (url) => {
      configServer = url;
    },
    addBootstrapFiles: (files) => {
      bootstrapFiles = { ...bootstrapFiles, ...files };
    },
    bootstrapFiles: () => bootstrapFiles,
    clusterFiles: () => clusterFiles,
    addClusterFiles: (files) => {
      clusterFiles = { ...clusterFiles, ...files };
    },
    controllerLogs: () => controllerLogs,
    addControllerLogs: (file) => {
      controllerLogs.push(file);
    },
    setHostLogs: (hostId, logs) => {
      const host = find(hostId);
      if (host !== undefined) replace({ ...host, ...logs });
      return host !== undefined;
    },
    setClusterLogs: (logsState) => {
      view = { ...view, cluster: { ...view.cluster, logsState } };
    },
    setCluster: (cluster) => {
      view = settle({ ...view, cluster });
    },
    completions: () => completions,
    addCompletion: (completion) => {
      completions.push(completion);
    },
    events: () => events,
    addEvent: (event) => {
      events.push(event);
    },
    now,
    checkStages: () => {
      const waitsForUser = view.hosts.some(
        ({ status }) => status === 'installing-pending-user-action',
      );
      for (const host of view.hosts) {
        const late = timedOut(host, { now: now(), waitsForUser });
        if (late !== undefined) replace(late);
      }
      view = settle({
        ...view,
        cluster: overdue(view.cluster, now(), finalizingLimits) ?? view.cluster,
      });
    },
    cancel: () => end('cancelled', cancelled),
    reset: () => end('insufficient', reset),
  };
}
