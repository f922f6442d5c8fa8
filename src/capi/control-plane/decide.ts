import { createHash } from 'node:crypto';
import { type Machine, type OpenShiftControlPlane, ownNames } from '../api.ts';
import { type CheckResult, isConditionTrue } from '../conditions.ts';
import { type ControlPlaneFacts, controlPlaneFacts, type ControlPlaneView } from './view.ts';
import {
  type Approval,
  approvals,
  type GuestSeen,
  type NodeReport,
  nodeReports,
} from './guest-hosts.ts';
import { type RemediationAction, remediations, toBeFollowed } from './remediate.ts';
import { leastUsedDomain, machineName, type NewMachine } from './machines.ts';
import { conditionOf, listAt, partOf, textAt } from '../../kube/object.ts';
import { isAtLeast, releaseVersion } from '../../cluster/release-version.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { isControlledBy } from '../objects.ts';

/** What is decided by: objects of the management cluster, and what was found out beside them. */
export interface Seen {
  readonly view: ControlPlaneView;
  readonly now: number;
  /** The infrastructure template is there, and of a kind that a provider has. */
  readonly hasTemplate: boolean;
  /** The API of the guest answers. */
  readonly isAnswering: boolean;
  /** What the guest shows; undefined while it does not answer. */
  readonly guest?: GuestSeen | undefined;
}

/** What is done for a control plane. */
export type ControlPlaneAction =
  | { readonly type: 'add-finalizer'; readonly target: string }
  | { readonly type: 'remove-finalizer'; readonly target: string }
  | { readonly type: 'remove-assets'; readonly target: string }
  | { readonly type: 'publish-kubeconfig'; readonly target: string }
  | { readonly type: 'record-bootstrap'; readonly target: string }
  | { readonly type: 'create-machine'; readonly target: string; readonly machine: NewMachine }
  | { readonly type: 'mark-up-to-date'; readonly target: string; readonly machine: Machine }
  | { readonly type: 'trust-config-server'; readonly target: string }
  | { readonly type: 'upgrade'; readonly target: string }
  | NodeReport
  | Approval
  | RemediationAction;

/** What is to be done now; nothing while it is paused. */
export function decideControlPlane(seen: Seen): readonly ControlPlaneAction[] {
  const { view, now, guest } = seen;
  const facts = controlPlaneFacts(view, now);
  const { controlPlane } = view;
  const target = controlPlane.metadata.name;
  if (facts.isPaused) return [];
  if (facts.isDeleting) return ending(view.machines, controlPlane);
  if (!hasFinalizer(controlPlane)) return [{ type: 'add-finalizer', target }];
  if (!facts.hasAssets && !facts.isBootstrapComplete) return [];
  // A host that has reported may work with the files already.
  const isFetched = facts.hosts.some(({ stage }) => stage !== '');
  if (facts.unfit !== undefined && !isFetched) return [{ type: 'remove-assets', target }];
  return [
    ...(mayCreate(seen, facts) ? creations(view, facts) : []),
    ...upkeep(facts),
    ...remediations({ view, facts, now, guest }),
    ...records(seen, facts),
    ...(guest === undefined ? [] : inGuest(view, facts, guest)),
  ];
}

/** What is kept of a cluster that runs, wherever it is moved. */
function records(
  { view, isAnswering }: Seen,
  { isBootstrapComplete }: ControlPlaneFacts,
): readonly ControlPlaneAction[] {
  const { name: target, annotations = {} } = view.controlPlane.metadata;
  return [
    ...(isAnswering && isKubeconfigDue(view)
      ? [{ type: 'publish-kubeconfig', target } as const]
      : []),
    ...(isBootstrapComplete && annotations[ownNames.bootstrapComplete] === undefined
      ? [{ type: 'record-bootstrap', target } as const]
      : []),
  ];
}

/**
 * Whether there is none, or one that earlier versions made, whose certificate nobody renews any
 * more.
 */
const isKubeconfigDue = ({ kubeconfig, controlPlane }: ControlPlaneView): boolean =>
  kubeconfig === undefined ||
  (kubeconfig.metadata.annotations?.[ownNames.renewAt] !== undefined &&
    isControlledBy(kubeconfig, controlPlane.metadata.uid));

