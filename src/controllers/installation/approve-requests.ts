import { controllerEvent } from '../../cluster/controller.ts';
import { type KnownCluster, pendingCause } from '../../cluster/csr/hosts-requests.ts';
import {
  approved,
  type KubeletClaim,
  readRequest,
  type ReadRequest,
  type PendingCause,
  pendingCauses,
} from '../../cluster/csr/read-request.ts';
import { hostIndexOf } from '../../cluster/host-index.ts';
import { certificateSigningRequests, events, nodes as nodeKind } from '../../kube/kinds.ts';
import { isMaster } from '../../cluster/node.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { type KubeObject, selectionOf } from '../../ports/kube.ts';
import { isConflict, isForbidden } from '../../ports/kube-failures.ts';
import { informer } from '../../kube/informer.ts';
import type { Controller } from '../../kube/manager.ts';
import type { Result } from '../../kube/queue.ts';
import { recordRef } from '../../steps/cluster/left-record.ts';
import type { NewCluster } from './new-cluster.ts';
import { allOf, type InstallationScope } from './scope.ts';
import { installationStore, type InstallationStores } from './stores.ts';
import { recordedHosts, recordIn } from './without-service.ts';

/** Keys are names of nodes; this one, which no node has, counts the pending requests. */
const counting = '/pending';

/**
 * Approves the certificate requests of this cluster's hosts. All others remain for other
 * approvers, and are counted in an event.
 */
export function requestController(
  scope: InstallationScope,
  stores: InstallationStores,
  cluster: NewCluster,
): Controller {
  const work = requestWork(scope, stores, cluster);
  const { requests, nodes, service, reads } = work;
  const counts: Counts = new Map();
  let addNode: (node: string) => void = () => undefined;
  return {
    id: 'controller/approve-requests',
    title: 'Approve the certificate requests of the hosts of this cluster',
    idle: 'waiting for certificate requests',
    reads,
    about: (node) =>
      node === counting
        ? 'certificate requests that are not approved'
        : `certificate requests of ${node}`,
    keys: () => [counting, ...new Set(requests.all().flatMap(claimedNodes))],
    watch: (add) => {
      addNode = add;
      requests.onChange(({ before, after }) => {
        for (const node of claimedNodes(after ?? before)) add(node);
      });
      nodes.onChange(({ before, after }) => add((after ?? before)?.metadata.name ?? ''));
      service.onChange((hosts) => {
        for (const { name } of hosts) add(name.toLowerCase());
      });
    },
    reconcile: async (node, signal) => {
      if (node === counting) return countPending(work, counts, addNode, signal);
      const open = requests.by('node', node).map(readRequest).filter(isOpen);
      await allOf(open.map((request) => approve(work, request, signal)));
      return {};
    },
  };
}

/** A request that may be approved. */
type OpenRequest = ReadRequest & { readonly claim: KubeletClaim };

type Work = ReturnType<typeof requestWork>;

/** The stores, and this process's own approvals. */
function requestWork(
  scope: InstallationScope,
  { nodes }: InstallationStores,
  { isAgentBased, machines }: NewCluster,
) {
  const masters = isAgentBased ? scope.config.cluster.controlPlaneCount : 0;
  // In such an installation a service that has left does not come back.
  const service = installationStore(
    scope,
    ({ cluster, lastError }) => cluster !== undefined || (lastError !== undefined && masters > 0),
  );
  const requests = informer(
    scope,
    { kind: certificateSigningRequests },
    { node: (object) => claimedNodes(object) },
  );
  const records = isAgentBased ? [informer(scope, selectionOf(recordRef))] : [];
  /**
   * Requests that this process has approved before the API server shows it, or that its role did
   * not let it approve.
   */
  const own = new Map<string, { readonly isForbidden: boolean; readonly claim: KubeletClaim }>();
  /**
   * Whether a master of this name is on its way, or fewer masters are on their way than are
   * missing.
   */
  const isAwaited = (name: string): boolean => {
    const approvals = [
      ...requests
        .all()
        .map(readRequest)
        .filter(({ state }) => state === 'approved'),
      ...[...own.values()].filter((answer) => !answer.isForbidden),
    ];
    const coming = new Set<string>();
    for (const { claim } of approvals)
      if (claim?.purpose === 'client' && nodes.get(claim.node) === undefined)
        coming.add(claim.node);
    return coming.has(name) || coming.size < masters - nodes.all().filter(isMaster).length;
  };
  const known = (): KnownCluster => {
    const record = recordIn(records.flatMap(({ all }) => all()));
    const hosts = service.view().cluster?.hosts ?? (record && recordedHosts(record));
    return { hosts: hosts && hostIndexOf(hosts), nodes: nodes.all(), isAwaited, machines };
  };
  const reads = [requests, nodes, service, ...records];
  return { scope, service, requests, nodes, own, known, reads };
}

const isOpen = (request: ReadRequest): request is OpenRequest =>
  request.state === 'pending' && request.claim !== undefined;

/** The reason of an approval, in the words of assisted-installer-controller. */
const approval = {
  reason: 'NodeCSRApprove',
  message: 'This CSR was approved by the assisted-installer-controller',
} as const;

