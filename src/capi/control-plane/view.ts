import { type Informer, informer } from '../../kube/informer.ts';
import { jobs, secretMetadata, secrets } from '../../kube/kinds.ts';
import { hours, type Millis } from '../../model/duration.ts';
import { ladders, type Stage, stages } from '../../model/stage.ts';
import type { Kube, KubeKind, KubeObject, KubeSelection } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import {
  assetsSecretName,
  type BootstrapConfig,
  bootstrapConfigs,
  type CapiCluster,
  capiMachines,
  capiNames,
  clusters,
  controlPlanes,
  kubeconfigSecretName,
  type Machine,
  machineHealthChecks,
  type OpenShiftControlPlane,
  type OwnedMetadata,
  type OwnerReference,
  ownNames,
} from '../api.ts';
import { isConditionTrue } from '../conditions.ts';
import { coreOwner, isClusterPaused, isControlledBy, objectKey, secretText } from '../objects.ts';
import { assetsApp } from './installer.ts';

/** A host of the control plane. */
export interface ControlPlaneHost {
  readonly machine: Machine;
  readonly config: BootstrapConfig | undefined;
  readonly isBootstrap: boolean;
  readonly isDeleting: boolean;
  /** Empty before the host's first report. */
  readonly stage: Stage | '';
}

/** A control plane with the objects on which its decisions depend, and derived facts. */
export type ControlPlaneView = ReturnType<typeof viewOf>;

/**
 * Makes the informers of all control planes and of the objects on which their decisions depend, for
 * one namespace or for all.
 */
export function controlPlaneStores(
  ports: Pick<Ports, 'kube' | 'clock'>,
  namespace: string | undefined,
) {
  const all = (selection: KubeSelection): Informer => informer(ports, { ...selection, namespace });
  const byNamespace = (kind: KubeKind): Informer<'namespace'> =>
    informer(ports, { kind, namespace }, { namespace: (one) => [one.metadata.namespace ?? ''] });
  /** Indexed by namespace and cluster. */
  const byCluster = (selection: KubeSelection): Informer<'cluster'> =>
    informer(ports, { ...selection, namespace }, { cluster: clusterKeysOf });
  return {
    controlPlanes: byNamespace(controlPlanes),
    healthChecks: byNamespace(machineHealthChecks),
    clusters: all({ kind: clusters }),
    machines: byCluster({ kind: capiMachines }),
    configs: byCluster({ kind: bootstrapConfigs }),
    // Metadata of the Secrets of clusters, which hold installers' files and hosts' data.
    secrets: all({ kind: secretMetadata, labelSelector: capiNames.clusterName }),
    manifests: all({ kind: secretMetadata, labelSelector: ownNames.installManifests }),
    installStates: all({ kind: secretMetadata, labelSelector: ownNames.installState }),
    // Jobs of the installer.
    jobs: byCluster({ kind: jobs, labelSelector: `app=${assetsApp}` }),
  };
}

export type ControlPlaneStores = ReturnType<typeof controlPlaneStores>;

const clusterKeysOf = (object: KubeObject): readonly string[] => {
  const cluster = object.metadata.labels?.[capiNames.clusterName];
  return cluster === undefined ? [] : [objectKey(object, cluster)];
};

/** The Cluster that owns a control plane. */
export const clusterOwner = ({ metadata }: OpenShiftControlPlane): OwnerReference | undefined =>
  coreOwner(metadata, 'Cluster');

/** The view of a control plane from the informers. */
export function storedControlPlane(
  stores: ControlPlaneStores,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  now: number,
): ControlPlaneView | undefined {
  const controlPlane = stores.controlPlanes.get(name, namespace);
  if (controlPlane === undefined) return undefined;
  const owner = clusterOwner(controlPlane as OpenShiftControlPlane)?.name ?? '';
  const key = objectKey(controlPlane, owner);
  return viewOf(
    {
      controlPlane: controlPlane as OpenShiftControlPlane,
      cluster: stores.clusters.get(owner, namespace),
      machines: stores.machines.by('cluster', key),
      configs: stores.configs.by('cluster', key),
      assets: stores.secrets.get(assetsSecretName(name), namespace),
      kubeconfig: stores.secrets.get(kubeconfigSecretName(owner), namespace),
    },
    now,
  );
}

