import { deployments, leases, pods as podKind } from '../../cluster/kinds.ts';
import type { Millis } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kube, KubeObject, KubeRef } from '../../ports/kube.ts';
import { countAt, listAt, partOf, textAt } from '../api/cluster-object.ts';
import { fieldsOf, type Value } from '../api/schema.ts';

/**
 * The Deployment whose pod rolls out to pools, and the lease by which that pod works (machine-config-operator,
 * `manifests/machineconfigcontroller`).
 */
export const operatorDeployment = 'machine-config-controller';

/** By these labels its pods are found, also when the Deployment is gone. */
export const operatorSelector = `k8s-app=${operatorDeployment}`;

/** The lease of our own controller of nodes, in the operator's namespace. */
export const nodeControllerLease = 'bootwright-node-controller';

/** The DaemonSet whose pod changes its node. */
const operatorDaemon = 'machine-config-daemon';

/** What shows who runs pools and nodes. */
export interface OperatorObjects {
  /** The Deployment of the operator's controller, where there is one. */
  readonly deployment: KubeObject | undefined;
  /** The pods of the operator's namespace. */
  readonly pods: readonly KubeObject[];
  /** Its lease, where there is one, and the time at which it was read. */
  readonly lease?: KubeObject | undefined;
  readonly now?: Millis;
}

/** Whether a Deployment is to have pods; Kubernetes makes one where nothing says how many. */
const isWanted = (deployment: KubeObject | undefined): boolean =>
  deployment !== undefined &&
  (partOf(deployment, 'spec', 'replicas') === undefined ||
    countAt(deployment, 'spec', 'replicas') > 0);

/** What made a pod: `KIND NAME`; empty for a pod that nothing looks after. */
const makerOf = (pod: KubeObject): string =>
  listAt(pod, 'metadata', 'ownerReferences')
    .map((one) => fieldsOf(one as Value))
    .filter(({ controller }) => controller === true)
    .flatMap(({ kind, name }) =>
      typeof kind === 'string' && typeof name === 'string' ? [`${kind} ${name}`] : [],
    )[0] ?? '';

/** Whether a pod was made by the DaemonSet of the operator; a name or label alone says nothing. */
const isOperatorDaemon = (pod: KubeObject): boolean =>
  makerOf(pod) === `DaemonSet ${operatorDaemon}`;

/**
 * Whether a pod is of the operator's Deployment, by the ReplicaSet of that. Both may be gone before the pod has ended; one
 * that they have left behind without an owner works on.
 */
export const isOperatorController = (pod: KubeObject): boolean => {
  const maker = makerOf(pod);
  const isLeft = maker === '' && pod.metadata.labels?.['k8s-app'] === operatorDeployment;
  return isLeft || maker.startsWith(`ReplicaSet ${operatorDeployment}-`);
};

/** A pod that has ended runs nothing, one that is being removed still does. */
const isAtWork = (pod: KubeObject): boolean =>
  !['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase'));

/**
 * Whether a lease is held, and was renewed within its duration (client-go, `tools/leaderelection`). That of the operator lasts
 * 137 seconds; it is released when the operator is stopped, and stays when it is killed (seen with machine-config-operator
 * 7ff337a4). What cannot be read of one that is held counts as fresh.
 */
function isFresh(lease: KubeObject | undefined, now: Millis | undefined): boolean {
  if (textAt(lease, 'spec', 'holderIdentity') === '') return false;
  const renewed = Date.parse(textAt(lease, 'spec', 'renewTime'));
  const ends = renewed + countAt(lease, 'spec', 'leaseDurationSeconds') * 1000;
  return now === undefined || Number.isNaN(ends) || now <= ends;
}

/** Why the Machine Config Operator runs these nodes, or the pool that they are; undefined where it does not. */
export function operatorReason(
  { deployment, pods, lease, now }: OperatorObjects,
  nodes: readonly KubeObject[],
): string | undefined {
  if (isWanted(deployment)) return `Deployment ${operatorDeployment} is there`;
  const controller = pods.find((pod) => isOperatorController(pod) && isAtWork(pod));
  if (controller !== undefined)
    return `Deployment ${operatorDeployment} has pod ${controller.metadata.name}`;
  if (isFresh(lease, now))
    return `lease ${operatorDeployment} is held by ${textAt(lease, 'spec', 'holderIdentity')}`;
  const names = new Set(nodes.map(({ metadata: { name } }) => name));
  const daemon = pods.find(
    (pod) => isOperatorDaemon(pod) && names.has(textAt(pod, 'spec', 'nodeName')) && isAtWork(pod),
  );
  if (daemon === undefined) return undefined;
  return `DaemonSet ${operatorDaemon} has pod ${daemon.metadata.name} on node ${textAt(daemon, 'spec', 'nodeName')}`;
}

/** The Deployment of the operator's controller. */
export const operatorDeploymentRef = (namespace: string): KubeRef => ({
  kind: deployments,
  namespace,
  name: operatorDeployment,
});

/** The lease by which that works. */
export const operatorLeaseRef = (namespace: string): KubeRef => ({
  ...operatorDeploymentRef(namespace),
  kind: leases,
});

/** Who asks for the operator, and where. */
interface OperatorQuestion {
  readonly kube: Pick<Kube, 'get' | 'list'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly namespace: string;
  /** Nodes whose daemon counts too; none for what is of a pool alone. */
  readonly nodes: readonly string[];
}

/**
 * Why the Machine Config Operator runs nodes, or their pool, by a fresh reading right before a change; undefined where it
 * does not.
 * @throws what the API server refuses: what cannot be read counts as the operator's
 */
export async function operatorReasonNow(
  { kube, clock, namespace, nodes }: OperatorQuestion,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [node] = nodes;
  const daemons =
    node === undefined
      ? []
      : [nodes.length === 1 ? { fieldSelector: `spec.nodeName=${node}` } : {}];
  const list = (selector: object): Promise<readonly KubeObject[]> =>
    kube.list({ kind: podKind, namespace, ...selector }, signal);
  const [deployment, lease, ...pods] = await Promise.all([
    kube.get(operatorDeploymentRef(namespace), signal),
    kube.get(operatorLeaseRef(namespace), signal),
    ...[{ labelSelector: operatorSelector }, ...daemons].map(list),
  ]);
  const objects = { deployment, lease, pods: pods.flat(), now: clock.now() };
  return operatorReason(
    objects,
    nodes.map((name) => ({ metadata: { name } })),
  );
}
