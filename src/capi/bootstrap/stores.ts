import { secrets as secretKind } from '../../kube/kinds.ts';
import { textAt } from '../../kube/object.ts';
import type { LadderName } from '../../model/stage.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import { type Informer, informer } from '../../kube/informer.ts';
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
import { coreOwner, placed } from '../objects.ts';
import type { MachineRole } from './ignition.ts';

/** What the provider follows, all of it found within its own namespace. */
export interface BootstrapStores {
  readonly configs: Informer<'uid'>;
  /** By their Cluster. */
  readonly machines: Informer<'cluster'>;
  readonly clusters: Informer;
  readonly controlPlanes: Informer;
  /** Tokens of agents, by their hash. */
  readonly tokens: Informer<'hash'>;
}

/** Follows what the provider works with, in one namespace or in all. */
export const bootstrapStores = (
  ports: Pick<Ports, 'kube' | 'clock'>,
  namespace?: string,
): BootstrapStores => ({
  configs: informer(ports, { kind: bootstrapConfigs, namespace }, { uid: (one) => [uidOf(one)] }),
  machines: informer(
    ports,
    { kind: capiMachines, namespace },
    { cluster: (machine) => [placed(machine, textAt(machine, 'spec', 'clusterName'))] },
  ),
  clusters: informer(ports, { kind: clusters, namespace }),
  controlPlanes: informer(ports, { kind: controlPlanes, namespace }),
  tokens: informer(
    ports,
    { kind: secretKind, labelSelector: ownNames.agentToken, namespace },
    { hash: (secret) => [textAt(secret, 'data', tokenKeys.hash)] },
  ),
});

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? '';

/** Keys of the Secret with the token of an agent. */
export const tokenKeys = { token: 'token', hash: 'sha256' } as const;

/** The name of the config that a Machine refers to; empty for one of another provider. */
export function configNameOf(machine: KubeObject): string {
  const ref = (name: string): string => textAt(machine, 'spec', 'bootstrap', 'configRef', name);
  return ref('kind') === bootstrapConfigType.kind ? ref('name') : '';
}

/** A config with the Machine that owns it, and what that belongs to. */
export interface ConfigView {
  readonly config: BootstrapConfig;
  readonly machine: KubeObject;
  readonly cluster: KubeObject;
  readonly controlPlane: OpenShiftControlPlane | undefined;
}

/**
 * All that decides about a config, as the stores show it. Undefined where no Machine owns it, as
 * for the config of a template, or where its Machine or its Cluster has vanished.
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
    config,
    machine,
    cluster,
    controlPlane: controlPlane as OpenShiftControlPlane | undefined,
  };
}

/** The name of the control plane of a Cluster, where it is one of our kind. */
function controlPlaneNameOf(cluster: KubeObject): string {
  const ref = (name: string): string => textAt(cluster, 'spec', 'controlPlaneRef', name);
  return ref('kind') === controlPlaneType.kind ? ref('name') : '';
}

/** The role of a host, from its Machine alone. */
export function roleOf({ metadata: { labels = {}, annotations = {} } }: KubeObject): MachineRole {
  if (labels[capiNames.controlPlane] === undefined) return 'worker';
  return annotations[ownNames.role] === 'bootstrap' ? 'bootstrap' : 'master';
}

/** The order of the stages of a host. */
export function hostLadder({
  machine,
  controlPlane,
}: Omit<ConfigView, 'config' | 'cluster'>): LadderName {
  const role = roleOf(machine);
  return role === 'bootstrap' && controlPlane?.spec.replicas === 1 ? 'single-node' : role;
}

/** The one owner of an object that we make for a config. */
export const configOwner = ({ metadata: { name, uid = '' } }: BootstrapConfig) => [
  { ...bootstrapConfigType, name, uid, controller: true, blockOwnerDeletion: true },
];
