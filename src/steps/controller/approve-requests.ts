import {
  decideRequests,
  type KnownCluster,
  type LeftCount,
  type LeftTally,
  leftTally,
  type OpenRequest,
  refusalNow,
  type RequestBook,
  requestBook,
} from '../../cluster/csr/hosts-requests.ts';
import { controllerEvent } from '../../cluster/controller.ts';
import { readRequest } from '../../cluster/csr/read-request.ts';
import type { ApprovalReason } from '../../cluster/csr/signing-request.ts';
import { adviceOn, refusalCauses } from '../../cluster/csr/verify.ts';
import { certificateSigningRequests, events, nodes as nodeKind } from '../../cluster/kinds.ts';
import { nodeLabel } from '../../cluster/node.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { InstallationView } from '../../ports/installation.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import { type LeftRecord, recordRef } from '../cluster/left-record.ts';
import { approveRequest } from '../cluster/approve-request.ts';
import { hostIndexOf } from '../cluster/inventory-hosts.ts';
import { followed, followedOne, gapAmong, together } from '../cluster/kube-watch.ts';
import { NewCluster } from './new-cluster.ts';
import { type Action, noLimit, reconcile } from '../reconcile.ts';
import { recordedHosts, recordIn } from './without-service.ts';
import { type ControllerScope, controllerStep, followedInstallation } from './world.ts';

/**
 * Approves the certificate requests of hosts of this cluster as they come, each host's first certificate for one key
 * only. All others are left for others to decide, and counted in an event. Goes on until the installation has ended.
 */
export const approveRequests = controllerStep({
  id: 'controller/approve-requests',
  title: 'Approve the certificate requests of the hosts of this cluster',
  uses: ['installation', 'kube', 'clock'],
  needs: { cluster: NewCluster },
  limit: noLimit,
  waitsFor: 'certificate requests, until the installation has ended',
  run: async (scope, { cluster: { isAgentBased, machines } }) => {
    const { clock, config, installation, kube } = scope;
    const masters = isAgentBased ? config.cluster.controlPlaneCount : 0;
    const service = followedInstallation(installation);
    const requests = followed(kube, { kind: certificateSigningRequests });
    const nodes = followed(kube, { kind: nodeKind });
    // There a service that has left does not come back.
    const records = isAgentBased ? [followedOne(kube, recordRef)] : [];
    const tally = leftTally();
    const book = requestBook(tally);
    const reportLeft = leftReports(scope, tally);
    /** The cluster as it is seen now. */
    const seen = (): KnownCluster | string => {
      const record = recordIn(records.flatMap(({ view }) => view().objects));
      const there = { nodes: nodes.view().objects, record };
      const known = knownCluster(service.view(), there, masters);
      return typeof known === 'string' ? known : { ...known, keys: book.keys(), machines };
    };
    let took = 0;
    await reconcile<Seen, Work>(scope, 'every certificate request is answered', {
      watch: together(...[requests, nodes, ...records, service].map(({ watch }) => watch)),
      every: seconds(10),
      observe: async (signal) => {
        // Ten thousand requests that come one by one must not keep the processor from all others.
        if (took > 0) await clock.sleep(Math.min(longestRest, took * 4), signal);
        const began = clock.elapsed();
        const gap = gapAmong(requests, nodes, ...records);
        if (gap !== undefined) return { missing: gap, approve: [], counts: [] };
        const open = book.open(requests.view().objects.map(readRequest), began);
        const known = seen();
        if (typeof known === 'string') return { missing: known, approve: [], counts: [] };
        const approve = decideRequests(open, known, ({ metadata }, cause) => {
          const { uid = '', name } = metadata;
          tally.add({ uid, name, cause }, began);
        });
        const missing = 'waiting for certificate requests';
        took = clock.elapsed() - began;
        const facts = { missing, counts: tally.due(clock.elapsed()) };
        return { ...facts, approve: approve.map((request) => ({ request, known })) };
      },
      decide: ({ missing, approve, counts }) => ({
        actions: [
          ...approve.map((one) => ({
            key: `certificate request ${one.request.metadata.name}`,
            ...one,
          })),
          ...counts.map((count) => ({ key: `event about requests: ${count.cause}`, count })),
        ],
        missing,
      }),
      apply: async (work, signal) => {
        if ('count' in work) await reportLeft(work.count, signal);
        else {
          const isStillRight = () => isUnchanged(scope, work, seen);
          await approveOne(scope, book, { request: work.request, isStillRight });
        }
      },
    });
  },
});

