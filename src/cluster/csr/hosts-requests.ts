import { canonicalAddress, isWithin } from '../../lib/address.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { type InventoryHost, isBeingInstalled } from '../../ports/inventory.ts';
import type { KubeMetadata, KubeObject } from '../../ports/kube.ts';
import type { MachineNetworks } from '../install-config.ts';
import { addressesOf, internalAddresses } from '../node.ts';
import type { ReadRequest } from './read-request.ts';
import type { SigningRequest } from './signing-request.ts';
import { areAddressesOf, type KubeletClaim, type RefusalCause } from './verify.ts';

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
  /** Where addresses may be that came after the inventory of their host. */
  readonly machines?: MachineNetworks | undefined;
}

// Ten thousand claims are looked at each time that something changes: what is left costs no more than its cause.

/** Why a claim is not granted now; undefined where it is. */
export const refusalNow = (claim: KubeletClaim, cluster: KnownCluster): RefusalCause | undefined =>
  claim.purpose === 'client' ? clientRefusal(claim, cluster) : servingRefusal(claim, cluster);

/** A first certificate: for a host of the cluster without a node, and one key of it. */
function clientRefusal(
  { node: name, key }: KubeletClaim,
  cluster: KnownCluster,
): RefusalCause | undefined {
  const { hosts, nodes, keys } = cluster;
  if (nodes.has(name)) return 'joined';
  const approved = keys.get(name);
  if (approved !== undefined && approved !== key) return 'other-key';
  if (hosts !== undefined) return hostRefusal(hosts.named(name));
  return approved !== undefined || isAwaited(cluster) ? undefined : 'no-inventory';
}

function hostRefusal(host: InventoryHost | undefined): RefusalCause | undefined {
  if (host === undefined) return 'unknown-host';
  const hasJoined = host.stage === 'Joined' || host.stage === 'Done' || host.status === 'installed';
  if (hasJoined) return 'joined';
  // A failed host may still come up. One of which nothing but the name is known has to be on its way.
  return host.status === 'error' && host.addresses.length > 0 ? undefined : stageRefusal(host);
}

const stageRefusal = (host: InventoryHost): RefusalCause | undefined =>
  isBeingInstalled(host) ? undefined : 'not-installing';

/** Whether a master of an unknown name may come; those whose key was approved are on their way. */
function isAwaited({ nodes, keys, mastersToCome }: KnownCluster): boolean {
  const coming = [...keys.keys()].filter((name) => !nodes.has(name));
  return coming.length < mastersToCome;
}

/** A serving certificate: for a node that is there, with addresses that it has, and its host by its inventory or since. */
function servingRefusal(claim: KubeletClaim, cluster: KnownCluster): RefusalCause | undefined {
  const { hosts, nodes } = cluster;
  const { node: name } = claim;
  const node = nodes.get(name);
  if (node === undefined) return 'not-joined';
  const addresses = internalAddresses(node);
  if (!areAddressesOf(claim, addresses)) return 'names';
  if (hosts === undefined) return undefined;
  // A node says itself which addresses it has: those of a host whose node is another are not its own.
  const isFree = (one: InventoryHost | undefined): boolean =>
    one !== undefined && !nodes.has(one.name.toLowerCase());
  const host = hosts.named(name) ?? addresses.map(hosts.at).find(isFree);
  if (host === undefined) return 'unknown-host';
  if (host.addresses.length === 0) return stageRefusal(host);
  if (areAddressesOf(claim, host.addresses)) return undefined;
  const isOwnName = hosts.named(name) === host;
  return isOwnName && haveCome(claim, host, cluster) ? undefined : 'names';
}

/**
 * Whether the addresses that a claim has beside those of its host have come since: each is where machines may be, and of
 * no other host or node. That the node has them itself was found out before.
 */
function haveCome(
  { node: name, addresses }: KubeletClaim,
  host: InventoryHost,
  { hosts, nodes, machines }: KnownCluster,
): boolean {
  if (machines === undefined) return false;
  const { networks, vips } = machines;
  const others = [...nodes.values()].filter(({ metadata }) => metadata.name !== name);
  const isTaken = (address: string): boolean =>
    isAmong(address, vips) ||
    hosts?.at(address) !== undefined ||
    others.some((node) => isAmong(address, addressesOf(node)));
  return addresses
    .map((address) => canonicalAddress(address) ?? '')
    .filter((address) => !isAmong(address, host.addresses))
    .every((address) => isWithin(address, networks) && !isTaken(address));
}

const isAmong = (address: string, all: readonly string[]): boolean =>
  all.some((one) => canonicalAddress(one) === address);

/** A request that could be approved, if the cluster is as it must be. */
export interface OpenRequest {
  readonly metadata: Pick<KubeMetadata, 'name' | 'uid' | 'creationTimestamp'>;
  readonly claim: KubeletClaim;
}

/**
 * The requests to approve now; `leave` hears of each other. They are decided in the order in which they were made: the
 * first key of a host is the one that counts.
 */
export function decideRequests<Request extends OpenRequest>(
  requests: readonly Request[],
  cluster: KnownCluster,
  leave: (request: OpenRequest, cause: RefusalCause) => void,
): readonly Request[] {
  let now = cluster;
  return requests.toSorted(byAge).filter((request) => {
    const { claim } = request;
    const cause = refusalNow(claim, now);
    if (cause !== undefined) leave(request, cause);
    else if (claim.purpose === 'client' && now.keys.get(claim.node) !== claim.key) {
      now = { ...now, keys: new Map(now.keys).set(claim.node, claim.key) };
    }
    return cause === undefined;
  });
}

