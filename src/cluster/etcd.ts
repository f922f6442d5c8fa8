import type { KubeObject, KubePatch, KubeRef } from '../ports/kube.ts';
import { canonicalAddress } from '../lib/address.ts';
import { fieldsOf, textsIn } from '../lib/fields.ts';
import { configMaps, etcds } from '../kube/kinds.ts';
import { conditionOf, partOf, textAt } from '../kube/object.ts';
import { isAtLeast, releaseVersion } from './release.ts';

/** The only object of the etcd operator. */
export const etcdCluster: KubeRef = { kind: etcds, name: 'cluster' };

/** Allows etcd to run with fewer than three members (cluster-etcd-operator, releases up to 4.6). */
const flag = 'useUnsupportedUnsafeNonHANonProductionUnstableEtcd';

/** The annotation that holds the previous overrides, as JSON, until they are restored. */
export const overrideAnnotation = 'bootwright.io/etcd-override';

/**
 * Whether this release needs the flag to start etcd with fewer than three members: 4.6 and older,
 * pre-releases included. A version that is unknown, or cannot be read, does not need it.
 */
export function needsOverride(
  version: string | undefined,
  mode: 'auto' | 'always' | 'never',
): boolean {
  if (mode !== 'auto') return mode === 'always';
  const release = releaseVersion(version ?? '');
  return release?.[0] === 4 && !isAtLeast(release, [4, 7, 0]);
}

/** The overrides of an Etcd object; null when there are none. */
export const overridesOf = (etcd: KubeObject): unknown =>
  partOf(etcd, 'spec', 'unsupportedConfigOverrides') ?? null;

/** Whether the flag is set. */
export const isOverridden = (etcd: KubeObject): boolean =>
  fieldsOf(overridesOf(etcd))[flag] === true;

/**
 * The overrides before ours, from the annotation of the object; undefined without an annotation. An
 * annotation that cannot be read counts as no overrides.
 */
export function recordedBefore(etcd: KubeObject): { readonly before: unknown } | undefined {
  const record = etcd.metadata.annotations?.[overrideAnnotation];
  if (record === undefined) return undefined;
  try {
    return { before: JSON.parse(record) as unknown };
  } catch {
    return { before: null };
  }
}

/** Sets the flag and records the previous overrides in the same request. */
export const overridePatch = (before: unknown): KubePatch => ({
  type: 'merge',
  body: {
    metadata: { annotations: { [overrideAnnotation]: JSON.stringify(before) } },
    spec: { unsupportedConfigOverrides: { [flag]: true } },
  },
});

/**
 * Restores the overrides before ours and removes the annotation. Overrides that another writer has
 * added since then are kept.
 */
export function restorePatch(etcd: KubeObject, before: unknown): KubePatch {
  const others = Object.keys(fieldsOf(overridesOf(etcd))).filter((name) => name !== flag);
  const isOnlyOurs = before === null && others.length === 0;
  return {
    type: 'merge',
    body: {
      metadata: { annotations: { [overrideAnnotation]: null } },
      spec: {
        unsupportedConfigOverrides: isOnlyOurs ? null : { [flag]: fieldsOf(before)[flag] ?? null },
      },
    },
  };
}

/** Whether an object is as it was before the override: no annotation, and the previous flag. */
export const isRestored = (etcd: KubeObject, before: unknown): boolean =>
  recordedBefore(etcd) === undefined &&
  fieldsOf(overridesOf(etcd))[flag] === fieldsOf(before)[flag];

/** Whether a state of etcd is reached, and a text about the missing conditions. */
export interface EtcdStatus {
  readonly isReached: boolean;
  readonly status: string;
}

/**
 * Types of the condition that the bootstrap host's member is removed. The second spelling is from
 * the first releases with the condition (cluster-etcd-operator #992, OCPBUGS-5988).
 */
const removedTypes = ['EtcdBootstrapMemberRemoved', 'EtcdBoostrapMemberRemoved'];

/** Reason of EtcdRunningInCluster once the member is removed; older releases have only this one. */
const alreadyRemoved = 'BootstrapAlreadyRemoved';

/**
 * Whether etcd of the cluster no longer needs the member on the bootstrap host
 * (cluster-etcd-operator, `bootstrap_teardown_controller.go`). The condition of the removal is
 * never False: it is absent until the member is removed.
 */
export function etcdHandover(etcd: KubeObject): EtcdStatus {
  const running = conditionOf(etcd, 'EtcdRunningInCluster');
  if (running.status !== 'True') {
    const why = running.message || 'the etcd operator has not reported it yet';
    return { isReached: false, status: `etcd does not run in the cluster: ${why}` };
  }
  const isRemoved =
    running.reason === alreadyRemoved ||
    removedTypes.some((type) => conditionOf(etcd, type).status === 'True');
  if (isRemoved) return { isReached: true, status: 'etcd has left the bootstrap host' };
  const teardown = conditionOf(etcd, 'BootstrapTeardownDegraded');
  const why = teardown.status === 'True' ? `: ${teardown.message}` : '';
  return { isReached: false, status: `etcd still has a member on the bootstrap host${why}` };
}

