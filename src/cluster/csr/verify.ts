import { canonicalAddress } from '../../lib/address.ts';
import type { CertificateRequest } from './pkcs10.ts';
import type { SigningRequest } from './signing-request.ts';

/** What is known of the one node whose requests may be approved. */
export interface ExpectedNode {
  readonly name: string;
  readonly addresses: readonly string[];
  /** The node is in the cluster already. */
  readonly hasJoined: boolean;
  /** The public key (`CertificateRequest.key`) that a client request was approved for before. */
  readonly clientKey?: string;
}

/** The verdict on a request. A refused request is not denied: somebody else may approve it. */
type Verdict =
  | { readonly kind: 'approve' }
  | { readonly kind: 'refuse'; readonly reason: string }
  /** It is about another node. */
  | { readonly kind: 'foreign' };

const nodesGroup = 'system:nodes';
const userOf = (node: string): string => `system:node:${node}`;

const bootstrapperNamespace = 'openshift-machine-config-operator';

/** Who requests the first certificate of an OpenShift node, before it has an identity of its own. */
export const nodeBootstrapper = {
  username: `system:serviceaccount:${bootstrapperNamespace}:node-bootstrapper`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${bootstrapperNamespace}`],
} as const;

/**
 * Verifies a request of a kubelet. The rules are those of the signers (k8s.io/kubernetes,
 * pkg/apis/certificates/helpers.go) and of OpenShift's cluster-machine-approver, for one node only.
 */
export function verifyRequest(
  asked: SigningRequest,
  request: CertificateRequest | undefined,
  expected: ExpectedNode,
): Verdict {
  if (!isAbout(asked, request, expected.name)) return { kind: 'foreign' };
  if (request === undefined) return refuse('it cannot be read');
  const reason =
    subjectRefusal(request, userOf(expected.name)) ??
    (asked.purpose === 'client'
      ? clientRefusal(asked, request, expected)
      : servingRefusal(asked, request, expected)) ??
    (request.isStrong ? undefined : 'its key is weaker than RSA of 2048 bits or EC P-256') ??
    (request.isSigned ? undefined : 'its signature is not that of its key');
  return reason === undefined ? { kind: 'approve' } : refuse(reason);
}

/** Whether a request comes from a node, or is for its name. */
export function isAbout(
  asked: SigningRequest,
  request: CertificateRequest | undefined,
  node: string,
): boolean {
  const user = userOf(node);
  return asked.username === user || request?.commonNames.includes(user) === true;
}

const refuse = (reason: string): Verdict => ({ kind: 'refuse', reason });

function subjectRefusal(request: CertificateRequest, user: string): string | undefined {
  const { commonNames, organizations, otherSubject, otherNames, otherExtensions } = request;
  if (!isOnly(commonNames, user)) return `its common name is ${listed(commonNames)}, not ${user}`;
  if (!isOnly(organizations, nodesGroup)) {
    return `its organization is ${listed(organizations)}, not ${nodesGroup}`;
  }
  if (otherSubject.length > 0) return `its subject has ${listed(otherSubject)} too`;
  if (otherNames.length > 0) return `it asks for alternative names of kind ${listed(otherNames)}`;
  if (otherExtensions.length > 0) return `it asks for extensions ${listed(otherExtensions)}`;
  return undefined;
}

function clientRefusal(
  asked: SigningRequest,
  request: CertificateRequest,
  { name, hasJoined, clientKey }: ExpectedNode,
): string | undefined {
  if (asked.username !== nodeBootstrapper.username) return `${asked.username} asks for it`;
  const missing = nodeBootstrapper.groups.filter((group) => !asked.groups.includes(group));
  if (missing.length > 0) return `who asks is not of the group ${listed(missing)}`;
  if (!areUsages(asked.usages, 'client auth')) return usageRefusal(asked);
  const names = [...request.dnsNames, ...request.addresses];
  if (names.length > 0) return `it asks for the alternative names ${listed(names)}`;
  if (hasJoined) return `node ${name} has joined already`;
  if (clientKey !== undefined && clientKey !== request.key) {
    return `a certificate for node ${name} was approved already, for another key`;
  }
  return undefined;
}

function servingRefusal(
  asked: SigningRequest,
  request: CertificateRequest,
  { name, addresses }: ExpectedNode,
): string | undefined {
  if (asked.username !== userOf(name)) return `${asked.username} asks for it`;
  if (!asked.groups.includes(nodesGroup)) return `who asks is not of the group ${nodesGroup}`;
  if (!areUsages(asked.usages, 'server auth')) return usageRefusal(asked);
  const otherNames = request.dnsNames.filter((dns) => dns.toLowerCase() !== name);
  if (otherNames.length > 0) return `it asks for the names ${listed(otherNames)}`;
  if (request.addresses.length === 0) return 'it asks for no address';
  const known = new Set(addresses.map((address) => canonicalAddress(address)));
  const isKnown = (address: string | undefined): boolean =>
    address !== undefined && known.has(address);
  const unknown = request.addresses.filter((address) => !isKnown(canonicalAddress(address)));
  if (unknown.length === 0) return undefined;
  return `it asks for ${listed(unknown)}, which are not addresses of this host (${listed(addresses)})`;
}

const isOnly = (values: readonly string[], wanted: string): boolean =>
  values.length === 1 && values[0] === wanted;

/**
 * Exactly the two usages; `key encipherment` may stand beside them, whatever the key: a kubelet
 * before Kubernetes 1.27 asks for it with an EC key too, and the signers allow it.
 */
function areUsages(usages: readonly string[], purpose: string): boolean {
  const wanted = ['digital signature', purpose];
  const rest = usages.filter((usage) => !wanted.includes(usage));
  return (
    wanted.every((usage) => usages.includes(usage)) &&
    new Set(usages).size === usages.length &&
    rest.every((usage) => usage === 'key encipherment')
  );
}

const usageRefusal = ({ usages }: SigningRequest): string =>
  `it asks for the usages ${listed(usages)}`;

const listed = (values: readonly string[]): string =>
  values.length === 0 ? 'none' : values.join(', ');