/** What the cluster that is installed asks for. */
const inGuest = (
  view: ControlPlaneView,
  { isBootstrapComplete, hasAssets }: ControlPlaneFacts,
  guest: GuestSeen,
): readonly ControlPlaneAction[] => [
  ...nodeReports(view, guest),
  ...approvals(view, guest),
  // The config server of a bootstrap host has the certificate of the installer to its end.
  ...(isBootstrapComplete && hasAssets && isNewAuthority(view, guest)
    ? [{ type: 'trust-config-server', target: view.controlPlane.metadata.name } as const]
    : []),
  ...(upgradeOf(view.controlPlane, guest.clusterVersion).update === undefined
    ? []
    : [{ type: 'upgrade', target: view.controlPlane.metadata.name } as const]),
];

const isNewAuthority = ({ assets }: ControlPlaneView, { configServerCa }: GuestSeen): boolean =>
  configServerCa !== undefined &&
  assets?.metadata.annotations?.[ownNames.configServerCaHash] !== hashOf(configServerCa);

/** As an annotation of a Secret has it, of which the metadata alone are followed. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whether it has the finalizer. */
export const hasFinalizer = ({ metadata: { finalizers = [] } }: OpenShiftControlPlane): boolean =>
  finalizers.includes(ownNames.finalizer);

/** The finalizer stays until the last Machine is gone: core would keep them for ever otherwise. */
function ending(
  machines: readonly Machine[],
  controlPlane: OpenShiftControlPlane,
): readonly ControlPlaneAction[] {
  const target = controlPlane.metadata.name;
  if (machines.length === 0)
    return hasFinalizer(controlPlane) ? [{ type: 'remove-finalizer', target }] : [];
  return machines
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((machine) => ({ type: 'delete-machine', target: machine.metadata.name, machine }));
}

/** By the files in its status the API server holds a single node's number of masters. */
const mayCreate = (
  { hasTemplate, view: { controlPlane } }: Seen,
  { hasAssets, replicas }: ControlPlaneFacts,
): boolean =>
  hasTemplate && hasAssets && (replicas > 1 || controlPlane.status?.assets !== undefined);

/**
 * The Machine that is to be made next: first the bootstrap host, and all others once they can join
 * it. One at a time, as the failure domain of each follows from those before it.
 */
export function creations(
  view: ControlPlaneView,
  facts: ControlPlaneFacts,
): readonly ControlPlaneAction[] {
  const { controlPlane, cluster } = view;
  const { hosts, replicas, isBootstrapReady, isBootstrapLost, unfit } = facts;
  if (cluster === undefined || !facts.isInfrastructureReady || isBootstrapLost || unfit) return [];
  const isFirst = facts.bootstrap === undefined && !isBootstrapReady;
  if (hosts.length >= replicas || !(isFirst || isBootstrapReady)) return [];
  const taken = new Set(hosts.map(({ machine }) => machine.metadata.name));
  let index = 0;
  while (taken.has(machineName(controlPlane, index))) index += 1;
  const name = machineName(controlPlane, index);
  const domains = hosts.map(({ machine }) => machine.spec.failureDomain);
  const failureDomain = leastUsedDomain(cluster, domains);
  const remediationFor = toBeFollowed(view);
  const machine = { name, isBootstrap: isFirst, failureDomain, remediationFor };
  return [{ type: 'create-machine', target: name, machine }];
}

/** What Machines have to say at all times. */
const upkeep = ({ hosts }: ControlPlaneFacts): readonly ControlPlaneAction[] =>
  hosts
    .filter(
      ({ isDeleting, machine }) =>
        !isDeleting && !isConditionTrue(machine.status?.conditions, 'UpToDate'),
    )
    .map(({ machine }) => ({ type: 'mark-up-to-date', target: machine.metadata.name, machine }));

/** Whether the files of the cluster are to be made: never once a host may work with some. */
export function areAssetsDue({ view, now, hasTemplate }: Seen): boolean {
  const facts = controlPlaneFacts(view, now);
  const mayWork =
    !facts.isPaused && !facts.isDeleting && !facts.areAssetsLost && hasFinalizer(view.controlPlane);
  return mayWork && hasTemplate && facts.isInfrastructureReady && view.assets === undefined;
}

/** How the version of a cluster is, by its own operator, and what it is to be told. */
export interface UpgradeVerdict {
  /** The version that is there as a whole; undefined while it is installed. */
  readonly version?: string;
  /** How an upgrade is; undefined while the cluster is installed. */
  readonly finding?: CheckResult;
  /** What its operator is to be told. */
  readonly update?: { readonly version: string; readonly image: string; readonly force: false };
}