/** The number of members with which etcd survives the loss of one. */
const enoughMembers = 3;

/** Labels of the static pods of etcd: of current releases, and of releases before 4.4. */
const podLabels = ['app', 'k8s-app'];

/** Namespace of the static pods of etcd. */
export const etcdNamespace = 'openshift-etcd';

const isMember = ({ metadata: { labels } }: KubeObject): boolean =>
  podLabels.some((label) => labels?.[label] === 'etcd');

const isReady = (pod: KubeObject): boolean => conditionOf(pod, 'Ready').status === 'True';

/**
 * Whether three members of etcd are healthy: three pods are Ready, and no condition of the operator
 * contradicts that.
 */
export const threeHealthyMembers = (
  etcd: KubeObject | undefined,
  pods: readonly KubeObject[],
): EtcdStatus => healthyMembers(etcd, pods, enoughMembers);

/**
 * Whether one member of etcd may go away: at least three members are healthy, and the others keep
 * the quorum. Of two members neither can be spared; both have to be healthy then.
 * @param nodes the nodes that carry a member
 */
export function maySpareMember(
  etcd: KubeObject | undefined,
  pods: readonly KubeObject[],
  nodes: number,
): EtcdStatus {
  const members = Math.max(nodes, pods.filter(isMember).length);
  const quorum = Math.floor(members / 2) + 1;
  return healthyMembers(etcd, pods, Math.min(members, Math.max(enoughMembers, quorum + 1)));
}

/**
 * Whether the members on other nodes keep the quorum: enough for a node whose own member has failed
 * already.
 * @param nodes the nodes that carry a member
 */
export function keepsQuorumWithout(
  node: string,
  pods: readonly KubeObject[],
  nodes: number,
): boolean {
  const all = pods.filter(isMember);
  const onNode = all.filter((pod) => textAt(pod, 'spec', 'nodeName') === node);
  if (onNode.some(isReady)) return false;
  return all.filter(isReady).length > Math.max(nodes, all.length) / 2;
}

/** The members of etcd, as the cluster shows them. */
export interface EtcdMembers {
  /** Addresses of all voting members. */
  readonly members: readonly string[];
  /** Names of the nodes whose member is ready. */
  readonly readyOn: ReadonlySet<string>;
}

/**
 * The ConfigMap in which the etcd operator keeps the voting members (cluster-etcd-operator,
 * `etcdendpointscontroller`).
 */
export const etcdEndpoints: KubeRef = {
  kind: configMaps,
  namespace: etcdNamespace,
  name: 'etcd-endpoints',
};

/**
 * Ids of members: without an answer of etcd the operator writes names of nodes in their place,
 * which are no members yet. A node that is named by the address of its interface looks like an id.
 */
const memberId = /^[0-9a-f]{1,16}$/;

/** The members of etcd; undefined where they are unknown. */
export function etcdMembers(
  endpoints: KubeObject | undefined,
  pods: readonly KubeObject[],
): EtcdMembers | undefined {
  const data = textsIn(endpoints?.['data']);
  const ids = Object.keys(data);
  const own = pods.filter(isMember);
  const nodesOf = (some: readonly KubeObject[]): ReadonlySet<string> =>
    new Set(some.map((pod) => textAt(pod, 'spec', 'nodeName')));
  const areMembers = ids.every((id) => memberId.test(id) && !nodesOf(own).has(id));
  if (ids.length === 0 || !areMembers) return undefined;
  return {
    members: Object.values(data).map((address) => canonicalAddress(address) ?? address),
    readyOn: nodesOf(own.filter(isReady)),
  };
}

function healthyMembers(
  etcd: KubeObject | undefined,
  pods: readonly KubeObject[],
  needed: number,
): EtcdStatus {
  const members = pods.filter(isMember);
  const ready = members.filter(isReady);
  if (ready.length < needed) {
    const others = members.filter((pod) => !isReady(pod)).map(({ metadata: { name } }) => name);
    const why = others.length === 0 ? '' : `: ${others.join(', ')} not ready`;
    return {
      isReached: false,
      status: `${ready.length} of ${needed} etcd members ready${why}`,
    };
  }
  const reason = unhealthyReason(etcd);
  return reason === undefined
    ? { isReached: true, status: `${ready.length} etcd members are healthy` }
    : { isReached: false, status: reason };
}

function unhealthyReason(etcd: KubeObject | undefined): string | undefined {
  if (etcd === undefined) return 'there is no etcd/cluster yet';
  const available = conditionOf(etcd, 'EtcdMembersAvailable');
  if (available.status === 'False') return `etcd is not available: ${available.message}`;
  const degraded = conditionOf(etcd, 'EtcdMembersDegraded');
  return degraded.status === 'True' ? `etcd is degraded: ${degraded.message}` : undefined;
}
