import { type Millis, seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { isBeingInstalled } from '../host-progress.ts';
import { dropText } from '../kept.ts';
import { internalAddresses } from '../node.ts';
import { readPkcs10 } from './pkcs10.ts';
import { readSigningRequest, requestState, type SigningRequest } from './signing-request.ts';
import {
  claimRefusal,
  type KubeletClaim,
  mayAsk,
  nodeOf,
  readClaim,
  type Refusal,
  type RefusalCause,
} from './verify.ts';

/** Finds hosts of the service, as `HostIndex` does. */
type FindHost = Readonly<Record<'named' | 'at', (text: string) => InventoryHost | undefined>>;

/** What is known of the cluster at one moment. */
export interface KnownCluster {
  /** Undefined where nobody knows the hosts: the service left before it was asked, and nobody recorded them. */
  readonly hosts: FindHost | undefined;
  readonly nodes: ReadonlyMap<string, KubeObject>;
  /** Keys by node, for which a client request of it was approved. */
  readonly keys: ReadonlyMap<string, string>;
  /** Nodes of the control plane that are still to join, where nobody knows the hosts. */
  readonly mastersToCome: number;
}

/** Why a claim is not granted now; undefined where it is. */
export const refusalNow = (claim: KubeletClaim, cluster: KnownCluster): Refusal | undefined =>
  claim.purpose === 'client' ? clientRefusal(claim, cluster) : servingRefusal(claim, cluster);

/** A first certificate: for a host of the cluster without a node, and one key of it. */
function clientRefusal(claim: KubeletClaim, cluster: KnownCluster): Refusal | undefined {
  const { node: name } = claim;
  const { hosts, nodes, keys } = cluster;
  const clientKey = keys.get(name);
  const refusal = claimRefusal(claim, {
    name,
    addresses: [],
    hasJoined: nodes.has(name),
    ...(clientKey === undefined ? {} : { clientKey }),
  });
  if (refusal !== undefined) return refusal;
  if (hosts !== undefined) return hostRefusal(name, hosts.named(name));
  if (clientKey !== undefined || isAwaited(cluster)) return undefined;
  return { cause: 'no-inventory', reason: 'nobody knows whether the cluster has such a host' };
}

function hostRefusal(name: string, host: InventoryHost | undefined): Refusal | undefined {
  if (host === undefined) return { cause: 'unknown-host', reason: `no host is named ${name}` };
  const hasJoined = host.stage === 'Joined' || host.stage === 'Done' || host.status === 'installed';
  if (hasJoined) return { cause: 'joined', reason: `host ${name} has joined before` };
  // A failed host may still come up. One of which nothing but the name is known has to be on its way.
  return host.status === 'error' && host.addresses.length > 0 ? undefined : stageRefusal(host);
}

const stageRefusal = (host: InventoryHost): Refusal | undefined =>
  isBeingInstalled(host)
    ? undefined
    : { cause: 'not-installing', reason: `host ${host.name} is ${host.status}` };

/** Whether a master of an unknown name may come; those whose key was approved are on their way. */
function isAwaited({ nodes, keys, mastersToCome }: KnownCluster): boolean {
  const coming = [...keys.keys()].filter((name) => !nodes.has(name));
  return coming.length < mastersToCome;
}

/** A serving certificate: for a node that is there, with addresses that it and its host have. */
function servingRefusal(claim: KubeletClaim, { hosts, nodes }: KnownCluster): Refusal | undefined {
  const { node: name } = claim;
  const node = nodes.get(name);
  if (node === undefined) return { cause: 'not-joined', reason: `node ${name} has not joined yet` };
  const addresses = internalAddresses(node);
  const refusal = claimRefusal(claim, { name, addresses, hasJoined: true });
  if (refusal !== undefined || hosts === undefined) return refusal;
  const host = hosts.named(name) ?? addresses.map(hosts.at).find((one) => one !== undefined);
  if (host === undefined) {
    return { cause: 'unknown-host', reason: `no host of the cluster is node ${name}` };
  }
  if (host.addresses.length === 0) return stageRefusal(host);
  return claimRefusal(claim, { name, addresses: host.addresses, hasJoined: true });
}

/** A request that could be approved, if the cluster is as it must be. */
export interface OpenRequest {
  readonly uid: string;
  readonly name: string;
  readonly createdAt: string;
  readonly claim: KubeletClaim;
}

/**
 * The requests to approve now; `leave` hears of each other. They are decided in the order in which they were made: the
 * first key of a host is the one that counts.
 */
export function decideRequests(
  requests: readonly OpenRequest[],
  cluster: KnownCluster,
  leave: (request: OpenRequest, refusal: Refusal) => void,
): readonly OpenRequest[] {
  const keys = new Map(cluster.keys);
  const now = { ...cluster, keys };
  return requests.toSorted(byAge).filter((request) => {
    const { claim } = request;
    const refusal = refusalNow(claim, now);
    if (refusal !== undefined) leave(request, refusal);
    else if (claim.purpose === 'client') keys.set(claim.node, claim.key);
    return refusal === undefined;
  });
}

function byAge(one: OpenRequest, other: OpenRequest): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? -1 : 1;
  return one.name < other.name ? -1 : 1;
}

