import { createHash } from 'node:crypto';
import type { KubeObject } from '../../ports/kube.ts';
import {
  bootstrapConfigType,
  capiNames,
  type CapiCluster,
  type OpenShiftControlPlane,
  controlPlaneType,
  type MachineMetadata,
  machineType,
  type OwnerReference,
  ownNames,
} from '../api.ts';

/** A Machine that is to be made. */
export interface NewMachine {
  readonly controlPlane: OpenShiftControlPlane;
  readonly cluster: CapiCluster;
  readonly name: string;
  readonly isBootstrap: boolean;
  readonly failureDomain: string | undefined;
  /** What is kept of the master that it follows. */
  readonly remediationFor: string | undefined;
}

/** Names of hosts are labels of DNS. */
const longestName = 63;

/** The beginning of a name, which ends as a name may. */
export const beginOf = (name: string, length = longestName): string =>
  name.slice(0, length).replace(/[-.]{1,63}$/, '');

/**
 * The name of the Machine with an index: always the same, so that none is made twice from a view
 * that is late.
 */
export function machineName(
  { metadata: { name, uid = '' } }: OpenShiftControlPlane,
  index: number,
): string {
  const hash = createHash('sha256').update(`${uid}/${index}`).digest();
  const number = hash.readUIntBE(0, 6) % 36 ** 5;
  return `${beginOf(name, longestName - 6)}-${number.toString(36).padStart(5, '0')}`;
}

/**
 * As a label the name of a control plane (Cluster API, `format.MustFormatValue`: a hash where it is
 * too long).
 */
const nameLabel = (name: string): string =>
  name.length <= longestName
    ? name
    : `hash_${createHash('sha256').update(name).digest('hex').slice(0, 16)}_z`;

/**
 * Labels by which the Machines of a control plane are known, with their configs and infrastructure
 * machines.
 */
export const ownLabels = (
  { metadata: { name } }: OpenShiftControlPlane,
  cluster: string,
): Readonly<Record<string, string>> => ({
  [capiNames.clusterName]: cluster,
  [capiNames.controlPlane]: '',
  [capiNames.controlPlaneName]: nameLabel(name),
});

/** The same as a selector. */
export const ownSelector = (controlPlane: OpenShiftControlPlane, cluster: string): string =>
  Object.entries(ownLabels(controlPlane, cluster))
    .map(([label, value]) => `${label}=${value}`)
    .join();

/** The control plane as an owner; of a Machine and of Secrets it is the controller. */
export const ownerOf = (
  { metadata: { name, uid = '' } }: OpenShiftControlPlane,
  isController: boolean,
): OwnerReference => ({
  ...controlPlaneType,
  name,
  uid,
  ...(isController ? { controller: true, blockOwnerDeletion: true } : {}),
});

const reserved: readonly string[] = [
  capiNames.clusterName,
  capiNames.controlPlane,
  capiNames.controlPlaneName,
];

/**
 * Labels or annotations that a user gives to what is made for a host, without those that say whose
 * a Machine is, and which host. What is there is not changed by them later.
 */
const unreserved = (entries: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(
    Object.entries(entries).filter(
      ([key]) => !key.startsWith('bootwright.io/') && !reserved.includes(key),
    ),
  );

function metadataOf({ controlPlane, cluster, name }: NewMachine, isController: boolean) {
  const { labels, annotations } = controlPlane.spec.machineTemplate.metadata ?? {};
  return {
    name,
    namespace: controlPlane.metadata.namespace ?? '',
    labels: { ...unreserved(labels), ...ownLabels(controlPlane, cluster.metadata.name) },
    annotations: unreserved(annotations),
    ownerReferences: [ownerOf(controlPlane, isController)],
  };
}

/** How a host is installed; the Machine becomes its controller, which core sees to. */
export const configOf = (machine: NewMachine): KubeObject => ({
  ...bootstrapConfigType,
  metadata: metadataOf(machine, false),
  spec: machine.controlPlane.spec.configSpec,
});

/** Kind of a template without the word. */
export const clonedKind = (template: string): string => template.replace(/Template$/, '');

/** An infrastructure machine of a template (Cluster API, `external.CreateFromTemplate`). */
export function cloneOf(machine: NewMachine, template: KubeObject): KubeObject {
  const { infrastructureRef } = machine.controlPlane.spec.machineTemplate.spec;
  const { template: inner = {} } = template['spec'] as {
    readonly template?: { readonly metadata?: MachineMetadata; readonly spec?: object };
  };
  const own = metadataOf(machine, false);
  return {
    apiVersion: template.apiVersion ?? '',
    kind: clonedKind(infrastructureRef.kind),
    metadata: {
      ...own,
      labels: { ...inner.metadata?.labels, ...own.labels },
      annotations: {
        ...inner.metadata?.annotations,
        ...own.annotations,
        [capiNames.clonedFromName]: infrastructureRef.name,
        [capiNames.clonedFromGroupKind]: `${infrastructureRef.kind}.${infrastructureRef.apiGroup}`,
      },
    },
    spec: inner.spec ?? {},
  };
}

/** A Machine of a host. Members that are undefined are not sent. */
export function machineOf(machine: NewMachine): KubeObject {
  const { controlPlane, cluster, name, isBootstrap, failureDomain, remediationFor } = machine;
  const { infrastructureRef, ...given } = controlPlane.spec.machineTemplate.spec;
  const metadata = metadataOf(machine, true);
  const [apiGroup = ''] = bootstrapConfigType.apiVersion.split('/');
  return {
    ...machineType,
    metadata: {
      ...metadata,
      annotations: {
        ...metadata.annotations,
        ...(isBootstrap && { [ownNames.role]: 'bootstrap' }),
        ...(remediationFor !== undefined && { [ownNames.remediationFor]: remediationFor }),
      },
    },
    spec: {
      ...given,
      clusterName: cluster.metadata.name,
      bootstrap: { configRef: { apiGroup, kind: bootstrapConfigType.kind, name } },
      infrastructureRef: {
        apiGroup: infrastructureRef.apiGroup,
        name,
        kind: clonedKind(infrastructureRef.kind),
      },
      failureDomain,
      minReadySeconds: 0,
    },
  };
}

/**
 * The failure domain with the fewest Machines; undefined where the infrastructure has none for
 * control planes.
 */
export function leastUsedDomain(
  { status }: CapiCluster,
  machines: readonly (string | undefined)[],
): string | undefined {
  const domains = (status?.failureDomains ?? [])
    .filter(({ controlPlane }) => controlPlane === true)
    .map(({ name }) => ({ name, used: machines.filter((one) => one === name).length }))
    .sort((one, other) => one.used - other.used || (one.name < other.name ? -1 : 1));
  return domains[0]?.name;
}
