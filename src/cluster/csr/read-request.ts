import * as z from 'zod';
import { canonicalAddress } from '../../lib/address.ts';
import { wholeSeconds } from '../../model/duration.ts';
import type { KubeMetadata, KubeObject } from '../../ports/kube.ts';

/** The signers whose requests a kubelet makes (kubernetes.io, "Kubernetes signers"). */
export const kubeletSigners = {
  client: 'kubernetes.io/kube-apiserver-client-kubelet',
  serving: 'kubernetes.io/kubelet-serving',
} as const;

/** Purpose of a certificate: a client certificate for the API server, or a serving certificate. */
export type RequestPurpose = keyof typeof kubeletSigners;

/** Purpose, node and addresses of a kubelet's request. */
export interface KubeletClaim {
  readonly purpose: RequestPurpose;
  readonly node: string;
  /** The addresses of a serving certificate, in canonical form. */
  readonly addresses: readonly string[];
}

/** Why a request stays Pending, in words that are the same for all requests with that cause. */
export const pendingCauses = {
  unreadable: 'they cannot be read, or hold what a kubelet does not ask for',
  signer: 'their signer is not one for kubelets',
  requestor: 'another asks than the kubelet or its bootstrapper',
  names: 'they ask for names or addresses that the host does not have',
  'unknown-host': 'no host of this cluster has the name',
  'not-installing': 'their host is not being installed',
  joined: 'their node has joined already',
  'not-joined': 'their node has not joined yet',
  'no-inventory': 'the hosts of the cluster are not known',
  forbidden: 'the permissions of the controller do not allow it',
} as const;

/** Why a request stays Pending. */
export type PendingCause = keyof typeof pendingCauses;

/** Denied and failed are both `denied`: both are final. */
type RequestState = 'pending' | 'approved' | 'denied';

/**
 * A CertificateSigningRequest that was read, reduced to the fields that a decision needs: a cluster
 * may have ten thousand. To change one, read it from the API server first.
 */
export class ReadRequest implements KubeObject {
  readonly [member: string]: unknown;
  readonly metadata: KubeMetadata;
  readonly state: RequestState;
  /** The user of the node for which a kubelet requests a serving certificate. */
  readonly servedUser: string | undefined;
  /** The claim of a request that may be approved, or was. */
  readonly claim: KubeletClaim | undefined;
  /** Why the request can never be approved. */
  readonly cause: PendingCause | undefined;

  constructor(object: KubeObject) {
    const { name, uid = '', resourceVersion = '', creationTimestamp = '' } = object.metadata;
    this.metadata = { name, uid, resourceVersion, creationTimestamp };
    this.state = stateOf(object);
    const spec = Spec.safeParse(object['spec']).data;
    const purpose = purposes.find((one) => kubeletSigners[one] === spec?.signerName);
    this.servedUser = purpose === 'serving' ? spec?.username : undefined;
    const isOver = this.state === 'denied' || (this.state === 'approved' && purpose === 'serving');
    if (isOver) return;
    const claim = spec === undefined || purpose === undefined ? 'signer' : claimOf(purpose, spec);
    if (typeof claim === 'string') this.cause = claim;
    else this.claim = claim;
  }
}

const purposes = ['client', 'serving'] as const;

/** Requester, signer and usages; they cannot change later. */
const Spec = z.object({
  signerName: z.string(),
  username: z.string().default(''),
  groups: z.array(z.string()).default([]),
  request: z.string(),
});

const Status = z.looseObject({
  conditions: z.array(z.looseObject({ type: z.string() })).optional(),
});

function stateOf(object: KubeObject): RequestState {
  const { conditions = [] } = Status.safeParse(object['status']).data ?? {};
  if (conditions.some(({ type }) => type === 'Denied' || type === 'Failed')) return 'denied';
  return conditions.some(({ type }) => type === 'Approved') ? 'approved' : 'pending';
}

