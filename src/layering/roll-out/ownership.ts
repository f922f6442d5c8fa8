import { deployments, leases, pods as podKind } from '../../kube/kinds.ts';
import type { Millis } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kube, KubeObject, KubeRef } from '../../ports/kube.ts';
import { countAt, partOf, textAt, ownersOf } from '../../kube/object.ts';

/**
 * The operator's programs that work on pools: one rolls out, the other builds images. Each is the
 * name of a Deployment and of its pod's lease, and the label `k8s-app` of its pods
 * (machine-config-operator, `manifests/machineconfigcontroller` and `machineosbuilder`).
 */
export const operatorPrograms = ['machine-config-controller', 'machine-os-builder'] as const;

/** The lease of Bootwright's node controller, in the operator's namespace. */
export const nodeControllerLease = 'bootwright-node-controller';

/** The DaemonSet whose pods change their nodes. */
const operatorDaemon = 'machine-config-daemon';

/** Objects that show which program runs pools and nodes. */
export interface OperatorObjects {
  /** The existing Deployments of its programs; others are ignored. */
  readonly deployments: readonly KubeObject[];
  /** The pods of the operator's namespace. */
  readonly pods: readonly KubeObject[];
  readonly leases: readonly ObservedLease[];
  /** Time on the clock of the observations. */
  readonly now: Millis;
}

/** A lease, and the time since which it has not changed. */
export interface ObservedLease {
  readonly lease: KubeObject;
  readonly since: Millis;
}

/** Reports since when a lease has not changed, as far as it was observed, on a monotonic clock. */
export function leaseObserver(clock: Pick<Clock, 'elapsed'>): (lease: KubeObject) => ObservedLease {
  const known = new Map<string, { readonly says: string; readonly since: Millis }>();
  return (lease) => {
    const { name, uid } = lease.metadata;
    const says = JSON.stringify([uid, lease['spec']]);
    const before = known.get(name);
    const since = before?.says === says ? before.since : clock.elapsed();
    known.set(name, { says, since });
    return { lease, since };
  };
}

/** Whether a Deployment should have pods; Kubernetes defaults to one replica. */
const isWanted = (deployment: KubeObject): boolean =>
  partOf(deployment, 'spec', 'replicas') === undefined ||
  countAt(deployment, 'spec', 'replicas') > 0;

/** The controller owner of a pod: `KIND NAME`; empty without one. */
const makerOf = (pod: KubeObject): string =>
  ownersOf(pod)
    .filter(({ controller }) => controller === true)
    .flatMap(({ kind, name }) =>
      typeof kind === 'string' && typeof name === 'string' ? [`${kind} ${name}`] : [],
    )[0] ?? '';

/** Whether the operator's DaemonSet created a pod; a name or label alone proves nothing. */
const isOperatorDaemon = (pod: KubeObject): boolean =>
  makerOf(pod) === `DaemonSet ${operatorDaemon}`;

/**
 * Whether a pod belongs to a Deployment of the operator, by its ReplicaSet. Both may be deleted
 * before the pod has ended; an orphaned pod continues to work.
 */
export const isOperatorController = (pod: KubeObject): boolean => {
  const maker = makerOf(pod);
  const app = pod.metadata.labels?.['k8s-app'] ?? '';
  const isLeft = maker === '' && operatorPrograms.some((one) => one === app);
  return isLeft || operatorPrograms.some((one) => maker.startsWith(`ReplicaSet ${one}-`));
};

/** A pod that has ended runs nothing; a pod that is being deleted still runs. */
const isAtWork = (pod: KubeObject): boolean =>
  !['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase'));

/**
 * Whether a lease is held and was observed to change within its duration; its timestamps come from
 * another clock (client-go, `tools/leaderelection`). A held lease without a duration counts as
 * fresh.
 */
function isFresh({ lease, since }: ObservedLease, now: Millis): boolean {
  const duration = countAt(lease, 'spec', 'leaseDurationSeconds') * 1000;
  return holderOf(lease) !== '' && (duration === 0 || now <= since + duration);
}

const holderOf = (lease: KubeObject): string => textAt(lease, 'spec', 'holderIdentity');

/**
 * The reason why the Machine Config Operator counts as running these nodes or their pool; undefined
 * where it does not.
 */
export function operatorReason(
  { deployments, pods, leases, now }: OperatorObjects,
  nodes: readonly KubeObject[],
): string | undefined {
  const isOurs = ({ metadata }: KubeObject): boolean =>
    operatorPrograms.some((one) => one === metadata.name);
  const wanted = deployments.find((one) => isOurs(one) && isWanted(one));
  if (wanted !== undefined) return `Deployment ${wanted.metadata.name} is there`;
  const controller = pods.find((pod) => isOperatorController(pod) && isAtWork(pod));
  if (controller !== undefined) return `its pod ${controller.metadata.name} is at work`;
  const held = leases.find((one) => isOurs(one.lease) && isFresh(one, now))?.lease;
  if (held !== undefined) return `lease ${held.metadata.name} is held by ${holderOf(held)}`;
  const names = new Set(nodes.map(({ metadata: { name } }) => name));
  const daemon = pods.find(
    (pod) => isOperatorDaemon(pod) && names.has(textAt(pod, 'spec', 'nodeName')) && isAtWork(pod),
  );
  if (daemon === undefined) return undefined;
  return `DaemonSet ${operatorDaemon} has pod ${daemon.metadata.name} on node ${textAt(daemon, 'spec', 'nodeName')}`;
}

/** The Deployments of the operator's programs, and their leases. */
export const operatorRefs = (namespace: string) => ({
  deployments: operatorPrograms.map((name): KubeRef => ({ kind: deployments, namespace, name })),
  leases: operatorPrograms.map((name): KubeRef => ({ kind: leases, namespace, name })),
});

interface OperatorQuestion {
  readonly kube: Pick<Kube, 'get' | 'list'>;
  readonly clock: Pick<Clock, 'elapsed'>;
  /**
   * One observer for all checks of a program: a lease is stale when it has not changed for its
   * duration.
   */
  readonly observed: ReturnType<typeof leaseObserver>;
  readonly namespace: string;
  /** Nodes whose daemon pod counts too; empty for a check of the pool alone. */
  readonly nodes: readonly string[];
}

/**
 * The reason why the Machine Config Operator runs nodes or their pool, read from the API server
 * right before a change; undefined where it does not.
 * @throws errors of the API server: objects that cannot be read count as the operator's
 */
export async function operatorReasonNow(
  { kube, clock, observed, namespace, nodes }: OperatorQuestion,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [node] = nodes;
  const daemons =
    node === undefined
      ? []
      : [nodes.length === 1 ? { fieldSelector: `spec.nodeName=${node}` } : {}];
  const list = (selector: object): Promise<readonly KubeObject[]> =>
    kube.list({ kind: podKind, namespace, ...selector }, signal);
  // The label finds their pods even when the Deployments are deleted.
  const controllers = operatorPrograms.map((name) => ({ labelSelector: `k8s-app=${name}` }));
  const refs = operatorRefs(namespace);
  const read = async (all: readonly KubeRef[]): Promise<readonly KubeObject[]> =>
    (await Promise.all(all.map((ref) => kube.get(ref, signal)))).filter((one) => one !== undefined);
  const [found, held, ...pods] = await Promise.all([
    read(refs.deployments),
    read(refs.leases),
    ...[...controllers, ...daemons].map(list),
  ]);
  const now = clock.elapsed();
  return operatorReason(
    { deployments: found, leases: held.map(observed), pods: pods.flat(), now },
    nodes.map((name) => ({ metadata: { name } })),
  );
}
