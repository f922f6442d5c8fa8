import { hostIndexOf } from '../../cluster/host-index.ts';
import {
  decideRequests,
  type KnownCluster,
  type LeftCount,
  type LeftTally,
  leftTally,
  type OpenRequest,
  refusalNow,
  requestBook,
} from '../../cluster/csr/hosts-requests.ts';
import { controllerEvent } from '../../cluster/controller.ts';
import { readPkcs10 } from '../../cluster/csr/pkcs10.ts';
import { readRequest } from '../../cluster/csr/read-request.ts';
import {
  type ApprovalReason,
  approved,
  readSigningRequest,
} from '../../cluster/csr/signing-request.ts';
import {
  adviceOn,
  keyRefusal,
  type RefusalCause,
  refusalCauses,
} from '../../cluster/csr/verify.ts';
import { certificateSigningRequests, events, nodes as nodeKind } from '../../cluster/kinds.ts';
import { nodeLabel } from '../../cluster/node.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { type KubeObject, selectionOf } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { performActions } from '../../reconcile/actions.ts';
import { informer } from '../../reconcile/informer.ts';
import { recordRef } from '../../steps/cluster/left-record.ts';
import type { NewCluster } from './new-cluster.ts';
import { recordedHosts, recordIn } from './without-service.ts';
import type { Controller } from '../../reconcile/manager.ts';
import { installationStore, type InstallationScope, type InstallationStores } from './stores.ts';

/**
 * Approves the certificate requests of hosts of this cluster as they come, each host's first certificate for one key
 * only. All others are left for others to decide, and counted in an event.
 */
export function requestControllers(
  scope: InstallationScope,
  stores: InstallationStores,
  cluster: NewCluster,
): readonly Controller[] {
  const work = requestWork(scope, stores, cluster);
  return [approving(work), counting(work)];
}

/** A request to decide on: from the store, or read again. */
interface Candidate extends OpenRequest {
  readonly found: KubeObject;
}

/** What the requests of one node are decided by. */
interface Seen {
  readonly node: string;
  readonly requests: readonly Candidate[];
  readonly cluster: KnownCluster;
}

interface Approval {
  readonly type: 'approve';
  /** The uid of the request. */
  readonly target: string;
  readonly request: Candidate;
}

type Work = ReturnType<typeof requestWork>;

/** The stores, and what this process has done about requests. */
function requestWork(
  scope: InstallationScope,
  { nodes }: InstallationStores,
  { isAgentBased, machines }: NewCluster,
) {
  const { clock, config } = scope;
  const masters = isAgentBased ? config.cluster.controlPlaneCount : 0;
  // There a service that has left does not come back.
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
  const tally = leftTally();
  const book = requestBook(tally);
  const add: (node: string) => void = () => undefined;
  let byName: ReadonlyMap<string, KubeObject> | undefined;
  nodes.onChange(() => {
    byName = undefined;
  });
  const known = (): KnownCluster => {
    byName ??= new Map(nodes.all().map((node) => [node.metadata.name, node]));
    const record = recordIn(records.flatMap(({ all }) => all()));
    const hosts = service.view().cluster?.hosts ?? (record && recordedHosts(record));
    return {
      hosts: hosts && hostIndexOf(hosts),
      nodes: byName,
      mastersToCome: masters === 0 ? 0 : masters - nodes.all().filter(isMaster).length,
      keys: book.keys(),
      machines,
    };
  };
  return {
    ...{ scope, service, requests, nodes, tally, book, known },
    reads: [requests, nodes, service, ...records],
    /** Of these those that could be approved. */
    openOf: (objects: readonly KubeObject[]): readonly Candidate[] =>
      book
        .open(objects.map(readRequest), clock.elapsed())
        .map((found) => ({ metadata: found.metadata, claim: found.claim, found })),
    left: ({ metadata: { uid = '', name } }: OpenRequest, cause: RefusalCause): void => {
      tally.add({ uid, name, cause }, clock.elapsed());
    },
    /** Makes the requests of a node be decided. */
    add,
  };
}