const digestOf = (image: string): string => image.split('@')[1] ?? '';

/**
 * Decides about the version of a cluster: once it is installed, another release in the control
 * plane becomes the update that its cluster-version operator is told, by digest, and never against
 * its own checks. A cluster that was updated otherwise keeps its newer version, unless a person
 * marks the lower one.
 */
export function upgradeOf(
  { metadata, spec: { releaseImage, distributionVersion } }: OpenShiftControlPlane,
  clusterVersion: KubeObject | undefined,
): UpgradeVerdict {
  const history = listAt(clusterVersion, 'status', 'history') as readonly KubeObject[];
  const done = history.find((one) => partOf(one, 'state') === 'Completed');
  if (clusterVersion === undefined || done === undefined) return {};
  const version = textAt(done, 'version');
  const wanted = digestOf(releaseImage);
  const is = (isRight: boolean, reason: string, message?: string): UpgradeVerdict => ({
    version,
    finding: { isRight, reason, message },
  });
  if (wanted === '') return is(false, 'NoDigest', 'spec.releaseImage has no digest');
  if (digestOf(textAt(done, 'image')) === wanted && history[0] === done)
    return is(false, 'UpToDate');
  const isAsked = [
    ['spec', 'desiredUpdate', 'image'],
    ['status', 'desired', 'image'],
  ].some((path) => digestOf(textAt(clusterVersion, ...path)) === wanted);
  if (isAsked) return progressOf(clusterVersion, is);
  const newer = [history[0], partOf(clusterVersion, 'status', 'desired')]
    .map((one) => textAt(one as KubeObject | undefined, 'version'))
    .find((one) => isNewer(one, distributionVersion));
  const allowed = metadata.annotations?.[ownNames.allowDowngradeTo];
  if (newer !== undefined && allowed !== distributionVersion) {
    const message = `the cluster has or gets ${newer}, and spec.distributionVersion is ${distributionVersion}: take releaseImage and distributionVersion of the cluster over into the control plane, or set its annotation ${ownNames.allowDowngradeTo} to the lower version`;
    return is(false, 'NewerThanSpec', message);
  }
  const upgradeable = conditionOf(clusterVersion, 'Upgradeable');
  if (upgradeable.status === 'False' && isOtherMinor(version, distributionVersion))
    return is(false, 'NotUpgradeable', upgradeable.message);
  const update = { version: distributionVersion, image: releaseImage, force: false } as const;
  return { ...is(true, 'Requested', `${version} to ${distributionVersion}`), update };
}

const inNumbers = new Intl.Collator('en', { numeric: true });

/** Whether one version comes after another (semver.org): a release comes after its candidates. */
function isNewer(one: string, other: string): boolean {
  const [mine, others] = [releaseVersion(one), releaseVersion(other)];
  if (mine === undefined || others === undefined) return false;
  if (!isAtLeast(others, mine)) return true;
  if (!isAtLeast(mine, others)) return false;
  const [before, after] = [candidateOf(one), candidateOf(other)];
  if (before === '' || after === '') return before === '' && after !== '';
  return inNumbers.compare(before, after) > 0;
}

const candidateOf = (version: string): string => /-([^+]+)/.exec(version)?.[1] ?? '';

/** In the operator's own words. */
function progressOf(
  clusterVersion: KubeObject,
  is: (isRight: boolean, reason: string, message?: string) => UpgradeVerdict,
): UpgradeVerdict {
  const accepted = conditionOf(clusterVersion, 'ReleaseAccepted');
  if (accepted.status === 'False') return is(false, 'ReleaseRefused', accepted.message);
  const failing = conditionOf(clusterVersion, 'Failing');
  if (failing.status === 'True') return is(true, 'Failing', failing.message);
  return is(true, 'Progressing', conditionOf(clusterVersion, 'Progressing').message);
}

/**
 * Only another minor version is held by `Upgradeable` (cluster-version-operator,
 * `pkg/payload/precondition`).
 */
function isOtherMinor(from: string, to: string): boolean {
  const [one, other] = [releaseVersion(from), releaseVersion(to)];
  return one?.[0] !== other?.[0] || one?.[1] !== other?.[1];
}
