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
  /** Tells its files from those of other jobs. */
  readonly name: string;
  /** The id of its pod. */
  readonly podId: string;
  /** Words for the program. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /**
   * Text of a kubeconfig with the rights of its service account; a pod without a token has none.
   */
  readonly kubeconfig?: string;
  /** The host whose PID namespace it shares. */
  readonly hostPid?: string | undefined;
  /** What is mounted into it, by path; its words that begin with one of these paths lead there. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly signal: AbortSignal;
}

/** A program of a pod that runs. */
export interface RunningJob {
  /** Its exit code, 1 where a signal ended it. */
  readonly ended: Promise<number>;
  /** What it has said so far. */
  readonly log: () => string;
  /** What is in one of its `files` now. */
  readonly textOf: (path: string) => string;
  /** Ends it at once, as the kernel does where memory is short. */
  readonly kill: () => void;
}

/** What a cluster is started from. */
export interface ClusterSite {
  readonly plan: ClusterPlan;
  readonly members: readonly NodeFacts[];
  /** Its API server runs; hosts reach it as soon as the cluster opens it. */
  readonly kube: Kube;
  readonly invoker: Invoker;
  /** The host that bootstraps the cluster: its files, and the units that it has started. */
  readonly bootstrap: Pick<Machine, 'files' | 'units'>;
  readonly store: InventoryStore;
  /** What is around it when its operating systems are built. */
  readonly layered?: LayeredSite | undefined;
  /** Whether a fault has yet to strike in the wait of this step, which therefore must not end. */
  readonly isHeld?: (step: string) => boolean;
  /** Starts a job's program. */
  readonly startJob: (job: JobRun) => Promise<RunningJob>;
}

/** What a cluster needs to do its actions. */
export interface ClusterWork extends ClusterSite {
  readonly kubelet: Kubelet;
  /** The API server to which the API moves; started at the first call. */
  readonly finalServer: () => Promise<ApiServer>;
  readonly state: () => ClusterState;
  /** Logs of pods, by name. */
  readonly logs: Map<string, () => string>;
  /** How often the controller was killed. */
  readonly kills: { count: number };
  readonly bootIds: ReturnType<typeof bootIds>;
  readonly tenants: ReturnType<typeof tenants>;
  /** Jobs that run, by uid. */
  readonly jobs: Set<string>;
  /** Lets a kubelet run the pod of the controller from now on. */
  readonly startController: () => void;
  /** The service ran on the bootstrap host, which has left for its cluster. */
  readonly hasServiceLeft: () => boolean;
  /** Until then the programs of the Machine Config Operator work. */
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

/** Lets the kubelet of a host say how its node is. */
export async function reportNode(work: ClusterWork, host: string, isReady: boolean): Promise<void> {
  const status = nodeStatus(memberNamed(work, host), {
    isReady,
    kubeletPort: work.kubelet.port,
    bootId: work.bootIds.of(host),
    at: new Date(),
  });
  await work.kube.client.mergeStatus({ kind: kinds.Node, name: host }, status);
}

/** The data of a Secret or a ConfigMap; none where it is not there. */
export async function dataOf(
  { kube }: Pick<ClusterSite, 'kube'>,
  ref: KubeRef,
): Promise<Readonly<Record<string, string>>> {
  return ((await kube.client.get(ref))?.['data'] ?? {}) as Readonly<Record<string, string>>;
}

/** The same of a Secret, decoded. */
export async function secretData(
  site: Pick<ClusterSite, 'kube'>,
  place: Omit<KubeRef, 'kind'>,
): Promise<Readonly<Record<string, Buffer>>> {
  const data = Object.entries(await dataOf(site, { kind: kinds.Secret, ...place }));
  return Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, 'base64')]));
}

/** Where a pod is. */
export const podRef = ({ metadata: { name, namespace = '' } }: KubeObject): KubeRef => ({
  kind: kinds.Pod,
  name,
  namespace,
});

/** Lets a kubelet say how one of its pods is. */
export async function reportPod(
  { kube }: Pick<ClusterSite, 'kube'>,
  pod: KubeObject,
  status: object,
): Promise<void> {
  await kube.client.mergeStatus(podRef(pod), status);
}