/** Reads a request: only once, as its spec cannot change. */
export const readRequest = (object: KubeObject): ReadRequest =>
  object instanceof ReadRequest ? object : new ReadRequest(object);

const bootstrapperNamespace = 'openshift-machine-config-operator';

/**
 * User and groups that request the first certificate of an OpenShift node, before the node has an
 * identity of its own.
 */
export const nodeBootstrapper = {
  username: `system:serviceaccount:${bootstrapperNamespace}:node-bootstrapper`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${bootstrapperNamespace}`],
} as const;

/** A node as the user of its certificate; its name is a DNS subdomain (RFC 1123). */
const nodeUser = /^system:node:([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/;

/** A request of a kubelet has a thousand letters, in base64. */
const longestRequest = 21 * 1024;

/**
 * The claim of a request, or why it can never be approved. The API server and the signer check
 * signature, usages and key (k8s.io/kubernetes, pkg/apis/certificates/helpers.go): they issue no
 * other certificate.
 */
function claimOf(
  purpose: RequestPurpose,
  { username, groups, request }: z.infer<typeof Spec>,
): KubeletClaim | PendingCause {
  if (!mayAsk(purpose, username, groups)) return 'requestor';
  const pem = Buffer.from(request, 'base64').toString('utf8');
  const content = request.length > longestRequest ? undefined : readPkcs10(pem);
  const [, node] = nodeUser.exec(content?.user ?? '') ?? [];
  if (content === undefined || node === undefined) return 'unreadable';
  const { user, dnsNames, addresses } = content;
  if (purpose === 'client')
    return dnsNames.length + addresses.length > 0 ? 'names' : { purpose, node, addresses: none };
  if (username !== user) return 'requestor';
  const areOwn = dnsNames.every((name) => name.toLowerCase() === node);
  return areOwn && addresses.length > 0 ? { purpose, node, addresses } : 'names';
}

/**
 * Whether the requester may be a kubelet or its bootstrapper, which have these groups and no other
 * (cluster-machine-approver, same rule).
 */
function mayAsk(purpose: RequestPurpose, username: string, groups: readonly string[]): boolean {
  const isClient = purpose === 'client';
  const own: readonly string[] = isClient ? nodeBootstrapper.groups : ['system:nodes'];
  const others = groups.filter((group) => group !== 'system:authenticated');
  return (
    (!isClient || username === nodeBootstrapper.username) &&
    own.every((group) => others.includes(group)) &&
    others.every((group) => own.includes(group))
  );
}

/** One list for all of the thousands of requests without addresses. */
const none: readonly string[] = [];

/**
 * The request with the condition that approves it, to be put to its subresource `approval`.
 * @param reason one word in camel case
 */
export function approved(
  object: KubeObject,
  { reason, message, at }: Readonly<Record<'reason' | 'message', string>> & { readonly at: number },
): KubeObject {
  const before = Status.safeParse(object['status']).data ?? {};
  const condition = {
    type: 'Approved',
    status: 'True',
    reason,
    message,
    lastUpdateTime: wholeSeconds(at),
  };
  const conditions = [...(before.conditions ?? []), condition];
  return { ...object, status: { ...before, conditions } };
}

/** Exactly one PEM block, so that all programs read the same request. */
const onePemBlock =
  /^\s*-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----\s*$/;

/** Tags of DER (X.690). */
const [integer, bits, octets, identifier, sequence, set] = [0x02, 0x03, 0x04, 0x06, 0x30, 0x31];
const [utf8, printable, attributes, dnsName, ipAddress] = [0x0c, 0x13, 0xa0, 0x82, 0x87];

/** From here on the first byte of a length is the number of length bytes that follow. */
const longForm = 0x80;

const oid = (hex: string): Buffer => der(identifier, Buffer.from(hex, 'hex'));
/** 2.5.4.3, 2.5.4.10, 1.2.840.113549.1.9.14 and 2.5.29.17. */
const [commonName, organization, extensionRequest, alternativeNames] = [
  oid('550403'),
  oid('55040a'),
  oid('2a864886f70d01090e'),
  oid('551d11'),
];

/**
 * Reads a PKCS #10 request (RFC 2986) of a kubelet (client-go, `MakeCSRFromTemplate`); undefined
 * for anything else. The result is encoded again and compared byte by byte, so no part that the
 * signer may read is skipped. The contents of its key and signature are opaque here: the API server
 * checked them when it accepted the request.
 * @returns the common name of its subject, and its names and canonical addresses
 */
export function readPkcs10(pem: string) {
  const base64 = onePemBlock.exec(pem)?.[1]?.replaceAll(/\s/g, '') ?? '';
  const bytes = Buffer.from(base64, 'base64');
  const [request] = elementsIn(bytes);
  const group = partOf(request, 0, 1, 0, 0, 1);
  const name = partOf(request, 0, 1, 1, 0, 1);
  const names = partsIn(partOf(request, 0, 3, 0, 1, 0, 0, 1, 0)).filter(
    ({ tag }) => tag === dnsName || tag === ipAddress,
  );
  const signed = der(
    sequence,
    der(integer, Buffer.from([0])),
    der(
      sequence,
      subjectPart(organization, group?.tag, Buffer.from('system:nodes')),
      subjectPart(commonName, name?.tag, contentOf(name)),
    ),
    der(sequence, contentOf(partOf(request, 0, 2))),
    der(attributes, ...(names.length === 0 ? [] : [namesAttribute(names)])),
  );
  const algorithm = der(sequence, contentOf(partOf(request, 1)));
  const written = der(sequence, signed, algorithm, der(bits, contentOf(partOf(request, 2))));
  const addresses = names.filter(({ tag }) => tag === ipAddress).map(addressOf);
  const isSame = written.equals(bytes) && bytes.toString('base64') === base64;
  if (!isSame || addresses.includes(undefined)) return undefined;
  return {
    user: contentOf(name).toString('latin1'),
    dnsNames: names
      .filter(({ tag }) => tag === dnsName)
      .map(({ content }) => content.toString('latin1')),
    addresses: addresses.filter((address) => address !== undefined),
  };
}

/** A part of a subject, in the encodings that write these letters the same way. */
const subjectPart = (type: Buffer, tag: number | undefined, text: Buffer): Buffer =>
  der(set, der(sequence, type, der(tag === utf8 ? utf8 : printable, text)));

/** Alternative names are the only extension that a kubelet requests. */
function namesAttribute(names: readonly Element[]): Buffer {
  const list = der(sequence, ...names.map(({ tag, content }) => der(tag, content)));
  const extension = der(sequence, alternativeNames, der(octets, list));
  return der(sequence, extensionRequest, der(set, der(sequence, extension)));
}

function addressOf({ content }: Element): string | undefined {
  if (content.length === 4) return content.join('.');
  const groups = content.toString('hex').match(/.{4}/g) ?? [];
  return content.length === 16 ? canonicalAddress(groups.join(':')) : undefined;
}

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

const contentOf = (element: Element | undefined): Buffer => element?.content ?? Buffer.alloc(0);

const partsIn = (element: Element | undefined): readonly Element[] =>
  elementsIn(contentOf(element));

/** The element at a path in the tree. */
const partOf = (element: Element | undefined, ...places: readonly number[]): Element | undefined =>
  places.reduce((inside, place) => partsIn(inside)[place], element);

/** The elements in the bytes. Bytes that are not DER give elements whose encoding differs. */
function elementsIn(bytes: Buffer): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2);
    const start = at + 2 + Math.max(0, first - longForm);
    const length =
      first < longForm ? first : Number.parseInt(bytes.toString('hex', at + 2, start), 16);
    found.push({ tag, content: bytes.subarray(start, start + length) });
    // A missing length ends the loop.
    at = start + length;
  }
  return found;
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const bytes = length < 0x1_00 ? [length] : [length >> 8, length & 0xff];
  const head = length < longForm ? [length] : [longForm + bytes.length, ...bytes];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}
