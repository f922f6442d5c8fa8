import { conditionOf } from '../kube/object.ts';
import type { KubeObject } from '../ports/kube.ts';

/**
 * Why an installation is not complete, by the first object that shows it; undefined once the
 * ClusterVersion is Available and no ClusterOperator is Degraded or Progressing
 * (openshift/installer, `wait-for install-complete`).
 */
export function clusterNotSettled(
  version: KubeObject | undefined,
  operators: readonly KubeObject[],
): string | undefined {
  if (version === undefined) return 'the ClusterVersion is not there yet';
  if (conditionOf(version, 'Available').status !== 'True')
    return joined('the ClusterVersion is not available', version, 'Progressing');
  if (operators.length === 0) return 'no ClusterOperator is there yet';
  for (const operator of operators) {
    const name = `ClusterOperator ${operator.metadata.name}`;
    if (conditionOf(operator, 'Available').status !== 'True')
      return joined(`${name} is not available`, operator, 'Available');
    for (const type of ['Degraded', 'Progressing'])
      if (conditionOf(operator, type).status === 'True')
        return joined(`${name} is ${type.toLowerCase()}`, operator, type);
  }
  return undefined;
}

function joined(what: string, object: KubeObject, type: string): string {
  const { message } = conditionOf(object, type);
  return message === '' ? what : `${what}: ${message}`;
}
