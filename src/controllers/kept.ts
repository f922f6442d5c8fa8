import type { KubeKind, KubeObject } from '../ports/kube.ts';
import { readRequest } from '../cluster/csr/read-request.ts';

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
 * What the controller keeps of an object that it follows: with 1,000 nodes and 10,000 requests for
 * certificates it may take 128 MiB in all. Who changes an object as a whole reads it first.
 */
export function kept(kind: KubeKind, object: KubeObject): KubeObject {
  const name = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
  // Its text is larger than all else of it.
  if (name === requests) return readRequest(object);
  const lean =
    name === 'secrets' ? withoutIgnition(withoutLastApplied(object)) : withoutLastApplied(object);
  const members = keptOf[name];
  if (members === undefined) return lean;
  const parts = Object.entries(members).map(([part, names]: [string, readonly string[]]) => [
    part,
    picked(lean[part], names),
  ]);
  return { ...lean, ...Object.fromEntries(parts) } as KubeObject;
}

/**
 * Ignitions of a cluster and of its hosts; who needs one reads it. `format` is beside the bootstrap
 * data of a host (Cluster API).
 */
function withoutIgnition(object: KubeObject): KubeObject {
  const data = Object.entries(object['data'] ?? {}) as readonly (readonly [string, string])[];
  const isOfHost = data.some(([key]) => key === 'format');
  const others = data.filter(
    ([key]) => !/\.ign(?:\.gz)?$/.test(key) && !(isOfHost && key === 'value'),
  );
  return others.length === data.length ? object : { ...object, data: Object.fromEntries(others) };
}

function withoutLastApplied(object: KubeObject): KubeObject {
  const { annotations } = object.metadata;
  if (annotations?.[lastApplied] === undefined) return object;
  const { [lastApplied]: _, ...others } = annotations;
  return { ...object, metadata: { ...object.metadata, annotations: others } };
}

function picked(value: unknown, names: readonly string[]): Readonly<Record<string, unknown>> {
  const members = Object.entries(Object(value) as Readonly<Record<string, unknown>>);
  return Object.fromEntries(members.filter(([name]) => names.includes(name)));
}
