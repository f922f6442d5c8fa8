import { deployments, leases, pods as podKind } from '../../kube/kinds.ts';
import type { Millis } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kube, KubeObject, KubeRef } from '../../ports/kube.ts';
import { countAt, partOf, textAt, ownersOf } from '../../kube/object.ts';

/**
 * The Deployment whose pod rolls out to pools, and the lease by which that pod works
 * (machine-config-operator, `manifests/machineconfigcontroller`).
 */
export const operatorDeployment = 'machine-config-controller';

/**
 * The Deployment whose pod builds images of layered pools (machine-config-operator,
 * `manifests/machineosbuilder`), and its lease.
 */
export const builderDeployment = 'machine-os-builder';

/** What works on pools for the operator; also the values of the label `k8s-app` of their pods. */
export const operatorPrograms = [operatorDeployment, builderDeployment] as const;

/** By these labels their pods are found, also when the Deployments are gone. */
export const operatorSelectors = operatorPrograms.map((name) => `k8s-app=${name}`);

/** The lease of our own controller of nodes, in the operator's namespace. */
export const nodeControllerLease = 'bootwright-node-controller';

/** The DaemonSet whose pod changes its node. */
const operatorDaemon = 'machine-config-daemon';

/** What shows who runs pools and nodes. */
export interface OperatorObjects {
  /** The Deployments of its programs that there are; others count for nothing. */
  readonly deployments: readonly KubeObject[];
  /** The pods of the operator's namespace. */
  readonly pods: readonly KubeObject[];
  /** The leases of its programs. */
  readonly leases: readonly ObservedLease[];
  /** By the clock of the observations. */
  readonly now: Millis;
}

/** A lease, and since when it has said what it says. */
export interface ObservedLease {
  readonly lease: KubeObject;
  readonly since: Millis;
}

/**
 * Tells since when a lease has said what it says, as far as it was observed, by a clock that nobody
 * sets.
 */
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

/** Whether a Deployment is to have pods; Kubernetes makes one where nothing says how many. */
const isWanted = (deployment: KubeObject): boolean =>
  partOf(deployment, 'spec', 'replicas') === undefined ||
  countAt(deployment, 'spec', 'replicas') > 0;

/** What made a pod: `KIND NAME`; empty for a pod that nothing looks after. */
const makerOf = (pod: KubeObject): string =>
  ownersOf(pod)
    .filter(({ controller }) => controller === true)
    .flatMap(({ kind, name }) =>
      typeof kind === 'string' && typeof name === 'string' ? [`${kind} ${name}`] : [],
    )[0] ?? '';

/** Whether a pod was made by the DaemonSet of the operator; a name or label alone says nothing. */
const isOperatorDaemon = (pod: KubeObject): boolean =>
  makerOf(pod) === `DaemonSet ${operatorDaemon}`;

/**
 * Whether a pod is of a Deployment of the operator, by the ReplicaSet of that. Both may be gone
 * before the pod has ended; one that they have left behind without an owner works on.
 */
export const isOperatorController = (pod: KubeObject): boolean => {
  const maker = makerOf(pod);
  const app = pod.metadata.labels?.['k8s-app'] ?? '';
  const isLeft = maker === '' && operatorPrograms.some((one) => one === app);
  return isLeft || operatorPrograms.some((one) => maker.startsWith(`ReplicaSet ${one}-`));
};

/** A pod that has ended runs nothing, one that is being removed still does. */
const isAtWork = (pod: KubeObject): boolean =>
  !['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase'));

/**
 * Whether a lease is held, and was seen to change within its duration: the times that it says are
 * those of another clock (client-go, `tools/leaderelection`). One that is held for no time that is
 * said counts as fresh.
 */
function isFresh({ lease, since }: ObservedLease, now: Millis): boolean {
  const duration = countAt(lease, 'spec', 'leaseDurationSeconds') * 1000;
  return holderOf(lease) !== '' && (duration === 0 || now <= since + duration);
}

const holderOf = (lease: KubeObject): string => textAt(lease, 'spec', 'holderIdentity');

/**
 * Why the Machine Config Operator runs these nodes, or the pool that they are; undefined where it
 * does not.
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

/** The Deployments of the operator's programs, and the leases by which they work. */
export const operatorRefs = (namespace: string) => ({
  deployments: operatorPrograms.map((name): KubeRef => ({ kind: deployments, namespace, name })),
  leases: operatorPrograms.map((name): KubeRef => ({ kind: leases, namespace, name })),
});

interface OperatorQuestion {
  readonly kube: Pick<Kube, 'get' | 'list'>;
  readonly clock: Pick<Clock, 'elapsed'>;
  /** One for all questions of a program: a lease is judged by how long it has not changed. */
  readonly observed: ReturnType<typeof leaseObserver>;
  readonly namespace: string;
  /** Nodes whose daemon counts too; none for what is of a pool alone. */
  readonly nodes: readonly string[];
}

/**
 * Why the Machine Config Operator runs nodes, or their pool, by a fresh reading right before a
 * change; undefined where it does not.
 * @throws what the API server refuses: what cannot be read counts as the operator's
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
  const controllers = operatorSelectors.map((labelSelector) => ({ labelSelector }));
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
