import { canonicalAddress } from '../../lib/address.ts';
import type { CertificateRequest } from './pkcs10.ts';
import type { RequestPurpose, SigningRequest } from './signing-request.ts';

/** What a request of a kubelet is for, once all that stands in the request itself is right. */
export interface KubeletClaim {
  readonly purpose: RequestPurpose;
  readonly node: string;
  /** SHA-256 of its public key. */
  readonly key: string;
  /** The addresses of a serving certificate, as they are written. */
  readonly addresses: readonly string[];
}

/** Why requests are not approved, in words that are the same for all of one cause. */
export const refusalCauses = {
  unreadable: 'they cannot be read, or in two ways',
  signer: 'they are for another signer than those of kubelets',
  requestor: 'another asks than the kubelet or its bootstrapper',
  subject: 'the subject, or the kind of names, is not that of a kubelet',
  usages: 'the usages are not those of a kubelet',
  names: 'they ask for names or addresses that the host does not have',
  key: 'the key is weak, or has not signed the request',
  'unknown-host': 'no host of this cluster has the name',
  'not-installing': 'their host is not being installed',
  joined: 'their node has joined already',
  'not-joined': 'their node has not joined yet',
  'other-key': 'a certificate of the node was approved before, for another key',
  'no-inventory': 'nobody knows the hosts of the cluster',
  forbidden: 'the permissions of the controller do not allow it',
} as const;

/** What to do about requests that stay open for a cause, where a person can. */
export const adviceOn: Partial<Record<RefusalCause, string>> = {
  names:
    'An address counts that the inventory has for the host, or that its node reports, that is in a machine network, and that no other host or node has. Where the node has the address, run: oc adm certificate approve NAME',
};

/** One of them. */
export type RefusalCause = keyof typeof refusalCauses;

/** A request is left alone, which is not to be denied: somebody else may approve it. */
export interface Refusal {
  readonly cause: RefusalCause;
  readonly reason: string;
}

const nodesGroup = 'system:nodes';
const userOf = (node: string): string => `system:node:${node}`;

const bootstrapperNamespace = 'openshift-machine-config-operator';