/** The view by requests; undefined if the control plane is gone, or another one has its name. */
export async function readControlPlane(
  kube: Pick<Kube, 'get' | 'list'>,
  { metadata: { name, namespace = '', uid } }: OpenShiftControlPlane,
  now: number,
  signal: AbortSignal,
): Promise<ControlPlaneView | undefined> {
  const one = (kind: KubeKind, named: string): Promise<KubeObject | undefined> =>
    kube.get({ kind, namespace, name: named }, signal);
  const controlPlane = (await one(controlPlanes, name)) as OpenShiftControlPlane | undefined;
  if (controlPlane?.metadata.uid !== uid || controlPlane === undefined) return undefined;
  const owner = clusterOwner(controlPlane)?.name;
  const labelSelector = `${capiNames.clusterName}=${owner ?? ''}`;
  const listed = async (kind: KubeKind): Promise<readonly KubeObject[]> =>
    owner === undefined ? [] : kube.list({ kind, namespace, labelSelector }, signal);
  const [cluster, machines, configs, assets, kubeconfig] = await Promise.all([
    owner === undefined ? undefined : one(clusters, owner),
    listed(capiMachines),
    listed(bootstrapConfigs),
    one(secretMetadata, assetsSecretName(name)),
    owner === undefined ? undefined : one(secretMetadata, kubeconfigSecretName(owner)),
  ]);
  return viewOf({ controlPlane, cluster, machines, configs, assets, kubeconfig }, now);
}

/**
 * A key of the Secret with the installer's files; undefined if another Secret has its name by now.
 */
export async function readAsset(
  kube: Pick<Kube, 'get'>,
  { assets }: Pick<ControlPlaneView, 'assets'>,
  key: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (assets === undefined) return undefined;
  const { name, namespace = '', uid } = assets.metadata;
  const secret = await kube.get({ kind: secrets, namespace, name }, signal);
  return secret?.metadata.uid === uid ? secretText(secret, key) : undefined;
}

/**
 * Lifetime of a bootstrap's certificates (openshift/installer, `pkg/asset/tls`, ValidityOneDay).
 */
export const assetsLifetime: Millis = hours(24);

/** Part of the lifetime that a bootstrap needs for its own end. */
const assetsReserve: Millis = hours(2);

/** The objects of a control plane from the API server. */
interface ControlPlaneObjects {
  readonly controlPlane: OpenShiftControlPlane;
  /** The owner; undefined until core has set it. */
  readonly cluster: CapiCluster | undefined;
  readonly machines: readonly KubeObject[];
  readonly configs: readonly KubeObject[];
  /** Metadata of the Secret with the installer's files, of any control plane of that name. */
  readonly assets: KubeObject | undefined;
  /** Metadata of the kubeconfig's Secret, from the provider or from a user. */
  readonly kubeconfig: KubeObject | undefined;
}

/** Derives the facts of a control plane from its objects at the time of the decision. */
export function viewOf(objects: ControlPlaneObjects, now: number) {
  const { controlPlane, cluster, assets } = objects;
  const { metadata, spec, status } = controlPlane;
  const configs: ReadonlyMap<string, BootstrapConfig> = new Map(
    (objects.configs as readonly BootstrapConfig[]).map((one) => [one.metadata.name, one]),
  );
  const allMachines = objects.machines as readonly Machine[];
  const hosts = allMachines
    .filter((machine) => isControlledBy(machine, metadata.uid))
    .map((machine) => hostOf(machine, configs));
  const bootstrap = hosts.find(({ isBootstrap }) => isBootstrap);
  const hasAssets = areOwnAssets(controlPlane, assets);
  const kubeconfig = usableKubeconfig(controlPlane, objects.kubeconfig);
  const isBootstrapComplete = isComplete(controlPlane, bootstrap);
  const isBootstrapReady = isBootstrapComplete || isReady(controlPlane, kubeconfig, bootstrap);
  return {
    now,
    controlPlane,
    cluster,
    /** All Machines of the cluster, and its configs by name. */
    allMachines,
    configs,
    assets,
    kubeconfig,
    /** The hosts of this control plane, including hosts that are being deleted. */
    hosts,
    bootstrap,
    replicas: spec.replicas ?? 3,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isPaused: isClusterPaused(cluster, controlPlane),
    isInfrastructureReady: isInfrastructureReady(cluster),
    /** Whether the Secret with the installer's files belongs to this control plane. */
    hasAssets,
    /** The files are gone, and hosts may have used them: new files would not match. */
    areAssetsLost: !hasAssets && (isBootstrapReady || hosts.some(({ stage }) => stage !== '')),
    /** The certificates of the bootstrap are too old to begin with. */
    areAssetsExpired: hasAssets && !isBootstrapReady && isExpired(assets, now),
    /** Whether the bootstrap host has a control plane that others can join. */
    isBootstrapReady,
    isBootstrapComplete,
    /**
     * The bootstrap host is gone after other hosts may have started with it: the installation
     * cannot continue.
     */
    isBootstrapLost: isBootstrapReady && !isBootstrapComplete && bootstrap === undefined,
    isInitialized: status?.initialization?.controlPlaneInitialized ?? false,
  };
}

