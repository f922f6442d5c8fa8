import { deployments, leases, pods as podKind } from '../../cluster/kinds.ts';
import { operatorDeployment, operatorReason, operatorSelector } from './ownership.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kube, KubeObject, KubeRef } from '../../ports/kube.ts';

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