/** Approves the requests of each node. */
const approving = (work: Work): Controller => ({
  id: 'controller/approve-requests',
  title: 'Approve the certificate requests of the hosts of this cluster',
  idle: 'waiting for certificate requests',
  reads: work.reads,
  about: (node) => `certificate requests of ${node}`,
  keys: () => [...new Set(work.requests.all().flatMap(claimedNodes))],
  watch: (add) => {
    work.add = add;
    work.requests.onChange(({ before, after }) => {
      // The first approved key of a node counts also when its request is cleaned away.
      if (after !== undefined) work.openOf([after]);
      for (const node of claimedNodes(after ?? before)) add(node);
    });
    work.nodes.onChange(({ before, after }) => {
      add((after ?? before)?.metadata.name ?? '');
    });
    work.service.onChange((hosts) => {
      for (const { name } of hosts) add(name.toLowerCase());
    });
  },
  reconcile: async (node, signal) => {
    const open = work.openOf(work.requests.by('node', node));
    const decide = (seen: Seen): readonly Approval[] =>
      decideRequests(seen.requests, seen.cluster, work.left).map((request) => ({
        ...{ type: 'approve', target: request.metadata.uid ?? '', request },
      }));
    if (decide({ node, requests: open, cluster: work.known() }).length === 0) return {};
    // All at once, and each write names the version: one that its key has not signed must not stand before the next.
    const read = await Promise.all(open.map((one) => readRequestAgain(work, one, signal)));
    const requests = read.filter((one) => one !== undefined);
    await performActions<Seen, Approval>(
      {
        seen: { node, requests, cluster: work.known() },
        decide,
        readAgain: (seen, inner, { request }) => readAgain(work, { ...seen, request }, inner),
        table: { approve: (action, inner) => approve(work, action, inner) },
      },
      signal,
    );
    return {};
  },
});

/**
 * What decides on one request, read again: its node may have thousands, each of which is approved by itself. A node that is
 * another than the one that is shown is a change that is still to come.
 */
async function readAgain(
  work: Work,
  { node: name, request, cluster: before }: Omit<Seen, 'requests'> & Pick<Approval, 'request'>,
  signal: AbortSignal,
): Promise<Seen | undefined> {
  const node = await work.scope.kube.get({ kind: nodeKind, name }, signal);
  if (node?.metadata.uid !== before.nodes.get(name)?.metadata.uid) return undefined;
  const cluster = work.known();
  const nodes = new Map(cluster.nodes);
  nodes.delete(name);
  if (node !== undefined) nodes.set(name, node);
  return { node: name, requests: [request], cluster: { ...cluster, nodes } };
}

/** A request, read again; undefined where it is another one, was answered, or has a wrong key. */
async function readRequestAgain(
  { scope: { kube }, book }: Work,
  request: Candidate,
  signal: AbortSignal,
): Promise<Candidate | undefined> {
  const { name, uid } = request.metadata;
  const found = await kube.get({ kind: certificateSigningRequests, name }, signal);
  const asked = found && readSigningRequest(found);
  if (found === undefined || asked === undefined || asked.uid !== uid) {
    book.set(request, { state: 'denied' });
    return undefined;
  }
  const content = readPkcs10(asked.pem);
  const isRight = content !== undefined && keyRefusal(content) === undefined;
  if (asked.state === 'pending' && isRight) return { ...request, found };
  book.set(request, { state: asked.state, ...(isRight ? {} : { cause: 'key' }) });
  return undefined;
}