function byAge(one: OpenRequest, other: OpenRequest): number {
  const since = one.metadata.creationTimestamp ?? '';
  const than = other.metadata.creationTimestamp ?? '';
  if (since !== than) return since < than ? -1 : 1;
  return one.metadata.name < other.metadata.name ? -1 : 1;
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
  /** Forgets a request that was answered. */
  readonly forget: (uid: string) => void;
  /** Forgets those that are gone. */
  readonly keepOnly: (there: ReadonlySet<string>) => void;
  /** The counts that have grown since they were reported, each a minute later at the soonest. */
  readonly due: (now: Millis) => readonly LeftCount[];
  readonly reported: (count: LeftCount, now: Millis) => void;
}

interface LeftRequest {
  readonly cause: RefusalCause;
  readonly since: Millis;
  readonly isCounted: boolean;
}

/** Makes an empty tally. */
export function leftTally(): LeftTally {
  const requests = new Map<string, LeftRequest>();
  const counts = new Map<RefusalCause, LeftCount>();
  const reports = new Map<RefusalCause, { readonly count: number; readonly at: Millis }>();
  return {
    add: ({ uid, name, cause }, now) => {
      const before = requests.get(uid);
      const isNew = before?.cause !== cause;
      if (isNew) requests.set(uid, { cause, since: now, isCounted: false });
      if (isNew || before.isCounted || now - before.since < countsAfter) return;
      requests.set(uid, { ...before, isCounted: true });
      const { count, names } = counts.get(cause) ?? { count: 0, names: [] };
      const named = names.length < mostNamed ? [...names, name] : names;
      counts.set(cause, { cause, count: count + 1, names: named });
    },
    forget: (uid) => void requests.delete(uid),
    keepOnly: (there) => {
      for (const uid of requests.keys()) if (!there.has(uid)) requests.delete(uid);
    },
    due: (now) =>
      [...counts.values()].filter(({ cause, count }) => {
        const last = reports.get(cause);
        return last === undefined || (count > last.count && now - last.at >= reportEvery);
      }),
    reported: ({ cause, count }, now) => void reports.set(cause, { count, at: now }),
  };
}

/** What this process knows of a request before the API server shows it. */
interface OwnAnswer {
  readonly state: SigningRequest['state'];
  /** Why it will not be approved. */
  readonly cause?: RefusalCause | undefined;
}

/** The client request of a node that was approved first. */
interface FirstApproved {
  readonly uid: string;
  readonly createdAt: string;
}

/** The requests of the cluster, with what this process did about them. */
export interface RequestBook {
  /** Those that could be approved. Of the others those that wait are counted as left. */
  readonly open: (
    requests: readonly ReadRequest[],
    now: Millis,
  ) => readonly (ReadRequest & OpenRequest)[];
  /** Forgets what was done about requests that are gone. */
  readonly keepOnly: (requests: readonly KubeObject[]) => void;
  /** The key of the first client request of each node that was approved; later changes reach it. */
  readonly keys: () => ReadonlyMap<string, string>;
  /** A request is being approved, or that has failed. */
  readonly set: (request: OpenRequest, answer: OwnAnswer) => void;
}

/** Makes an empty book; the requests that can never be approved are counted by the tally. */
export function requestBook(tally: LeftTally): RequestBook {
  const own = new Map<string, OwnAnswer>();
  const first = new Map<string, FirstApproved>();
  const keys = new Map<string, string>();
  const approved = ({ metadata, claim: { purpose, node, key } }: OpenRequest): void => {
    const { uid = '', creationTimestamp: createdAt = '' } = metadata;
    const before = first.get(node);
    if (purpose !== 'client' || (before !== undefined && before.createdAt <= createdAt)) return;
    first.set(node, { uid, createdAt });
    keys.set(node, key);
  };
  return {
    keepOnly: (requests) => {
      const there = new Set(requests.map(({ metadata: { uid = '' } }) => uid));
      tally.keepOnly(there);
      for (const uid of own.keys()) if (!there.has(uid)) own.delete(uid);
    },
    open: (requests, now) =>
      requests.filter((request): request is ReadRequest & OpenRequest => {
        const { uid = '', name } = request.metadata;
        // What is read after our answer is newer.
        const answer = request.state === 'pending' ? own.get(uid) : undefined;
        const state = answer?.state ?? request.state;
        const cause = answer?.cause ?? request.cause;
        if (state === 'pending') {
          if (cause !== undefined) tally.add({ uid, name, cause }, now);
          return cause === undefined && isOpen(request);
        }
        tally.forget(uid);
        if (state === 'approved' && isOpen(request)) approved(request);
        return false;
      }),
    keys: () => keys,
    set: (request, answer) => {
      const { uid = '' } = request.metadata;
      const { node } = request.claim;
      own.set(uid, answer);
      if (answer.state === 'approved') approved(request);
      else if (first.get(node)?.uid === uid) {
        first.delete(node);
        keys.delete(node);
      }
    },
  };
}

const isOpen = (request: ReadRequest): request is ReadRequest & OpenRequest =>
  request.claim !== undefined;