/** How long a request is left before it counts: its node may be about to join, or another about to approve it. */
export const countsAfter: Millis = seconds(30);

/** The shortest time between two reports of one cause. */
const reportEvery: Millis = seconds(60);

/** How many requests a report names. */
const mostNamed = 5;

/** Requests that were left for one cause, since this process began. */
export interface LeftCount {
  readonly cause: RefusalCause;
  readonly count: number;
  /** The first of them. */
  readonly names: readonly string[];
}

/** Counts the requests that are left, each once for a cause. */
export interface LeftTally {
  readonly add: (
    request: { readonly uid: string; readonly name: string; readonly cause: RefusalCause },
    now: Millis,
  ) => void;
  /** Forgets a request that was answered, or is gone. */
  readonly forget: (uid: string) => void;
  /** The counts that have grown since they were reported, each a minute later at the soonest. */
  readonly due: (now: Millis) => readonly LeftCount[];
  readonly reported: (count: LeftCount, now: Millis) => void;
}

interface LeftRequest {
  readonly cause: RefusalCause;
  readonly since: Millis;
  isCounted: boolean;
}

/** Makes an empty tally; of each request it keeps no more than its cause. */
export function leftTally(): LeftTally {
  const requests = new Map<string, LeftRequest>();
  const counts = new Map<RefusalCause, LeftCount>();
  const reports = new Map<RefusalCause, { readonly count: number; readonly at: Millis }>();
  return {
    add: ({ uid, name, cause }, now) => {
      const kept = requests.get(uid);
      const request = kept?.cause === cause ? kept : { cause, since: now, isCounted: false };
      requests.set(uid, request);
      if (request.isCounted || now - request.since < countsAfter) return;
      request.isCounted = true;
      const { count, names } = counts.get(cause) ?? { count: 0, names: [] };
      const named = names.length < mostNamed ? [...names, name] : names;
      counts.set(cause, { cause, count: count + 1, names: named });
    },
    forget: (uid) => void requests.delete(uid),
    due: (now) =>
      [...counts.values()].filter(({ cause, count }) => {
        const last = reports.get(cause);
        return last === undefined || (count > last.count && now - last.at >= reportEvery);
      }),
    reported: ({ cause, count }, now) => void reports.set(cause, { count, at: now }),
  };
}

/** How many requests are read at once: to check signatures takes the processor from all others. */
const readAtOnce = 50;

/** What is kept of each request: little, as there may be ten thousand. */
interface KnownRequest {
  readonly version: string | undefined;
  /** A request that may be approved, or was. */
  readonly open?: OpenRequest | undefined;
  readonly state: SigningRequest['state'];
  /** Why it can never be approved. */
  readonly cause?: RefusalCause;
}

/** What is still to be read: nothing, pending requests only, or some that were answered. */
type Unread = 'none' | 'pending' | 'answered';