function hostOf(machine: Machine, configs: ReadonlyMap<string, BootstrapConfig>): ControlPlaneHost {
  const { name, annotations, deletionTimestamp } = machine.metadata;
  const config = configs.get(machine.spec.bootstrap.configRef?.name ?? name);
  return {
    machine,
    config,
    isBootstrap: annotations?.[ownNames.role] === 'bootstrap',
    isDeleting: deletionTimestamp !== undefined,
    stage: stages.find((one) => one === config?.status?.progress?.stage) ?? '',
  };
}

/** Whether the Secret belongs to this control plane, rather than to an earlier one. */
const areOwnAssets = (
  { metadata: { uid } }: OpenShiftControlPlane,
  assets: KubeObject | undefined,
): boolean =>
  assets?.metadata.annotations?.[ownNames.inputsHash] !== undefined &&
  ownerUidsOf(assets).includes(uid);

/** The kubeconfig of an earlier control plane of this name is not used. */
const usableKubeconfig = (
  { metadata: { uid } }: OpenShiftControlPlane,
  found: KubeObject | undefined,
): KubeObject | undefined =>
  found && (ownerUidsOf(found).length === 0 || isControlledBy(found, uid)) ? found : undefined;

const ownerUidsOf = ({ metadata }: KubeObject): readonly (string | undefined)[] =>
  ((metadata as OwnedMetadata).ownerReferences ?? []).map(({ uid }) => uid);

const isInfrastructureReady = (cluster: CapiCluster | undefined): boolean =>
  cluster?.status?.initialization?.infrastructureProvisioned === true &&
  (cluster.spec?.controlPlaneEndpoint?.host ?? '') !== '';

// clusterctl moves Secrets and annotations with a cluster, but not a status. The kubeconfig is
// published once the API has answered, and an annotation records the end of the bootstrap.
const isComplete = (
  { metadata, spec }: OpenShiftControlPlane,
  bootstrap: ControlPlaneHost | undefined,
): boolean =>
  metadata.annotations?.[ownNames.bootstrapComplete] !== undefined ||
  hasReached(bootstrap, 'Rebooting', spec.replicas) ||
  bootstrap?.machine.status?.nodeRef !== undefined;

function isReady(
  { metadata: { uid }, status, spec: { replicas } }: OpenShiftControlPlane,
  kubeconfig: KubeObject | undefined,
  bootstrap: ControlPlaneHost | undefined,
): boolean {
  const first = replicas === 1 ? 'Waiting for bootkube' : 'Waiting for control plane';
  return (
    (kubeconfig !== undefined && isControlledBy(kubeconfig, uid)) ||
    isConditionTrue(status?.conditions, 'BootstrapReady') ||
    hasReached(bootstrap, first, replicas)
  );
}

function hasReached(
  bootstrap: ControlPlaneHost | undefined,
  wanted: Stage,
  replicas: number | undefined,
): boolean {
  const { stage = '' } = bootstrap ?? {};
  const ladder = ladders[replicas === 1 ? 'single-node' : 'bootstrap'];
  return stage !== '' && stage !== 'Failed' && ladder.indexOf(stage) >= ladder.indexOf(wanted);
}

function isExpired(assets: KubeObject | undefined, now: number): boolean {
  const generatedAt = Date.parse(assets?.metadata.annotations?.[ownNames.generatedAt] ?? '');
  return now > generatedAt + assetsLifetime - assetsReserve;
}
