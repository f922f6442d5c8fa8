import { secrets as secretKind } from '../../kube/kinds.ts';
import { textAt } from '../../kube/object.ts';
import type { LadderName } from '../../model/stage.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import { informer } from '../../kube/informer.ts';
import {
  type BootstrapConfig,
  bootstrapConfigs,
  bootstrapConfigType,
  capiMachines,
  capiNames,
  clusters,
  controlPlanes,
  controlPlaneType,
  type OpenShiftControlPlane,
  ownNames,
} from '../api.ts';
import { coreOwner, objectKey } from '../objects.ts';
import type { MachineRole } from './ignition.ts';

/**
 * Makes the informers of the provider, for one namespace or for all. All objects of a config are in
 * its namespace.
 */
export const bootstrapStores = (ports: Pick<Ports, 'kube' | 'clock'>, namespace?: string) => ({
  configs: informer(
    ports,
    { kind: bootstrapConfigs, namespace },
    { uid: (one) => [one.metadata.uid ?? ''] },
  ),
  /** Indexed by their Cluster. */
  machines: informer(
    ports,
    { kind: capiMachines, namespace },
    { cluster: (machine) => [objectKey(machine, textAt(machine, 'spec', 'clusterName'))] },
  ),
  clusters: informer(ports, { kind: clusters, namespace }),
  controlPlanes: informer(ports, { kind: controlPlanes, namespace }),
  /** Tokens of agents, indexed by their hash. */
  tokens: informer(
    ports,
    { kind: secretKind, labelSelector: ownNames.agentToken, namespace },
    { hash: (secret) => [textAt(secret, 'data', tokenKeys.hash)] },
  ),
});

export type BootstrapStores = ReturnType<typeof bootstrapStores>;

/** Keys of the Secret with the token of an agent. */
export const tokenKeys = { token: 'token', hash: 'sha256' } as const;

/** The name of the config to which a Machine refers; empty for another provider's config. */
export function configNameOf(machine: KubeObject): string {
  const ref = (name: string): string => textAt(machine, 'spec', 'bootstrap', 'configRef', name);
  return ref('kind') === bootstrapConfigType.kind ? ref('name') : '';
}

/** A config with its Machine, and the Machine's Cluster and control plane. */
export interface ConfigView {
  readonly role: MachineRole;
  readonly config: BootstrapConfig;
  readonly machine: KubeObject;
  readonly cluster: KubeObject;
  readonly controlPlane: OpenShiftControlPlane | undefined;
}

/**
 * The objects that decide about a config, from the stores. Undefined if no Machine owns it, as for
 * the config of a template, or if its Machine or its Cluster is gone.
 */
export function configView(
  config: BootstrapConfig,
  { machines, clusters: all, controlPlanes: planes }: BootstrapStores,
): ConfigView | undefined {
  const { namespace } = config.metadata;
  const machine = machines.get(coreOwner(config.metadata, 'Machine')?.name ?? '', namespace);
  if (machine === undefined) return undefined;
  const cluster = all.get(textAt(machine, 'spec', 'clusterName'), namespace);
  if (cluster === undefined) return undefined;
  const controlPlane = planes.get(controlPlaneNameOf(cluster), namespace);
  return {
    role: roleOf(machine),
    config,
    machine,
    cluster,
    controlPlane: controlPlane as OpenShiftControlPlane | undefined,
  };
}

/** The name of a Cluster's control plane, if it is an OpenShiftControlPlane. */
function controlPlaneNameOf(cluster: KubeObject): string {
  const ref = (name: string): string => textAt(cluster, 'spec', 'controlPlaneRef', name);
  return ref('kind') === controlPlaneType.kind ? ref('name') : '';
}

/** The role of a host, by its Machine alone. */
function roleOf({ metadata: { labels = {}, annotations = {} } }: KubeObject): MachineRole {
  if (labels[capiNames.controlPlane] === undefined) return 'worker';
  return annotations[ownNames.role] === 'bootstrap' ? 'bootstrap' : 'master';
}

/** The order of the stages of a host. */
export function hostLadder({
  machine,
  controlPlane,
}: Pick<ConfigView, 'machine' | 'controlPlane'>): LadderName {
  const role = roleOf(machine);
  return role === 'bootstrap' && controlPlane?.spec.replicas === 1 ? 'single-node' : role;
}

/** The owner of each object that the provider makes for a config. */
export const configOwner = ({ metadata: { name, uid = '' } }: BootstrapConfig) => [
  { ...bootstrapConfigType, name, uid, controller: true, blockOwnerDeletion: true },
];