async function approve(
  { scope: { kube, clock, note }, book }: Work,
  { request }: Approval,
  signal: AbortSignal,
): Promise<void> {
  const { claim, found, metadata } = request;
  // Before it is sent: no other master may be taken for the one that is missing meanwhile.
  book.set(request, { state: 'approved' });
  try {
    const ref = { kind: certificateSigningRequests, name: metadata.name };
    const next = approved(found, { ...approval, at: clock.now() });
    await kube.replace(ref, next, { subresource: 'approval', signal });
    const { node, purpose } = claim;
    note('info', `certificate request ${metadata.name} is approved`, { node, purpose });
  } catch (error) {
    const isDenied = isForbidden(error);
    book.set(request, { state: 'pending', ...(isDenied ? { cause: 'forbidden' } : {}) });
    if (!isDenied) throw error;
  }
}

/** Counts the requests that are left, and finds those for which no key was added: what other nodes have decides too. */
function counting(work: Work): Controller {
  const { requests, reads, book, tally } = work;
  const reportLeft = leftReports(work.scope, tally);
  return {
    id: 'controller/count-requests',
    title: 'Count the certificate requests that are not approved',
    idle: 'waiting for certificate requests',
    reads,
    about: () => 'certificate requests that are not approved',
    keys: () => ['left'],
    watch: () => undefined,
    reconcile: async (_, signal) => {
      book.keepOnly(requests.all());
      const cluster = work.known();
      for (const request of work.openOf(requests.all())) {
        const cause = refusalNow(request.claim, cluster);
        if (cause === undefined) work.add(request.claim.node);
        else work.left(request, cause);
      }
      const now = work.scope.clock.elapsed();
      for (const count of tally.due(now)) await reportLeft(count, signal);
      return { after: countEvery };
    },
  };
}

/** The requests that are left are looked at as a whole so often. */
const countEvery = seconds(10);

const claimedNodes = (object: KubeObject | undefined): readonly string[] => {
  const { claim } = object === undefined ? {} : readRequest(object);
  return claim === undefined ? [] : [claim.node];
};

const isMaster = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.[nodeLabel('master')] === '';

/** What a request of a host is approved with, as by the controller that is replaced. */
const approval: ApprovalReason = {
  reason: 'NodeCSRApprove',
  message: 'This CSR was approved by the assisted-installer-controller',
};

/** The API server takes any name for a request, of any length; an event is no longer than 1.5 MiB. */
const longestName = 100;

/** Reports requests that were left by one event of the cluster for each cause, whose count grows where it may. */
function leftReports(
  { kube, clock, config: { namespace }, note }: InstallationScope,
  tally: LeftTally,
): (count: LeftCount, signal: AbortSignal) => Promise<void> {
  let [isDenied, mayNotPatch] = [false, false];
  const write = async ({ cause, count, names }: LeftCount, signal: AbortSignal) => {
    const name = `certificate-requests-left.${cause}`;
    const listed = names.map((one) => plainLine(one, longestName)).join(', ');
    const what = `Certificate requests that are not approved, as ${refusalCauses[cause]}: ${listed}`;
    const advice = adviceOn[cause];
    const message = advice === undefined ? what : `${what}. ${advice}`;
    const event = controllerEvent({
      ...{ namespace, name, message, count, at: clock.now() },
      ...{ reason: 'CertificateRequestsLeft', type: 'Warning' },
    });
    try {
      await kube.create({ kind: events, namespace }, event, signal);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== 'kube.conflict') throw error;
      if (mayNotPatch) return;
      const body = { count, message, lastTimestamp: event['lastTimestamp'] };
      const ref = { kind: events, namespace, name };
      await kube.patch(ref, { type: 'merge', body }, signal).catch((refusal: unknown) => {
        // An event of another cause can still be made.
        mayNotPatch = isForbidden(refusal);
        if (!mayNotPatch) throw refusal;
      });
    }
  };
  return async (left, signal) => {
    const { cause, count, names } = left;
    try {
      if (!isDenied) await write(left, signal);
    } catch (error) {
      isDenied = isForbidden(error);
      if (!isDenied) throw error;
    }
    const first = names.join(', ');
    note('warn', `certificate requests not approved: ${refusalCauses[cause]}`, { count, first });
    tally.reported(left, clock.elapsed());
  };
}