/** Approves a request, after it has read the request and its node from the API server again. */
async function approve(work: Work, request: OpenRequest, signal: AbortSignal): Promise<void> {
  const { own, known, nodes } = work;
  const { kube, clock, note } = work.scope;
  const { claim, metadata } = request;
  const { name, uid = '' } = metadata;
  const { node, purpose } = claim;
  const shown = nodes.get(node);
  const isAnswered = (): boolean => own.get(uid)?.isForbidden === false;
  if (isAnswered() || pendingCause(claim, shown, known()) !== undefined) return;
  const ref = { kind: certificateSigningRequests, name };
  const [found, foundNode] = await Promise.all([
    kube.get(ref, signal),
    kube.get({ kind: nodeKind, name: node }, signal),
  ]);
  // Another request of its name, or an answered one.
  if (found?.metadata.uid !== uid || readRequest(found).state !== 'pending') return;
  // Another node than in the store: its change has yet to arrive.
  if (foundNode?.metadata.uid !== shown?.metadata.uid) return;
  if (isAnswered() || pendingCause(claim, foundNode, known()) !== undefined) return;
  // Set before the request is sent: meanwhile no other master may fill the missing place.
  own.set(uid, { isForbidden: false, claim });
  try {
    const next = approved(found, { ...approval, at: clock.now() });
    await kube.replace(ref, next, { subresource: 'approval', signal });
    note('info', `certificate request ${name} is approved`, { node, purpose });
  } catch (error) {
    // It is tried again: the role may be corrected.
    if (isForbidden(error)) own.set(uid, { isForbidden: true, claim });
    else own.delete(uid);
    throw error;
  }
}

/**
 * Age at which a pending request counts: until then its node may join, or another approver may
 * approve it.
 */
const countsAfter = seconds(30);

/** Interval at which the pending requests are counted. */
const countEvery = seconds(10);

/** The shortest time between two reports of the same cause. */
const reportEvery = seconds(60);

/** Number and time of the last report for each cause. */
type Counts = Map<PendingCause, { readonly count: number; readonly at: Millis }>;

/**
 * Counts the pending requests. It also finds requests that may be approved by now without an event
 * for their key: the addresses of other nodes decide as well.
 */
async function countPending(
  work: Work,
  counts: Counts,
  addNode: (node: string) => void,
  signal: AbortSignal,
): Promise<Result> {
  for (const [cause, names] of pendingRequests(work, addNode)) {
    const last = counts.get(cause) ?? { count: 0, at: -reportEvery };
    const now = work.scope.clock.elapsed();
    if (names.length <= last.count || now - last.at < reportEvery) continue;
    await reportPending(work.scope, cause, names, signal);
    counts.set(cause, { count: names.length, at: now });
  }
  return { after: countEvery };
}

/** The names of the pending requests, by cause. */
function pendingRequests(
  { scope, requests, nodes, own, known }: Work,
  addNode: (node: string) => void,
): ReadonlyMap<PendingCause, readonly string[]> {
  const pending = new Map<PendingCause, string[]>();
  const cluster = known();
  const now = scope.clock.now();
  for (const { state, claim, cause, metadata } of requests.all().map(readRequest)) {
    const answer = own.get(metadata.uid ?? '');
    if (state !== 'pending' || answer?.isForbidden === false) continue;
    const why = answer
      ? 'forbidden'
      : (cause ?? (claim && pendingCause(claim, nodes.get(claim.node), cluster)));
    const isFresh = now - Date.parse(metadata.creationTimestamp ?? '') < countsAfter;
    if (why === undefined) addNode(claim?.node ?? '');
    else if (!isFresh) {
      const names = pending.get(why) ?? [];
      pending.set(why, names);
      names.push(metadata.name);
    }
  }
  return pending;
}

const claimedNodes = (object: KubeObject | undefined): readonly string[] => {
  const claim = object && readRequest(object).claim;
  return claim === undefined ? [] : [claim.node];
};

/** The most requests that a report names. */
const mostNamed = 5;

/** The API server accepts any name of a request, of any length; an event has at most 1.5 MiB. */
const longestName = 100;

const namesAdvice =
  'An address counts that the inventory has for the host, or that its node reports, that is in a machine network, and that no other host or node has. Where the node has the address, run: oc adm certificate approve NAME';

/**
 * Reports the pending requests with one event for each cause, whose count grows where RBAC permits
 * it.
 */
async function reportPending(
  { kube, clock, config: { namespace }, note }: InstallationScope,
  cause: PendingCause,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const name = `certificate-requests-left.${cause}`;
  const named = names.slice(0, mostNamed).map((one) => plainLine(one, longestName));
  const what = `Certificate requests that are not approved, as ${pendingCauses[cause]}: ${named.join(', ')}`;
  const message = cause === 'names' ? `${what}. ${namesAdvice}` : what;
  const count = names.length;
  const reason = { reason: 'CertificateRequestsLeft', type: 'Warning' } as const;
  const event = controllerEvent({ namespace, name, message, count, at: clock.now(), ...reason });
  try {
    await kube.create({ kind: events, namespace }, event, signal).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
      const body = { count, message, lastTimestamp: event['lastTimestamp'] };
      return kube.patch({ kind: events, namespace, name }, { type: 'merge', body }, signal);
    });
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
  const first = named.join(', ');
  note('warn', `certificate requests not approved: ${pendingCauses[cause]}`, { count, first });
}
