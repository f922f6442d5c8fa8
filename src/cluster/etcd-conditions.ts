import type { KubeObject } from '../ports/kube.ts';

/** One condition as the operators of OpenShift write it. */
interface OperatorCondition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** How something stands, with what is missing for people. */
export interface EtcdStanding {
  readonly isReached: boolean;
  readonly status: string;
}

const conditionsOf = (object: KubeObject): readonly OperatorCondition[] => {
  const { status } = object as {
    readonly status?: { readonly conditions?: readonly OperatorCondition[] };
  };
  return status?.conditions ?? [];
};

const conditionOf = (object: KubeObject, type: string): OperatorCondition | undefined =>
  conditionsOf(object).find((condition) => condition.type === type);

/**
 * The member on the bootstrap host has been taken out of etcd. The second spelling is that of the
 * first releases that had the condition (cluster-etcd-operator #992, OCPBUGS-5988).
 */
const removedTypes = ['EtcdBootstrapMemberRemoved', 'EtcdBoostrapMemberRemoved'];

/** Reason of EtcdRunningInCluster once the member is gone; older releases say it by this alone. */
const alreadyRemoved = 'BootstrapAlreadyRemoved';

/**
 * Whether etcd of the cluster no longer needs the member on the bootstrap host
 * (cluster-etcd-operator, `bootstrap_teardown_controller.go`). The condition of the removal is never
 * False: until the member is gone there is none.
 */
export function etcdHandover(etcd: KubeObject): EtcdStanding {
  const running = conditionOf(etcd, 'EtcdRunningInCluster');
  if (running?.status !== 'True') {
    const why = running?.message ?? 'the etcd operator has not said so yet';
    return { isReached: false, status: `etcd does not run in the cluster: ${why}` };
  }
  const isRemoved =
    running.reason === alreadyRemoved ||
    removedTypes.some((type) => conditionOf(etcd, type)?.status === 'True');
  return isRemoved
    ? { isReached: true, status: 'etcd has left the bootstrap host' }
    : { isReached: false, status: 'etcd still has a member on the bootstrap host' };
}

/** How many members make etcd safe against the loss of one. */
const enoughMembers = 3;

/** Labels of the static pods of etcd, of releases now and before 4.4. */
const podLabels = ['app', 'k8s-app'];

/** Namespace of the static pods of etcd. */
export const etcdNamespace = 'openshift-etcd';

const isMember = ({ metadata: { labels } }: KubeObject): boolean =>
  podLabels.some((label) => labels?.[label] === 'etcd');

const isReady = (pod: KubeObject): boolean => conditionOf(pod, 'Ready')?.status === 'True';

/**
 * Whether three members of etcd are healthy: three pods that are Ready, and no word of the operator
 * against it.
 */
export function threeHealthyMembers(
  etcd: KubeObject | undefined,
  pods: readonly KubeObject[],
): EtcdStanding {
  const members = pods.filter(isMember);
  const ready = members.filter(isReady);
  if (ready.length < enoughMembers) {
    const others = members.filter((pod) => !isReady(pod)).map(({ metadata: { name } }) => name);
    const why = others.length === 0 ? '' : `: ${others.join(', ')} not ready`;
    return {
      isReached: false,
      status: `${ready.length} of ${enoughMembers} etcd members ready${why}`,
    };
  }
  const against = objection(etcd);
  return against === undefined
    ? { isReached: true, status: `${ready.length} etcd members are healthy` }
    : { isReached: false, status: against };
}

function objection(etcd: KubeObject | undefined): string | undefined {
  if (etcd === undefined) return 'the etcd operator has no object yet';
  const available = conditionOf(etcd, 'EtcdMembersAvailable');
  if (available?.status === 'False') return `etcd is not available: ${available.message ?? ''}`;
  const degraded = conditionOf(etcd, 'EtcdMembersDegraded');
  return degraded?.status === 'True' ? `etcd is degraded: ${degraded.message ?? ''}` : undefined;
}
