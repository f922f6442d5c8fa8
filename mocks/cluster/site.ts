import type { KubeObject, KubeRef } from '../../src/ports/kube.ts';
import type { Machine } from '../host/machine.ts';
import type { InventoryStore } from '../inventory/store.ts';
import type { ApiServer } from '../kube/control-plane.ts';
import type { Kube } from '../kube/start.ts';
import type { ClusterPlan, ClusterState, ClusterEvent } from './cluster-state.ts';
import type { bootIds, Kubelet, tenants } from './kubelet.ts';
import type { LayeredSite } from '../layering/plan.ts';
import { type Invoker, kinds, type NodeFacts, nodeStatus } from './objects.ts';

/** A job of the cluster that runs our own program. */
export interface JobRun {
  /** Name that distinguishes its files from other jobs' files. */
  readonly name: string;
  /** The id of its pod. */
  readonly podId: string;
  /** Arguments of the program. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /**
   * Text of a kubeconfig with the rights of its service account; a pod without a token has none.
   */
  readonly kubeconfig?: string;
  /** The host whose PID namespace it shares. */
  readonly hostPid?: string | undefined;
  /**
   * Content of its mounted files, by path; arguments that begin with one of these paths are
   * redirected.
   */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly signal: AbortSignal;
}

/** A running program of a pod. */
export interface RunningJob {
  /** Its exit code; 1 after a signal. */
  readonly ended: Promise<number>;
  /** Its output so far. */
  readonly log: () => string;
  /** The content of one of its `files` now. */
  readonly textOf: (path: string) => string;
  /** Kills it at once, as the kernel does when memory is short. */
  readonly kill: () => void;
}

/** Parts from which a cluster is started. */
export interface ClusterSite {
  readonly plan: ClusterPlan;
  readonly members: readonly NodeFacts[];
  /** Its API server, which runs; hosts reach it once the cluster opens it. */
  readonly kube: Kube;
  readonly invoker: Invoker;
  /** The bootstrap host: its files, and its started units. */
  readonly bootstrap: Pick<Machine, 'files' | 'units' | 'journal'>;
  readonly store: InventoryStore;
  /** Registries and machines of a layered cluster. */
  readonly layered?: LayeredSite | undefined;
  /** Whether a fault is still to strike in the wait of this step, so that the wait must not end. */
  readonly isHeld?: (step: string) => boolean;
  /** Whether a host is still to say what it is expected to say while it waits. */
  readonly isUnsaid?: () => boolean;
  /** Starts a job's program. */
  readonly startJob: (job: JobRun) => Promise<RunningJob>;
}

/** Parts that the actions of a cluster need. */
export interface ClusterWork extends ClusterSite {
  readonly kubelet: Kubelet;
  /** The API server to which the API moves; started at the first call. */
  readonly finalServer: () => Promise<ApiServer>;
  readonly state: () => ClusterState;
  /** Logs of pods, by name. */
  readonly logs: Map<string, () => string>;
  /** Number of kills of the controller. */
  readonly kills: { count: number };
  readonly bootIds: ReturnType<typeof bootIds>;
  readonly tenants: ReturnType<typeof tenants>;
  /** Running jobs, by uid. */
  readonly jobs: Set<string>;
  /** Lets a kubelet run the controller's pod from now on. */
  readonly startController: () => void;
  /** The service ran on the bootstrap host, which has left for its cluster. */
  readonly hasServiceLeft: () => boolean;
  /** Aborts when the programs of the Machine Config Operator end. */
  readonly operated: AbortSignal;
  readonly complain: (what: string) => void;
  /** Notes that a fault of the scenario has struck. */
  readonly strike: (what: string) => void;
  readonly emit: (event: ClusterEvent) => void;
  readonly signal: AbortSignal;
}

/** The facts of a member by its name. */
export function memberNamed({ members }: Pick<ClusterSite, 'members'>, name: string): NodeFacts {
  const found = members.find((member) => member.name === name);
  if (found === undefined) throw new RangeError(`the cluster has no member ${name}`);
  return found;
}

/** Reports a node's status as the kubelet of its host. */
export async function reportNode(work: ClusterWork, host: string, isReady: boolean): Promise<void> {
  const status = nodeStatus(memberNamed(work, host), {
    isReady,
    kubeletPort: work.kubelet.port,
    bootId: work.bootIds.of(host),
    at: new Date(),
  });
  await work.kube.client.mergeStatus({ kind: kinds.Node, name: host }, status);
}

/** The data of a Secret or a ConfigMap; empty if it does not exist. */
export async function dataOf(
  { kube }: Pick<ClusterSite, 'kube'>,
  ref: KubeRef,
): Promise<Readonly<Record<string, string>>> {
  return ((await kube.client.get(ref))?.['data'] ?? {}) as Readonly<Record<string, string>>;
}

/** The decoded data of a Secret. */
export async function secretData(
  site: Pick<ClusterSite, 'kube'>,
  place: Omit<KubeRef, 'kind'>,
): Promise<Readonly<Record<string, Buffer>>> {
  const data = Object.entries(await dataOf(site, { kind: kinds.Secret, ...place }));
  return Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, 'base64')]));
}

/** Reference to a pod. */
export const podRef = ({ metadata: { name, namespace = '' } }: KubeObject): KubeRef => ({
  kind: kinds.Pod,
  name,
  namespace,
});

/** Reports the status of a pod as its kubelet. */
export async function reportPod(
  { kube }: Pick<ClusterSite, 'kube'>,
  pod: KubeObject,
  status: object,
): Promise<void> {
  await kube.client.mergeStatus(podRef(pod), status);
}
