import type { KubeKind, KubeObject } from '../ports/kube.ts';
import { readRequest } from '../cluster/csr/read-request.ts';

/**
 * Fields of an object's spec and status that are read; a part without an entry is kept as a whole.
 */
interface KeptFields {
  readonly spec?: readonly string[];
  readonly status?: readonly string[];
}

/** Kinds with many or large objects in a cluster. */
const keptOf: Readonly<Record<string, KeptFields>> = {
  nodes: { status: ['conditions', 'addresses'] },
  'clusteroperators.config.openshift.io': { spec: [], status: ['conditions', 'versions'] },
  // A CSV contains the icon and the deployments of its operator, an install plan all installed
  // objects.
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
 * The parts of a followed object that the controller keeps: with 1,000 nodes and 10,000 certificate
 * requests it may use 128 MiB in total. To change a whole object, read it first.
 */
export function trimObject(kind: KubeKind, object: KubeObject): KubeObject {
  const name = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
  // The text of a request is larger than the rest of it.
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
 * Removes the Ignitions of a cluster and of its hosts; code that needs one reads it. `format` is
 * beside the bootstrap data of a host (Cluster API).
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
