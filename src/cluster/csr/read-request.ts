import type { KubeMetadata, KubeObject } from '../../ports/kube.ts';
import { readPkcs10 } from './pkcs10.ts';
import {
  readSigningRequest,
  requestState,
  type RequestPurpose,
  type SigningRequest,
} from './signing-request.ts';

/** What the request of a kubelet is for. */
export interface KubeletClaim {
  readonly purpose: RequestPurpose;
  readonly node: string;
  /** The addresses of a serving certificate, in canonical form. */
  readonly addresses: readonly string[];
}

/** Why requests are not approved, in words that are the same for all of one cause. */
export const refusalCauses = {
  unreadable: 'they cannot be read, or hold what a kubelet does not ask for',
  signer: 'they are for another signer than those of kubelets',
  requestor: 'another asks than the kubelet or its bootstrapper',
  names: 'they ask for names or addresses that the host does not have',
  'unknown-host': 'no host of this cluster has the name',
  'not-installing': 'their host is not being installed',
  joined: 'their node has joined already',
  'not-joined': 'their node has not joined yet',
  'no-inventory': 'nobody knows the hosts of the cluster',
  forbidden: 'the permissions of the controller do not allow it',
} as const;

/** One of them. */
export type RefusalCause = keyof typeof refusalCauses;

/** What is to be decided on a request by. */
type Reading = Pick<ReadRequest, 'state' | 'purpose' | 'username' | 'claim' | 'cause'>;

/**
 * A CertificateSigningRequest that was read, with nothing of it that is not needed to decide on it:
 * a cluster may have ten thousand. Who changes one reads it from the API server first.
 */
export class ReadRequest implements KubeObject {
  readonly [member: string]: unknown;
  readonly metadata: KubeMetadata;
  readonly state: SigningRequest['state'];
  /** Undefined for one that no kubelet makes. */
  readonly purpose: RequestPurpose | undefined;
  /** Who asks; empty for one that no kubelet makes. */
  readonly username: string;
  /** What it is for, of one that may be approved, or was. */
  readonly claim: KubeletClaim | undefined;
  /** Why it can never be approved. */
  readonly cause: RefusalCause | undefined;

  constructor(metadata: KubeMetadata, { state, purpose, username, claim, cause }: Reading) {
    this.metadata = metadata;
    this.state = state;
    this.purpose = purpose;
    this.username = username;
    this.claim = claim;
    this.cause = cause;
  }
}

/** A kubelet's has a thousand letters. */
const longestRequest = 16 * 1024;

/**
 * Reads a request: only once, as its spec cannot change, and its content only where that counts.
 */
export function readRequest(object: KubeObject): ReadRequest {
  if (object instanceof ReadRequest) return object;
  const { name, uid = '', resourceVersion = '', creationTimestamp = '' } = object.metadata;
  return new ReadRequest({ name, uid, resourceVersion, creationTimestamp }, readingOf(object));
}

function readingOf(object: KubeObject): Reading {
  const asked = readSigningRequest(object);
  if (asked === undefined) {
    const state = requestState(object);
    return { state, purpose: undefined, username: '', claim: undefined, cause: 'signer' };
  }
  const { state, purpose } = asked;
  // Thousands of requests have the same name of the bootstrapper.
  const username = isBootstrapper(asked) ? nodeBootstrapper.username : asked.username;
  const reading = { state, purpose, username, claim: undefined, cause: undefined };
  const isOver = state === 'denied' || (state === 'approved' && purpose === 'serving');
  if (isOver) return reading;
  const claim = claimOf(asked);
  return typeof claim === 'string' ? { ...reading, cause: claim } : { ...reading, claim };
}

const bootstrapperNamespace = 'openshift-machine-config-operator';

/**
 * Who requests the first certificate of an OpenShift node, before it has an identity of its own.
 */
export const nodeBootstrapper = {
  username: `system:serviceaccount:${bootstrapperNamespace}:node-bootstrapper`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${bootstrapperNamespace}`],
} as const;

const isBootstrapper = ({ username }: SigningRequest): boolean =>
  username === nodeBootstrapper.username;

/** A node as the user of its certificate; its name is a DNS subdomain (RFC 1123). */
const nodeUser = /^system:node:([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/;

/**
 * What a request is for, or why it can never be approved. Which signature, usages and key it may
 * have is checked by the API server and the signer (k8s.io/kubernetes,
 * pkg/apis/certificates/helpers.go): they issue no other certificate.
 */
function claimOf(asked: SigningRequest): KubeletClaim | RefusalCause {
  const { purpose, pem } = asked;
  if (!mayAsk(asked)) return 'requestor';
  const content = pem.length > longestRequest ? undefined : readPkcs10(pem);
  const [, node] = nodeUser.exec(content?.user ?? '') ?? [];
  if (content === undefined || node === undefined) return 'unreadable';
  const { user, dnsNames, addresses } = content;
  if (purpose === 'client')
    return dnsNames.length + addresses.length > 0 ? 'names' : { purpose, node, addresses: none };
  if (asked.username !== user) return 'requestor';
  const areOwn = dnsNames.every((name) => name.toLowerCase() === node);
  return areOwn && addresses.length > 0 ? { purpose, node, addresses } : 'names';
}

/** One for all of the thousands that ask for no address. */
const none: readonly string[] = [];

/**
 * Whether a kubelet or its bootstrapper asks, which are of these groups and of no other
 * (cluster-machine-approver, same rule).
 */
function mayAsk(asked: SigningRequest): boolean {
  const isClient = asked.purpose === 'client';
  const groups: readonly string[] = isClient ? nodeBootstrapper.groups : ['system:nodes'];
  const others = asked.groups.filter((group) => group !== 'system:authenticated');
  return (
    (isClient ? isBootstrapper(asked) : nodeUser.test(asked.username)) &&
    groups.every((group) => others.includes(group)) &&
    others.every((group) => groups.includes(group))
  );
}
