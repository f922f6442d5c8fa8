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

/** Inputs of a new Machine. */
export interface NewMachine {
  readonly controlPlane: OpenShiftControlPlane;
  readonly cluster: CapiCluster;
  readonly name: string;
  readonly isBootstrap: boolean;
  readonly failureDomain: string | undefined;
  /** Record of the master that it replaces. */
  readonly remediationFor: string | undefined;
}

/** Host names are DNS labels. */
const longestName = 63;

/** The beginning of a name, cut so that it ends validly. */
export const beginOf = (name: string, length = longestName): string =>
  name.slice(0, length).replace(/[-.]{1,63}$/, '');

/**
 * The name of the Machine with an index. It is deterministic, so that a late view does not lead to
 * a second Machine.
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
 * Labels that identify the Machines of a control plane, with their configs and infrastructure
 * machines.
 */
export const ownLabels = (
  { metadata: { name } }: OpenShiftControlPlane,
  cluster: string,
): Readonly<Record<string, string>> => ({
  [capiNames.clusterName]: cluster,
  [capiNames.controlPlane]: '',
  // The definition of the control plane limits its name to the length of a label.
  [capiNames.controlPlaneName]: name,
});

/** The same labels as a selector. */
export const ownSelector = (controlPlane: OpenShiftControlPlane, cluster: string): string =>
  Object.entries(ownLabels(controlPlane, cluster))
    .map(([label, value]) => `${label}=${value}`)
    .join();

/** The owner reference to a control plane; it is the controller of Machines and Secrets. */
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
 * A user's labels or annotations for a host's objects, without those that identify a Machine or its
 * owner.
 */
const withoutReserved = (entries: Readonly<Record<string, string>> = {}) =>
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
    labels: { ...withoutReserved(labels), ...ownLabels(controlPlane, cluster.metadata.name) },
    annotations: withoutReserved(annotations),
    ownerReferences: [ownerOf(controlPlane, isController)],
  };
}

/** The config of a host. Core makes the Machine its controller. */
export const configOf = (machine: NewMachine): KubeObject => ({
  ...bootstrapConfigType,
  metadata: metadataOf(machine, false),
  spec: machine.controlPlane.spec.configSpec,
});

/** Kind of a template without the suffix `Template`. */
export const clonedKind = (template: string): string => template.replace(/Template$/, '');

/**
 * Clones an infrastructure machine from a template (Cluster API, `external.CreateFromTemplate`).
 */
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

/** The Machine of a host. Undefined members are not sent. */
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
 * The failure domain with the fewest Machines; undefined if the infrastructure has none for control
 * planes.
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