/** Who requests the first certificate of an OpenShift node, before it has an identity of its own. */
export const nodeBootstrapper = {
  username: `system:serviceaccount:${bootstrapperNamespace}:node-bootstrapper`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${bootstrapperNamespace}`],
} as const;

/**
 * Reads what the kubelet of a node asks for, if all that stands in the request is right; its key is still to be checked. The rules are those of the
 * signers (k8s.io/kubernetes, pkg/apis/certificates/helpers.go) and of OpenShift's cluster-machine-approver.
 */
export function readClaim(
  asked: SigningRequest,
  request: CertificateRequest | undefined,
  node: string,
): KubeletClaim | Refusal {
  if (request === undefined) return { cause: 'unreadable', reason: 'it cannot be read' };
  const refusal =
    subjectRefusal(request, userOf(node)) ??
    (asked.purpose === 'client'
      ? clientRefusal(asked, request)
      : servingRefusal(asked, request, node));
  const { purpose } = asked;
  const addresses = purpose === 'client' ? none : request.addresses;
  return refusal ?? { purpose, node, key: request.key, addresses };
}

/** One for all of the thousands that ask for no address. */
const none: readonly string[] = [];

/** Whether all addresses that a claim is for are of these. */
export function areAddressesOf({ addresses }: KubeletClaim, own: readonly string[]): boolean {
  const known = new Set(own.map((address) => canonicalAddress(address)));
  return addresses.every((address) => {
    const canonical = canonicalAddress(address);
    return canonical !== undefined && known.has(canonical);
  });
}

/** The node that a request is about, by its subject, else by who asks; undefined where it is about none. */
export function nodeOf(
  { username }: SigningRequest,
  request: CertificateRequest | undefined,
): string | undefined {
  const user = request?.commonNames.find((name) => name.startsWith(userOf(''))) ?? username;
  const name = user.startsWith(userOf('')) ? user.slice(userOf('').length) : '';
  return name === '' || name !== name.toLowerCase() ? undefined : name;
}

/** Whether somebody asks who may: without it nothing of a request has to be read. */
export const mayAsk = ({ purpose, username }: SigningRequest): boolean =>
  purpose === 'client' ? username === nodeBootstrapper.username : username.startsWith(userOf(''));

function subjectRefusal(request: CertificateRequest, user: string): Refusal | undefined {
  const { commonNames, organizations, otherSubject, otherNames, otherExtensions } = request;
  const refuse = (reason: string): Refusal => ({ cause: 'subject', reason });
  if (!isOnly(commonNames, user)) {
    return refuse(`its common name is ${listed(commonNames)}, not ${user}`);
  }
  if (!isOnly(organizations, nodesGroup)) {
    return refuse(`its organization is ${listed(organizations)}, not ${nodesGroup}`);
  }
  if (otherSubject.length > 0) return refuse(`its subject has ${listed(otherSubject)} too`);
  if (otherNames.length > 0) {
    return refuse(`it asks for alternative names of kind ${listed(otherNames)}`);
  }
  if (otherExtensions.length > 0)
    return refuse(`it asks for extensions ${listed(otherExtensions)}`);
  return undefined;
}

function clientRefusal(asked: SigningRequest, request: CertificateRequest): Refusal | undefined {
  if (asked.username !== nodeBootstrapper.username) return requestorRefusal(asked);
  const groups = groupsRefusal(asked, nodeBootstrapper.groups);
  if (groups !== undefined) return groups;
  if (!areUsages(asked.usages, 'client auth')) return usageRefusal(asked);
  const names = [...request.dnsNames, ...request.addresses];
  return names.length === 0 ? undefined : namesRefusal(`the alternative names ${listed(names)}`);
}

function servingRefusal(
  asked: SigningRequest,
  request: CertificateRequest,
  node: string,
): Refusal | undefined {
  if (asked.username !== userOf(node)) return requestorRefusal(asked);
  const groups = groupsRefusal(asked, [nodesGroup]);
  if (groups !== undefined) return groups;
  if (!areUsages(asked.usages, 'server auth')) return usageRefusal(asked);
  const otherNames = request.dnsNames.filter((dns) => dns.toLowerCase() !== node);
  if (otherNames.length > 0) return namesRefusal(`the names ${listed(otherNames)}`);
  return request.addresses.length === 0 ? namesRefusal('no address') : undefined;
}

/** Why a request is not approved for its key; undefined where it is. */
export function keyRefusal({ checkKey }: CertificateRequest): Refusal | undefined {
  const { isStrong, isSigned } = checkKey();
  const refuse = (reason: string): Refusal => ({ cause: 'key', reason });
  if (!isStrong) return refuse('its key is weaker than RSA of 2048 bits or EC P-256');
  return isSigned ? undefined : refuse('its signature is not that of its key');
}

const requestorRefusal = ({ username }: SigningRequest): Refusal => ({
  cause: 'requestor',
  reason: `${username} asks for it`,
});

/** The group of everybody whom the API server knows. */
const authenticated = 'system:authenticated';

/** A kubelet and its bootstrapper are of these groups and of no other (cluster-machine-approver, same rule). */
function groupsRefusal({ groups }: SigningRequest, wanted: readonly string[]): Refusal | undefined {
  const refuse = (reason: string): Refusal => ({ cause: 'requestor', reason });
  const missing = wanted.filter((group) => !groups.includes(group));
  if (missing.length > 0) return refuse(`who asks is not of the group ${listed(missing)}`);
  const other = groups.filter((group) => group !== authenticated && !wanted.includes(group));
  return other.length === 0 ? undefined : refuse(`who asks is of the group ${listed(other)} too`);
}

const namesRefusal = (what: string): Refusal => ({ cause: 'names', reason: `it asks for ${what}` });

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

const usageRefusal = ({ usages }: SigningRequest): Refusal => ({
  cause: 'usages',
  reason: `it asks for the usages ${listed(usages)}`,
});

const listed = (values: readonly string[]): string =>
  values.length === 0 ? 'none' : values.join(', ');