/** The requests of the cluster, each read once. */
export interface RequestBook {
  /** Reads some that are new or have changed: those that were answered first, then the newest. */
  readonly read: (objects: readonly KubeObject[], now: number) => Promise<Unread>;
  readonly open: () => readonly OpenRequest[];
  /** The key of the first client request of each node that was approved. */
  readonly keys: () => ReadonlyMap<string, string>;
  /** Changes what is known of a request: it is being approved, or that has failed. */
  readonly set: (uid: string, change: Partial<KnownRequest>) => void;
}

/** Makes an empty book; the requests that can never be approved are counted by the tally. */
export function requestBook(tally: LeftTally): RequestBook {
  const known = new Map<string, KnownRequest>();
  const first = new Map<string, OpenRequest>();
  /** Forgets what is gone or answered, and counts what is left. */
  const review = (objects: readonly KubeObject[], now: number): void => {
    const there = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const uid of known.keys()) {
      if (there.has(uid)) continue;
      known.delete(uid);
      tally.forget(uid);
    }
    for (const object of objects) {
      // What was listed again has its text again.
      dropText(object);
      const { uid = '', name } = object.metadata;
      const { cause, state } = known.get(uid) ?? {};
      if (state !== 'pending') tally.forget(uid);
      else if (cause !== undefined) tally.add({ uid, name, cause }, now);
    }
  };
  return {
    read: async (objects, now) => {
      const isNew = ({ metadata: { uid = '', resourceVersion } }: KubeObject): boolean =>
        known.get(uid)?.version !== resourceVersion;
      const unread = objects.filter(isNew).toSorted(byUrgency);
      for (const object of unread.slice(0, readAtOnce)) {
        const { uid = '' } = object.metadata;
        known.set(uid, await readRequest(object, known.get(uid)));
        dropText(object);
      }
      const next = unread[readAtOnce];
      if (next !== undefined) return hasConditions(next) ? 'answered' : 'pending';
      review(objects, now);
      return 'none';
    },
    open: () =>
      [...known.values()].flatMap(({ open, state }) =>
        open !== undefined && state === 'pending' ? [open] : [],
      ),
    keys: () => {
      for (const { open, state } of known.values()) {
        if (open?.claim.purpose !== 'client' || state !== 'approved') continue;
        const { node } = open.claim;
        const before = first.get(node);
        if (before === undefined || open.createdAt < before.createdAt) first.set(node, open);
      }
      return new Map([...first].map(([node, { claim }]) => [node, claim.key]));
    },
    set: (uid, change) => {
      const one = known.get(uid);
      if (one === undefined) return;
      known.set(uid, { ...one, ...change });
      const node = one.open?.claim.node ?? '';
      if (change.state !== 'approved' && first.get(node)?.uid === uid) first.delete(node);
    },
  };
}

function byUrgency(one: KubeObject, other: KubeObject): number {
  const [a, b] = [hasConditions(one), hasConditions(other)];
  if (a !== b) return a ? -1 : 1;
  const [since, than] = [one, other].map(({ metadata }) => metadata.creationTimestamp ?? '');
  return since === than ? 0 : (since ?? '') < (than ?? '') ? 1 : -1;
}

/** Whether somebody has written of a request; as it is sorted by, it is read without a parser. */
function hasConditions({ status }: KubeObject): boolean {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  return Array.isArray(conditions) && conditions.length > 0;
}

/** Reads what is needed to decide on a request; its content only once, and only where it counts. */
async function readRequest(object: KubeObject, before?: KnownRequest): Promise<KnownRequest> {
  const { resourceVersion: version, name, uid = '', creationTimestamp = '' } = object.metadata;
  const asked = readSigningRequest(object);
  if (asked === undefined) return { version, state: requestState(object), cause: 'signer' };
  const { state, purpose, pem } = asked;
  if (before !== undefined) return { ...before, version, state };
  if (state === 'denied' || (state === 'approved' && purpose === 'serving'))
    return { version, state };
  if (!mayAsk(asked)) return { version, state, cause: 'requestor' };
  const content = await readPkcs10(pem);
  const node = nodeOf(asked, content);
  if (node === undefined) return { version, state, cause: content ? 'subject' : 'unreadable' };
  const claim = readClaim(asked, content, node);
  if ('cause' in claim) return { version, state, cause: claim.cause };
  return { version, state, open: { uid, name, createdAt: creationTimestamp, claim } };
}