/** The longest rest between two passes over the requests; a request is answered within two seconds. */
const longestRest = 500;

interface Seen {
  readonly missing: string;
  readonly approve: readonly Decided[];
  readonly counts: readonly LeftCount[];
}

/** A request to approve, and by what that was decided. */
interface Decided {
  readonly request: OpenRequest;
  readonly known: KnownCluster;
}

type Work = Action & (Decided | { readonly count: LeftCount });

/** Whether a request is still right by what is known now, and its node the same by a fresh reading. */
async function isUnchanged(
  { kube, signal }: ControllerScope<'kube'>,
  { request: { claim }, known }: Decided,
  seen: () => KnownCluster | string,
): Promise<boolean> {
  const { node: name } = claim;
  const node = await kube.get({ kind: nodeKind, name }, signal);
  const now = seen();
  if (typeof now === 'string') return false;
  if (node?.metadata.uid !== known.nodes.get(name)?.metadata.uid) return false;
  const nodes = node === undefined ? now.nodes : new Map(now.nodes).set(name, node);
  return refusalNow(claim, { ...now, nodes }) === undefined;
}

/** What is known of the hosts, or why nothing may be decided yet. */
function knownCluster(
  { cluster, lastError }: InstallationView,
  {
    nodes,
    record,
  }: { readonly nodes: readonly KubeObject[]; readonly record: LeftRecord | undefined },
  masters: number,
): Omit<KnownCluster, 'keys'> | string {
  if (cluster === undefined && (lastError === undefined || masters === 0)) {
    return 'the service has not listed the hosts yet';
  }
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  const joined = nodes.filter(({ metadata }) => metadata.labels?.[nodeLabel('master')] === '');
  return {
    hosts:
      cluster === undefined
        ? record && hostIndexOf(recordedHosts(record))
        : hostIndexOf(cluster.hosts),
    nodes: byName,
    mastersToCome: masters - joined.length,
  };
}

/** What a request of a host is approved with, as by the controller that is replaced. */
const approval: ApprovalReason = {
  reason: 'NodeCSRApprove',
  message: 'This CSR was approved by the assisted-installer-controller',
};

async function approveOne(
  scope: ControllerScope<'kube' | 'clock'>,
  book: RequestBook,
  {
    request,
    isStillRight,
  }: Pick<Decided, 'request'> & { readonly isStillRight: () => Promise<boolean> },
): Promise<void> {
  const { metadata, claim } = request;
  // Before it is sent: a second key of the host must not be approved meanwhile.
  book.set(request, { state: 'approved' });
  try {
    const answer = await approveRequest(scope, metadata, { ...approval, isStillRight });
    book.set(request, answer);
    if (answer.state === 'approved') {
      const { node, purpose } = claim;
      scope.note('info', `certificate request ${metadata.name} is approved`, { node, purpose });
    }
  } catch (error) {
    const isDenied = isForbidden(error);
    book.set(request, { state: 'pending', ...(isDenied ? { cause: 'forbidden' } : {}) });
    if (!isDenied) throw error;
  }
}

/** The API server takes any name for a request, of any length; an event is no longer than 1.5 MiB. */
const longestName = 100;

/** Reports requests that were left by one event of the cluster for each cause, whose count grows where it may. */
function leftReports(
  { kube, clock, config: { namespace }, note }: ControllerScope<'kube' | 'clock'>,
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
    note('warn', `certificate requests are left: ${refusalCauses[cause]}`, { count, first });
    tally.reported(left, clock.elapsed());
  };
}
