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
import { coreOwner, isClusterPaused, isControlledBy, placed, secretText } from '../objects.ts';
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
export interface ControlPlaneView {
  /** The time of the decision. */
  readonly now: number;
  readonly controlPlane: OpenShiftControlPlane;
  /** The owner; undefined until core has set it. */
  readonly cluster: CapiCluster | undefined;
  /** All Machines of the cluster. */
  readonly allMachines: readonly Machine[];
  /** Configs of the cluster by name. */
  readonly configs: ReadonlyMap<string, BootstrapConfig>;
  /** Metadata of the Secret with the installer's files, of any control plane of that name. */
  readonly assets: KubeObject | undefined;
  /** Metadata of the kubeconfig's Secret, from the provider or from a user. */
  readonly kubeconfig: KubeObject | undefined;
  /** The hosts of this control plane, including hosts that are being deleted. */
  readonly hosts: readonly ControlPlaneHost[];
  readonly bootstrap: ControlPlaneHost | undefined;
  readonly replicas: number;
  readonly isDeleting: boolean;
  readonly isPaused: boolean;
  readonly isInfrastructureReady: boolean;
  /** Whether the Secret with the installer's files belongs to this control plane. */
  readonly hasAssets: boolean;
  /** The files are gone, and hosts may have used them: new files would not match. */
  readonly areAssetsLost: boolean;
  /** The certificates of the bootstrap are too old to begin with. */
  readonly areAssetsExpired: boolean;
  /** Whether the bootstrap host has a control plane that others can join. */
  readonly isBootstrapReady: boolean;
  readonly isBootstrapComplete: boolean;
  /**
   * The bootstrap host is gone after other hosts may have started with it: the installation cannot
   * continue.
   */
  readonly isBootstrapLost: boolean;
  readonly isInitialized: boolean;
}

/** Informers of all control planes and of the objects on which their decisions depend. */
export interface ControlPlaneStores {
  /** Indexed by namespace. */
  readonly controlPlanes: Informer<'namespace'>;
  readonly clusters: Informer;
  /** Indexed by namespace and cluster. */
  readonly machines: Informer<'cluster'>;
  readonly configs: Informer<'cluster'>;
  /** Metadata of the Secrets of clusters, which hold installers' files and hosts' data. */
  readonly secrets: Informer;
  readonly manifests: Informer;
  readonly installStates: Informer;
  /** Indexed by namespace. */
  readonly healthChecks: Informer<'namespace'>;
  /** Jobs of the installer, indexed by namespace and cluster. */
  readonly jobs: Informer<'cluster'>;
}

/** Makes the informers for one namespace or for all. */
export function controlPlaneStores(
  ports: Pick<Ports, 'kube' | 'clock'>,
  namespace: string | undefined,
): ControlPlaneStores {
  const all = (selection: KubeSelection): Informer => informer(ports, { ...selection, namespace });
  const byNamespace = (kind: KubeKind): Informer<'namespace'> =>
    informer(ports, { kind, namespace }, { namespace: (one) => [one.metadata.namespace ?? ''] });
  const byCluster = (selection: KubeSelection): Informer<'cluster'> =>
    informer(ports, { ...selection, namespace }, { cluster: clusterKeysOf });
  return {
    controlPlanes: byNamespace(controlPlanes),
    healthChecks: byNamespace(machineHealthChecks),
    clusters: all({ kind: clusters }),
    machines: byCluster({ kind: capiMachines }),
    configs: byCluster({ kind: bootstrapConfigs }),
    secrets: all({ kind: secretMetadata, labelSelector: capiNames.clusterName }),
    manifests: all({ kind: secretMetadata, labelSelector: ownNames.installManifests }),
    installStates: all({ kind: secretMetadata, labelSelector: ownNames.installState }),
    jobs: byCluster({ kind: jobs, labelSelector: `app=${assetsApp}` }),
  };
}

const clusterKeysOf = (object: KubeObject): readonly string[] => {
  const cluster = object.metadata.labels?.[capiNames.clusterName];
  return cluster === undefined ? [] : [placed(object, cluster)];
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
  const key = placed(controlPlane, owner);
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
interface ControlPlaneObjects extends Pick<
  ControlPlaneView,
  'controlPlane' | 'cluster' | 'assets' | 'kubeconfig'
> {
  readonly machines: readonly KubeObject[];
  readonly configs: readonly KubeObject[];
}

/** Derives the facts of a control plane from its objects. */
export function viewOf(objects: ControlPlaneObjects, now: number): ControlPlaneView {
  const { controlPlane, cluster, assets } = objects;
  const { metadata, spec, status } = controlPlane;
  const configs = new Map(
    (objects.configs as readonly BootstrapConfig[]).map((one) => [one.metadata.name, one]),
  );
  const allMachines = objects.machines as readonly Machine[];
  const hosts = allMachines
    .filter((machine) => isControlledBy(machine, metadata.uid))
    .map((machine) => hostOf(machine, configs));
  const bootstrap = hosts.find(({ isBootstrap }) => isBootstrap);
  const replicas = spec.replicas ?? 3;
  const hasAssets = areOwnAssets(controlPlane, assets);
  const kubeconfig = usableKubeconfig(controlPlane, objects.kubeconfig);
  const isBootstrapComplete = isComplete(controlPlane, bootstrap);
  const isBootstrapReady = isBootstrapComplete || isReady(controlPlane, kubeconfig, bootstrap);
  return {
    now,
    controlPlane,
    cluster,
    allMachines,
    configs,
    assets,
    kubeconfig,
    hosts,
    bootstrap,
    replicas,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isPaused: isClusterPaused(cluster, controlPlane),
    isInfrastructureReady: isInfrastructureReady(cluster),
    hasAssets,
    areAssetsLost: !hasAssets && (isBootstrapReady || hosts.some(({ stage }) => stage !== '')),
    areAssetsExpired: hasAssets && !isBootstrapReady && isExpired(assets, now),
    isBootstrapReady,
    isBootstrapComplete,
    isBootstrapLost: isBootstrapReady && !isBootstrapComplete && bootstrap === undefined,
    isInitialized: status?.initialization?.controlPlaneInitialized ?? status?.initialized ?? false,
  };
}

function hostOf(machine: Machine, configs: ControlPlaneView['configs']): ControlPlaneHost {
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
  { metadata, status, spec }: OpenShiftControlPlane,
  bootstrap: ControlPlaneHost | undefined,
): boolean =>
  metadata.annotations?.[ownNames.bootstrapComplete] !== undefined ||
  isConditionTrue(status?.conditions, 'BootstrapComplete') ||
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
