// etcd of the cluster, as its operator counts its members and reports conditions
// (openshift/cluster-etcd-operator, b4786ae).
import type { KubeObject } from '../../src/ports/kube.ts';
import type { ClusterPlan, ClusterState } from './cluster-state.ts';

type Seen = Pick<ClusterState, 'phases' | 'isOverridden'>;
type Planned = Pick<ClusterPlan, 'members' | 'needsEtcdOverride'>;

/** Hosts with a member of etcd: all Ready hosts of the control plane. */
export const memberHosts = ({ members }: Planned, { phases }: Seen): readonly string[] =>
  members
    .filter(({ name, role }) => role !== 'worker' && phases[name] === 'ready')
    .map(({ name }) => name);

/**
 * The number of members, with the one on the bootstrap host, at which the operator removes that one
 * (`GetBootstrapScalingStrategy`, `canRemoveEtcdBootstrap`). The service requests the delayed
 * strategies by an annotation that old releases do not know; these require four, or two with an
 * override.
 */
export function membersBeforeRemoval(plan: Planned, { isOverridden }: Seen): number {
  if (plan.needsEtcdOverride) return isOverridden ? 2 : 4;
  const controlPlane = plan.members.filter(({ role }) => role !== 'worker').length;
  return controlPlane === 2 ? 2 : 3;
}

/** Whether the operator can remove the bootstrap host's member. */
export const hasEnoughMembers = (plan: Planned, state: Seen): boolean =>
  memberHosts(plan, state).length + 1 >= membersBeforeRemoval(plan, state);

/** Progress of etcd from the bootstrap host to the cluster. */
export interface EtcdProgress {
  /** Members on masters and arbiters. */
  readonly members: number;
  /**
   * `starting` until there are enough; `running` beside the bootstrap host's; `removed`, and then a
   * second time.
   */
  readonly phase: 'starting' | 'running' | 'removed' | 'removed-before';
  /** The release has a condition of its own for the removal (4.13, cluster-etcd-operator #992). */
  readonly hasRemovalCondition: boolean;
}

/**
 * The conditions of the operator (`bootstrap_teardown_controller.go`, `etcdmemberscontroller.go`).
 */
export function etcdConditions(
  { members, phase, hasRemovalCondition }: EtcdProgress,
  at: Date,
): readonly object[] {
  const isRemoved = phase === 'removed' || phase === 'removed-before';
  const all = members + (isRemoved ? 0 : 1);
  const condition = (type: string, isTrue: boolean, [reason, message]: readonly string[]) => ({
    type,
    status: isTrue ? 'True' : 'False',
    reason,
    ...(message === undefined ? {} : { message }),
    lastTransitionTime: at.toISOString(),
  });
  return [
    condition('EtcdRunningInCluster', phase !== 'starting', running[phase]),
    // The condition is absent before the member is removed; it is never False.
    ...(isRemoved && hasRemovalCondition
      ? [condition('EtcdBootstrapMemberRemoved', true, removal)]
      : []),
    condition('BootstrapTeardownDegraded', false, ['AsExpected']),
    condition('EtcdMembersAvailable', true, ['EtcdQuorate', `${all} members are available`]),
    condition('EtcdMembersDegraded', false, ['AsExpected', 'No unhealthy members found']),
    condition('EtcdMembersProgressing', false, ['AsExpected', 'No unstarted etcd members found']),
    condition('EtcdMembersControllerDegraded', false, ['MembersReported']),
  ];
}

const enough = ['EnoughEtcdMembers', 'enough members found'];
const removal = ['BootstrapMemberRemoved', 'etcd bootstrap member is removed'];

/** Reason and message of EtcdRunningInCluster. */
const running: Readonly<Record<EtcdProgress['phase'], readonly string[]>> = {
  starting: ['NotEnoughEtcdMembers', 'still waiting for three healthy etcd members'],
  running: enough,
  removed: enough,
  'removed-before': ['BootstrapAlreadyRemoved', 'etcd-bootstrap member is already removed'],
};

/** Whether an override lets etcd run with less than three members. */
export function isOverridden(etcd: KubeObject | undefined): boolean {
  const spec = (etcd?.['spec'] ?? {}) as { readonly unsupportedConfigOverrides?: unknown };
  return JSON.stringify(spec.unsupportedConfigOverrides ?? {}).includes('UnstableEtcd":true');
}
