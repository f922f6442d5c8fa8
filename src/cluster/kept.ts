import type { KubeKind, KubeObject } from '../ports/kube.ts';
import { kubeletSigners, requestState } from './csr/signing-request.ts';

/** Members of an object's spec and status that are read; all of one that is left out. */
interface Kept {
  readonly spec?: readonly string[];
  readonly status?: readonly string[];
}

/** The kinds of which a cluster has many, or large ones. */
const keptOf: Readonly<Record<string, Kept>> = {
  nodes: { status: ['conditions', 'addresses'] },
  'clusteroperators.config.openshift.io': { spec: [], status: ['conditions', 'versions'] },
  // A CSV has the icon and the deployments of its operator, an install plan all that is installed.
  'clusterserviceversions.operators.coreos.com': {
    spec: ['version'],
    status: ['phase', 'reason', 'message'],
  },
  'installplans.operators.coreos.com': {
    spec: ['clusterServiceVersionNames', 'approved'],
    status: ['phase', 'conditions'],
  },
  'machines.machine.openshift.io': { spec: [], status: ['phase', 'nodeRef'] },
};

const requests = 'certificatesigningrequests.certificates.k8s.io';
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * What the controller keeps of an object that it follows: with 1,000 nodes and 10,000 requests for certificates it may
 * take 80 MiB in all. Who changes an object as a whole reads it first.
 */
export function kept(kind: KubeKind, object: KubeObject): KubeObject {
  const name = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
  const lean = withoutLastApplied(object);
  if (name === requests) return keptRequest(lean);
  const members = keptOf[name];
  if (members === undefined) return lean;
  const parts = Object.entries(members).map(([part, names]: [string, readonly string[]]) => [
    part,
    picked(lean[part], names),
  ]);
  return { ...lean, ...Object.fromEntries(parts) } as KubeObject;
}

function withoutLastApplied(object: KubeObject): KubeObject {
  const { annotations } = object.metadata;
  if (annotations?.[lastApplied] === undefined) return object;
  const { [lastApplied]: _, ...others } = annotations;
  return { ...object, metadata: { ...object.metadata, annotations: others } };
}

/** A kubelet's has a thousand letters; anyone who may make requests could fill the memory with others. */
const longestRequest = 16 * 1024;

/**
 * Of one that waits for a decision what that is made by: who sends it back need not send its spec, as only its
 * conditions can change. Of the others nothing is read but the decision; by its key, though, a kubelet's first
 * certificate is known after a restart.
 */
function keptRequest(object: KubeObject): KubeObject {
  const { metadata, spec, status, ...type } = object;
  const { request, signerName } = Object(spec) as Readonly<Record<string, unknown>>;
  const isHuge = typeof request === 'string' && request.length > longestRequest;
  const state = requestState(object);
  const isRead =
    !isHuge &&
    (state === 'pending' || (state === 'approved' && signerName === kubeletSigners.client));
  const who = ['signerName', 'username', ...(isRead ? ['groups', 'usages'] : [])];
  const lean = new RequestSpec(shared(picked(spec, who)), isRead ? request : '');
  if (state === 'pending')
    return { ...shared(type), metadata, spec: lean, ...(status ? { status } : {}) };
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const { conditions } = Object(status) as { readonly conditions: readonly object[] };
  return {
    ...shared(type),
    metadata: { name, uid, resourceVersion, creationTimestamp } as KubeObject['metadata'],
    spec: lean,
    status: shared({ conditions: conditions.map((one) => picked(one, ['type', 'status'])) }),
  };
}

/** Of a request that is kept. */
class RequestSpec {
  request: unknown;

  constructor(fields: object, request: unknown) {
    Object.assign(this, fields);
    this.request = request;
  }
}

/**
 * Lets go of the text of a request that was read: it is larger than all else that is kept of one. Nothing else of an
 * object that is followed ever changes.
 */
export function dropText({ spec }: KubeObject): void {
  if (spec instanceof RequestSpec) spec.request = '';
}

const known = new Map<string, unknown>();

/** How many different ones are remembered: anyone who may make requests could fill the memory with others. */
const mostKnown = 1000;

/** What is equal is held once: ten thousand kubelets name the same signer, user, groups and usages. */
function shared<T>(value: T): T {
  const text = JSON.stringify(value);
  const found = known.get(text);
  if (found !== undefined) return found as T;
  if (known.size < mostKnown) known.set(text, value);
  return value;
}

function picked(value: unknown, names: readonly string[]): Readonly<Record<string, unknown>> {
  const members = Object.entries(Object(value) as Readonly<Record<string, unknown>>);
  return Object.fromEntries(members.filter(([name]) => names.includes(name)));
}
