import * as z from 'zod';
import { addressesOf, readinessOf } from '../../cluster/node.ts';
import { jsonIn } from '../../lib/json.ts';
import { hours, type Millis, renderDuration, seconds, wholeSeconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { capiNames, type Machine, ownNames } from '../api.ts';
import { type CheckResult, findCondition, failedCheck } from '../conditions.ts';
import { reportedOf } from '../host-checks.ts';
import type { ControlPlaneHost, ControlPlaneView } from './view.ts';
import { type GuestView, nodesOfMachines } from './guest-hosts.ts';

/**
 * Record of the last replacement of a master. The control plane stores it before the Machine is
 * deleted; then the new Machine stores it.
 */
const Remediation = z.object({
  machine: z.string(),
  uid: z.string(),
  at: z.string(),
  /** Number of failed replacements in a row before this one. */
  retry: z.number(),
});

type Remediation = z.infer<typeof Remediation>;

/** The due work for the replacement of masters. */
export interface Remediations {
  /** New value of the annotation; null once the replacement is done or withdrawn. */
  readonly record?: string | null;
  /** The Machine to delete. */
  readonly remove?: Machine;
  /** Changes of `OwnerRemediated`; undefined removes it, as the Machine is healthy again. */
  readonly reports: readonly {
    readonly machine: Machine;
    readonly check: CheckResult | undefined;
  }[];
}

/** The masters in the installed cluster. */
type Masters = Pick<GuestView, 'nodes' | 'etcd'>;

/** Replacements within this time count together: an installation takes up to an hour. */
const countedTogether: Millis = hours(24);

const defaultRetries = 3;

/**
 * The condition by which a MachineHealthCheck asks the owner of a Machine to replace it (Cluster
 * API, `MachineOwnerRemediatedCondition`).
 */
export const ownerRemediated = 'OwnerRemediated';

const conditionStatus = ({ status }: Machine, type: string): string | undefined =>
  findCondition(status?.conditions, type)?.status;

/**
 * Whether the control plane has to replace a Machine (Cluster API,
 * `IsUnhealthyAndOwnerRemediated`).
 */
export const isMarked = (machine: Machine): boolean =>
  conditionStatus(machine, 'HealthCheckSucceeded') === 'False' &&
  conditionStatus(machine, ownerRemediated) === 'False';

const isHealthyAgain = (machine: Machine): boolean =>
  conditionStatus(machine, 'HealthCheckSucceeded') === 'True' &&
  conditionStatus(machine, ownerRemediated) === 'False';

function remediationIn(text: string | undefined): Remediation | undefined {
  return text === undefined ? undefined : Remediation.safeParse(jsonIn(text)).data;
}

const remediationFor = ({ metadata }: Machine): Remediation | undefined =>
  remediationIn(metadata.annotations?.[ownNames.remediationFor]);

/** The record for the next Machine if it replaces another; else undefined. */
export function toBeFollowed({ controlPlane, hosts }: ControlPlaneView): string | undefined {
  const text = controlPlane.metadata.annotations?.[ownNames.remediation];
  const record = remediationIn(text);
  const isNamed = ({ machine }: ControlPlaneHost): boolean =>
    [machine.metadata.uid, remediationFor(machine)?.uid].includes(record?.uid);
  return record === undefined || hosts.some(isNamed) ? undefined : text;
}

/**
 * Replaces masters that a MachineHealthCheck has marked, one at a time. Records the intention
 * first: a later pass carries it out, or removes the record if the replacement is no longer
 * allowed.
 */
export function remediations(view: ControlPlaneView, guest: Masters | undefined): Remediations {
  const { now, hosts } = view;
  // Without the files, a removed master could not be installed again.
  if (view.isPaused || view.isDeleting || !view.hasAssets) return { reports: [] };
  const marked = hosts.filter(({ machine }) => isMarked(machine)).toSorted(byUrgency);
  const refused = new Map(marked.map((host) => [host, refusalOf(host, view, guest)]));
  const first = marked.find((host) => refused.get(host) === undefined);
  const others = marked
    .filter((host) => host !== first)
    .map((host) => ({
      machine: host.machine,
      check: refused.get(host) ?? deferRemediation('another master is replaced first'),
    }));
  const healthy = hosts
    .filter(({ machine, isDeleting }) => isHealthyAgain(machine) && !isDeleting)
    .map(({ machine }) => ({ machine, check: undefined }));
  const reports = [...others, ...healthy].filter(isNews);
  const text = view.controlPlane.metadata.annotations?.[ownNames.remediation];
  if (text === undefined) {
    if (first === undefined) return { reports };
    const { name: machine, uid = '' } = first.machine.metadata;
    const kept: Remediation = { machine, uid, at: wholeSeconds(now), retry: retryOf(first, now) };
    return { reports, record: JSON.stringify(kept) };
  }
  const record = remediationIn(text);
  const subject = hosts.find(({ machine }) => machine.metadata.uid === record?.uid);
  if (subject === undefined)
    return toBeFollowed(view) === undefined ? { reports, record: null } : { reports };
  if (subject.isDeleting) return { reports };
  return refused.has(subject) && refused.get(subject) === undefined
    ? { reports, remove: subject.machine }
    : { reports, record: null };
}

/** Whether a report differs from the condition of the Machine. */
function isNews({ machine, check }: Remediations['reports'][number]): boolean {
  const before = findCondition(machine.status?.conditions, ownerRemediated);
  return before?.reason !== check?.reason || before?.message !== check?.message;
}

/**
 * Masters that a person has chosen come first, then masters without a node (Cluster API,
 * `pickMachineToBeRemediated`).
 */
function byUrgency(
  { machine: one }: ControlPlaneHost,
  { machine: other }: ControlPlaneHost,
): number {
  const rank = ({ metadata, status }: Machine): string =>
    [
      metadata.annotations?.[capiNames.remediate] === undefined ? 1 : 0,
      status?.nodeRef === undefined ? 0 : 1,
      metadata.creationTimestamp ?? '',
      metadata.name,
    ].join(' ');
  return rank(one) < rank(other) ? -1 : 1;
}

/** The reasons match those of kubeadm's control plane, which people know. */
const cannotRemediate = (message: string): CheckResult =>
  failedCheck('CannotBeRemediated', message);
const deferRemediation = (message: string): CheckResult =>
  failedCheck('RemediationDeferred', message);

/** The reason why a master may not be replaced now; undefined if it may. */
function refusalOf(
  host: ControlPlaneHost,
  view: ControlPlaneView,
  guest: Masters | undefined,
): CheckResult | undefined {
  if (host.isDeleting) return failedCheck('MachineDeleting', 'a new Machine follows it');
  const { annotations = {} } = host.machine.metadata;
  const kept = [capiNames.paused, capiNames.skipRemediation].find((key) => key in annotations);
  if (kept !== undefined) return deferRemediation(`its Machine has the annotation ${kept}`);
  const again = 'delete the Cluster, and start the installation again';
  if (!view.isBootstrapComplete) return cannotRemediate(`the bootstrap is not complete: ${again}`);
  if (host.isBootstrap && !hasJoined(host))
    return cannotRemediate(`the bootstrap host has not joined: ${again}`);
  if (view.replicas === 1) return cannotRemediate('there is no other master');
  const limit = retryRefusal(host, view);
  if (limit !== undefined) return limit;
  if (view.hosts.some(({ isDeleting }) => isDeleting))
    return deferRemediation('another Machine is being deleted');
  if (view.hosts.length < view.replicas) return deferRemediation('another Machine is to be made');
  return etcdRefusal(host, view, guest);
}

/** The reason why a failed replacement is not repeated now. */
function retryRefusal(
  host: ControlPlaneHost,
  { controlPlane, now }: ControlPlaneView,
): CheckResult | undefined {
  const { remediation = {} } = controlPlane.spec;
  const { maxRetry = defaultRetries, retryPeriodSeconds = 0 } = remediation;
  if (retryOf(host, now) > maxRetry) {
    const within = renderDuration(countedTogether);
    return cannotRemediate(
      `replaced ${maxRetry + 1} times within ${within} (spec.remediation.maxRetry)`,
    );
  }
  const since = Date.parse(remediationFor(host.machine)?.at ?? '');
  const until = since + seconds(retryPeriodSeconds);
  // A time in the future comes from a wrong clock and is ignored.
  return since <= now && until > now
    ? deferRemediation(`not before ${wholeSeconds(until)} (spec.remediation.retryPeriodSeconds)`)
    : undefined;
}

const hasJoined = ({ machine, stage }: ControlPlaneHost): boolean =>
  machine.status?.nodeRef !== undefined || stage === 'Joined' || stage === 'Done';

/** Number of replacements in a row before this one. */
function retryOf({ machine }: ControlPlaneHost, now: number): number {
  const before = remediationFor(machine);
  if (before === undefined) return 0;
  return Date.parse(before.at) + countedTogether > now ? before.retry + 1 : 0;
}

/**
 * All other masters must be Ready and have a healthy member of etcd, and these members must be a
 * quorum without the removed one.
 */
function etcdRefusal(
  host: ControlPlaneHost,
  view: ControlPlaneView,
  guest: Masters | undefined,
): CheckResult | undefined {
  if (guest?.etcd === undefined) return deferRemediation('the members of etcd cannot be read');
  const { members, readyOn } = guest.etcd;
  const nodes = nodesOfMachines(view, guest.nodes);
  const nodeOf = ({ machine }: ControlPlaneHost): KubeObject | undefined =>
    nodes.get(machine.metadata.name);
  const others = view.hosts.filter((one) => one !== host);
  const unfit = others.filter((one) => {
    const node = nodeOf(one);
    if (node === undefined || !readinessOf(node).isReady) return true;
    const isMember = addressesOf(node).some((address) => members.includes(address));
    return !isMember || !readyOn.has(node.metadata.name);
  });
  if (unfit.length > 0) {
    const names = unfit.map(({ machine }) => machine.metadata.name).join(', ');
    return cannotRemediate(`not Ready, or without a healthy member of etcd: ${names}`);
  }
  const at = (node: KubeObject | undefined): readonly string[] => (node ? addressesOf(node) : []);
  // Its report may be old, and an address may belong to another master by now.
  const staying = new Set(others.flatMap((one) => at(nodeOf(one))));
  const gone = [...reportedOf(host.machine).addresses, ...at(nodeOf(host))].filter(
    (address) => !staying.has(address),
  );
  const left = members.filter((address) => !gone.includes(address));
  const quorum = Math.floor(left.length / 2) + 1;
  return others.length < quorum
    ? cannotRemediate(
        `etcd would have ${others.length} healthy members of ${left.length}, and needs ${quorum}`,
      )
    : undefined;
}
