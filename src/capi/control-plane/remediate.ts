import * as z from 'zod';
import { addressesOf, readinessOf } from '../../cluster/node.ts';
import { jsonIn } from '../../lib/json.ts';
import { hours, type Millis, renderDuration, seconds, wholeSeconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { capiNames, type Machine, ownNames } from '../api.ts';
import { findCondition, type NewCondition } from '../conditions.ts';
import { reportedOf } from '../host-checks.ts';
import type { ControlPlaneHost, ControlPlaneView } from './view.ts';
import { type GuestSeen, nodesOfMachines } from './guest-hosts.ts';

/**
 * The last replacement of a master. It is kept on the control plane before its Machine goes, and
 * then on the one that follows.
 */
const Remediation = z.object({
  machine: z.string(),
  uid: z.string(),
  at: z.string(),
  /** How many replacements in a row have failed before. */
  retry: z.number(),
});

type Remediation = z.infer<typeof Remediation>;

/** What is done to replace masters. */
export type RemediationAction =
  | {
      readonly type: 'record-remediation';
      /** Value of its annotation; null once the replacement is done, or taken back. */
      readonly record: string | null;
    }
  | { readonly type: 'delete-machine'; readonly machine: Machine }
  | {
      readonly type: 'report-remediation';
      readonly machine: Machine;
      /** Undefined: the Machine is healthy again, and the condition is removed. */
      readonly condition: NewCondition | undefined;
    };

/** Replacements within this time are counted together: an installation takes up to an hour. */
const countedTogether: Millis = hours(24);

const defaultRetries = 3;

/**
 * The condition with which a MachineHealthCheck asks the owner of a Machine to replace it (Cluster
 * API, `MachineOwnerRemediatedCondition`).
 */
export const ownerRemediated = 'OwnerRemediated';

const statusOf = ({ status }: Machine, type: string): string | undefined =>
  findCondition(status?.conditions, type)?.status;

/**
 * Whether a Machine is to be replaced by its control plane (Cluster API,
 * `IsUnhealthyAndOwnerRemediated`).
 */
export const isMarked = (machine: Machine): boolean =>
  statusOf(machine, 'HealthCheckSucceeded') === 'False' &&
  statusOf(machine, ownerRemediated) === 'False';

const isHealthyAgain = (machine: Machine): boolean =>
  statusOf(machine, 'HealthCheckSucceeded') === 'True' &&
  statusOf(machine, ownerRemediated) === 'False';

function remediationIn(text: string | undefined): Remediation | undefined {
  return text === undefined ? undefined : Remediation.safeParse(jsonIn(text)).data;
}

const remediationFor = ({ metadata }: Machine): Remediation | undefined =>
  remediationIn(metadata.annotations?.[ownNames.remediationFor]);

/**
 * What the Machine that follows one that was replaced has to keep of it; undefined where none is to
 * follow.
 */
export function toBeFollowed({ controlPlane, hosts }: ControlPlaneView): string | undefined {
  const text = controlPlane.metadata.annotations?.[ownNames.remediation];
  const record = remediationIn(text);
  const isNamed = ({ machine }: ControlPlaneHost): boolean =>
    [machine.metadata.uid, remediationFor(machine)?.uid].includes(record?.uid);
  return record === undefined || hosts.some(isNamed) ? undefined : text;
}

/**
 * Replaces masters that a MachineHealthCheck has marked, one at a time. The intention is recorded
 * first: a later pass carries it out, or removes the record where it may not be done any more.
 */
export function remediations(
  view: ControlPlaneView,
  guest: GuestSeen | undefined,
): readonly RemediationAction[] {
  const { now, hosts } = view;
  // A master that is removed without the files could not be installed again.
  if (view.isPaused || view.isDeleting || !view.hasAssets) return [];
  const { annotations = {} } = view.controlPlane.metadata;
  const marked = hosts.filter(({ machine }) => isMarked(machine)).toSorted(byUrgency);
  const refused = new Map(marked.map((host) => [host, refusalOf(host, view, guest)]));
  const first = marked.find((host) => refused.get(host) === undefined);
  const others = marked.flatMap((host) => {
    const why = refused.get(host) ?? later('another master is replaced first');
    return host === first ? [] : reportOf(host.machine, why);
  });
  const healthy = hosts.flatMap(({ machine, isDeleting }) =>
    isHealthyAgain(machine) && !isDeleting ? reportOf(machine, undefined) : [],
  );
  return [...others, ...healthy, ...next()];

  function next(): readonly RemediationAction[] {
    const over = { type: 'record-remediation', record: null } as const;
    if (annotations[ownNames.remediation] === undefined) {
      if (first === undefined) return [];
      const { name: machine, uid = '' } = first.machine.metadata;
      const kept: Remediation = { machine, uid, at: wholeSeconds(now), retry: retryOf(first, now) };
      return [{ type: 'record-remediation', record: JSON.stringify(kept) }];
    }
    const record = remediationIn(annotations[ownNames.remediation]);
    const subject = hosts.find(({ machine }) => machine.metadata.uid === record?.uid);
    if (subject === undefined) return toBeFollowed(view) === undefined ? [over] : [];
    if (subject.isDeleting) return [];
    const { machine } = subject;
    return refused.has(subject) && refused.get(subject) === undefined
      ? [{ type: 'delete-machine', machine }]
      : [over];
  }
}

/**
 * Whom a person has chosen comes first, then who is no node (Cluster API,
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

type Refusal = Pick<NewCondition, 'reason' | 'message'>;

/** Reasons as those of the control plane of kubeadm, which people know. */
const never = (message: string): Refusal => ({ reason: 'CannotBeRemediated', message });
const later = (message: string): Refusal => ({ reason: 'RemediationDeferred', message });

function reportOf(machine: Machine, why: Refusal | undefined): readonly RemediationAction[] {
  const before = findCondition(machine.status?.conditions, ownerRemediated);
  const condition = why && { type: ownerRemediated, status: 'False' as const, ...why };
  if (before?.reason === why?.reason && before?.message === why?.message) return [];
  return [{ type: 'report-remediation', machine, condition }];
}

/** Why a master may not be replaced now; undefined where it may. */
function refusalOf(
  host: ControlPlaneHost,
  view: ControlPlaneView,
  guest: GuestSeen | undefined,
): Refusal | undefined {
  if (host.isDeleting) return { reason: 'MachineDeleting', message: 'a new Machine follows it' };
  const again = 'delete the Cluster, and start the installation again';
  if (!view.isBootstrapComplete) return never(`the bootstrap is not complete: ${again}`);
  if (host.isBootstrap && !hasJoined(host))
    return never(`the bootstrap host has not joined: ${again}`);
  if (view.replicas === 1) return never('there is no other master');
  const limit = retryRefusal(host, view);
  if (limit !== undefined) return limit;
  if (view.hosts.some(({ isDeleting }) => isDeleting))
    return later('another Machine is being deleted');
  if (view.hosts.length < view.replicas) return later('another Machine is to be made');
  return etcdRefusal(host, view, guest);
}

/** Why a replacement that has failed is not replaced now. */
function retryRefusal(
  host: ControlPlaneHost,
  { controlPlane, now }: ControlPlaneView,
): Refusal | undefined {
  const { remediation = {} } = controlPlane.spec;
  const { maxRetry = defaultRetries, retryPeriodSeconds = 0 } = remediation;
  if (retryOf(host, now) > maxRetry) {
    const within = renderDuration(countedTogether);
    return never(`replaced ${maxRetry + 1} times within ${within} (spec.remediation.maxRetry)`);
  }
  const since = Date.parse(remediationFor(host.machine)?.at ?? '');
  const until = since + seconds(retryPeriodSeconds);
  // A time to come is of a clock that was wrong, and says nothing.
  return since <= now && until > now
    ? later(`not before ${wholeSeconds(until)} (spec.remediation.retryPeriodSeconds)`)
    : undefined;
}

const hasJoined = ({ machine, stage }: ControlPlaneHost): boolean =>
  machine.status?.nodeRef !== undefined || stage === 'Joined' || stage === 'Done';

/** How many replacements in a row this one would follow. */
function retryOf({ machine }: ControlPlaneHost, now: number): number {
  const before = remediationFor(machine);
  if (before === undefined) return 0;
  return Date.parse(before.at) + countedTogether > now ? before.retry + 1 : 0;
}

/**
 * All other masters have to be Ready and carry a healthy member of etcd, and those have to be a
 * quorum of the members without it.
 */
function etcdRefusal(
  host: ControlPlaneHost,
  view: ControlPlaneView,
  guest: GuestSeen | undefined,
): Refusal | undefined {
  if (guest?.etcd === undefined) return later('the members of etcd cannot be read');
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
    return never(`not Ready, or without a healthy member of etcd: ${names}`);
  }
  const [node, { addresses }] = [nodeOf(host), reportedOf(host.machine)];
  const gone = [...addresses, ...(node === undefined ? [] : addressesOf(node))];
  const left = members.filter((address) => !gone.includes(address));
  const quorum = Math.floor(left.length / 2) + 1;
  return others.length < quorum
    ? never(
        `etcd would have ${others.length} healthy members of ${left.length}, and needs ${quorum}`,
      )
    : undefined;
}
