import { deployments, pods as podKind } from '../../cluster/kinds.ts';
import { operatorDeployment, operatorReason } from '../../layering/roll-out/ownership.ts';
import type { Kube, KubeRef } from '../../ports/kube.ts';

/** The Deployment of the operator's controller. */
export const operatorDeploymentRef = (namespace: string): KubeRef => ({
  kind: deployments,
  namespace,
  name: operatorDeployment,
});

/**
 * Why the Machine Config Operator runs a node, or any pool where none is named, by a fresh reading right before a change;
 * undefined where it does not.
 * @throws what the API server refuses: what cannot be read counts as the operator's
 */
export async function operatorReasonNow(
  kube: Pick<Kube, 'get' | 'list'>,
  { namespace, node }: { readonly namespace: string; readonly node?: string | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  const deployment = await kube.get(operatorDeploymentRef(namespace), signal);
  if (node === undefined) return operatorReason({ deployment, pods: [] }, []);
  const fieldSelector = `spec.nodeName=${node}`;
  const pods = await kube.list({ kind: podKind, namespace, fieldSelector }, signal);
  return operatorReason({ deployment, pods }, [{ metadata: { name: node } }]);
}
