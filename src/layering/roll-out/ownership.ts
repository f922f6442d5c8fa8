import type { KubeObject } from '../../ports/kube.ts';
import { countAt, listAt, partOf, textAt } from '../api/cluster-object.ts';
import { fieldsOf, type Value } from '../api/schema.ts';

/** The Deployment whose pod rolls out to pools (machine-config-operator, `manifests/machineconfigcontroller`). */
export const operatorDeployment = 'machine-config-controller';

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
}

/** Whether a Deployment is to have pods; Kubernetes makes one where nothing says how many. */
const isWanted = (deployment: KubeObject | undefined): boolean =>
  deployment !== undefined &&
  (partOf(deployment, 'spec', 'replicas') === undefined ||
    countAt(deployment, 'spec', 'replicas') > 0);

/** Whether a pod was made by the DaemonSet of the operator; a name or label alone says nothing. */
const isOperatorDaemon = (pod: KubeObject): boolean =>
  listAt(pod, 'metadata', 'ownerReferences')
    .map((one) => fieldsOf(one as Value))
    .some(
      ({ kind, name, controller }) =>
        kind === 'DaemonSet' && name === operatorDaemon && controller === true,
    );

/**
 * Why the Machine Config Operator runs these nodes, or the pool that they are; undefined where it does not. A pod that has
 * ended runs nothing, one that is being removed still does.
 */
export function operatorReason(
  { deployment, pods }: OperatorObjects,
  nodes: readonly KubeObject[],
): string | undefined {
  if (isWanted(deployment)) return `Deployment ${operatorDeployment} is there`;
  const names = new Set(nodes.map(({ metadata: { name } }) => name));
  const daemon = pods.find(
    (pod) =>
      isOperatorDaemon(pod) &&
      names.has(textAt(pod, 'spec', 'nodeName')) &&
      !['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase')),
  );
  if (daemon === undefined) return undefined;
  return `DaemonSet ${operatorDaemon} has pod ${daemon.metadata.name} on node ${textAt(daemon, 'spec', 'nodeName')}`;
}
