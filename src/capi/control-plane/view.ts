import { jobs, secretMetadata, secrets } from '../../kube/kinds.ts';
import { listAt } from '../../kube/object.ts';
import type { Kube, KubeKind, KubeObject, KubeSelection } from '../../ports/kube.ts';
import { type Informer, informer } from '../../kube/informer.ts';
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
import { assetsApp } from './installer-jobs.ts';
import { coreOwner, isClusterPaused, isControlledBy, placed, secretText } from '../objects.ts';
import { ladders, type Stage, stages } from '../../model/stage.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { type CheckResult, isConditionTrue, wrong } from '../conditions.ts';

/** All that decides about a control plane, as objects of the management cluster show it. */
export interface ControlPlaneView {
  readonly controlPlane: OpenShiftControlPlane;
  /** Its owner; undefined until core has set it. */
  readonly cluster: CapiCluster | undefined;
  /** Those that it made and that are there, also while they are being deleted. */
  readonly machines: readonly Machine[];
  /** All of the cluster. */
  readonly allMachines: readonly Machine[];
  /** Configs of the whole cluster, by their names. */
  readonly configs: ReadonlyMap<string, BootstrapConfig>;
  /**
   * Metadata of the Secret with the installer's files, also of one of an earlier control plane of
   * the name.
   */
  readonly assets: KubeObject | undefined;
  /**
   * Metadata of its Secret, or of one of a user; not of one of an earlier control plane of the
   * name.
   */
  readonly kubeconfig: KubeObject | undefined;
}

/** What is followed for all control planes. */
export interface ControlPlaneStores {
  /** By namespace. */
  readonly controlPlanes: Informer<'namespace'>;
  readonly clusters: Informer;
  /** By namespace and cluster. */
  readonly machines: Informer<'cluster'>;
  readonly configs: Informer<'cluster'>;
  /**
   * Of Secrets of clusters, their metadata alone: they hold the files of installers, and the data
   * of hosts.
   */
  readonly secrets: Informer;
  /** By namespace. */
  readonly manifests: Informer<'namespace'>;
  readonly installStates: Informer;
  /** By namespace. */
  readonly healthChecks: Informer<'namespace'>;
  /** Those of the installer, by namespace and cluster. */
  readonly jobs: Informer<'cluster'>;
}

const clusterOf = (object: KubeObject): readonly string[] => {
  const cluster = object.metadata.labels?.[capiNames.clusterName];
  return cluster === undefined ? [] : [placed(object, cluster)];
};

/** Follows control planes and all that decides about them, in one namespace or in all. */
export function controlPlaneStores(
  ports: Pick<Ports, 'kube' | 'clock'>,
  namespace: string | undefined,
): ControlPlaneStores {
  const within = (selection: KubeSelection): KubeSelection => ({ ...selection, namespace });
  const all = (selection: KubeSelection): Informer => informer(ports, within(selection));
  const byNamespace = (selection: KubeSelection): Informer<'namespace'> =>
    informer(ports, within(selection), { namespace: ({ metadata }) => [metadata.namespace ?? ''] });
  const byCluster = (selection: KubeSelection): Informer<'cluster'> =>
    informer(ports, within(selection), { cluster: clusterOf });
  return {
    controlPlanes: byNamespace({ kind: controlPlanes }),
    healthChecks: byNamespace({ kind: machineHealthChecks }),
    clusters: all({ kind: clusters }),
    machines: byCluster({ kind: capiMachines }),
    configs: byCluster({ kind: bootstrapConfigs }),
    secrets: all({ kind: secretMetadata, labelSelector: capiNames.clusterName }),
    manifests: byNamespace({ kind: secrets, labelSelector: ownNames.installManifests }),
    installStates: all({ kind: secretMetadata, labelSelector: ownNames.installState }),
    jobs: byCluster({ kind: jobs, labelSelector: `app=${assetsApp}` }),
  };
}

/** The Cluster that owns a control plane. */
export const clusterOwner = ({ metadata }: OpenShiftControlPlane): OwnerReference | undefined =>
  coreOwner(metadata, 'Cluster');

/** A control plane as the stores show it. */
export function storedControlPlane(
  stores: ControlPlaneStores,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): ControlPlaneView | undefined {
  const controlPlane = stores.controlPlanes.get(name, namespace) as
    OpenShiftControlPlane | undefined;
  if (controlPlane === undefined) return undefined;
  const owner = clusterOwner(controlPlane)?.name ?? '';
  const key = placed(controlPlane, owner);
  return viewOf(controlPlane, {
    cluster: stores.clusters.get(owner, namespace),
    machines: stores.machines.by('cluster', key),
    configs: stores.configs.by('cluster', key),
    assets: stores.secrets.get(assetsSecretName(name), namespace),
    kubeconfig: stores.secrets.get(kubeconfigSecretName(owner), namespace),
  });
}

/** The same by requests of its own; undefined where it is gone, or another one of its name. */
export async function readControlPlane(
  kube: Pick<Kube, 'get' | 'list'>,
  { metadata: { name, namespace = '', uid } }: OpenShiftControlPlane,
  signal: AbortSignal,
): Promise<ControlPlaneView | undefined> {
  const one = (kind: KubeKind, named: string): Promise<KubeObject | undefined> =>
    kube.get({ kind, namespace, name: named }, signal);
  const controlPlane = (await one(controlPlanes, name)) as OpenShiftControlPlane | undefined;
  if (controlPlane?.metadata.uid !== uid || controlPlane === undefined) return undefined;
  const owner = clusterOwner(controlPlane)?.name;
  const labelSelector = `${capiNames.clusterName}=${owner ?? ''}`;
  const listed = (kind: KubeKind): Promise<readonly KubeObject[]> =>
    owner === undefined
      ? Promise.resolve([])
      : kube.list({ kind, namespace, labelSelector }, signal);
  const [cluster, machines, configs, assets, kubeconfig] = await Promise.all([
    owner === undefined ? undefined : one(clusters, owner),
    listed(capiMachines),
    listed(bootstrapConfigs),
    one(secretMetadata, assetsSecretName(name)),
    owner === undefined ? undefined : one(secretMetadata, kubeconfigSecretName(owner)),
  ]);
  return viewOf(controlPlane, { cluster, machines, configs, assets, kubeconfig });
}

/** A key of the Secret with the installer's files; undefined where it is another Secret by now. */
export async function readAsset(
  kube: Pick<Kube, 'get'>,
  { assets }: Pick<ControlPlaneView, 'assets'>,
  key: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name = '', namespace = '', uid } = assets?.metadata ?? {};
  if (assets === undefined) return undefined;
  const secret = await kube.get({ kind: secrets, namespace, name }, signal);
  return secret?.metadata.uid === uid ? secretText(secret, key) : undefined;
}

function viewOf(
  controlPlane: OpenShiftControlPlane,
  {
    machines,
    configs,
    kubeconfig: found,
    ...parts
  }: Pick<ControlPlaneView, 'cluster' | 'assets' | 'kubeconfig'> &
    Readonly<Record<'machines' | 'configs', readonly KubeObject[]>>,
): ControlPlaneView {
  const allMachines = machines as readonly Machine[];
  const { uid } = controlPlane.metadata;
  const isFree = listAt(found, 'metadata', 'ownerReferences').length === 0;
  return {
    ...parts,
    controlPlane,
    allMachines,
    kubeconfig: found && (isFree || isControlledBy(found, uid)) ? found : undefined,
    machines: allMachines.filter((one) => isControlledBy(one, uid)),
    configs: new Map(
      (configs as readonly BootstrapConfig[]).map((config) => [config.metadata.name, config]),
    ),
  };
}

/** A host of the control plane. */
export interface HostFact {
  readonly machine: Machine;
  readonly config: BootstrapConfig | undefined;
  readonly isBootstrap: boolean;
  readonly isDeleting: boolean;
  /** Empty before its first report. */
  readonly stage: Stage | '';
}

/** What follows from a view alone. */
export interface ControlPlaneFacts {
  readonly isDeleting: boolean;
  readonly isPaused: boolean;
  readonly isInfrastructureReady: boolean;
  /** Whether the Secret with the installer's files is its own. */
  readonly hasAssets: boolean;
  /** They are gone, and hosts may have them: files that were made again would not fit. */
  readonly areAssetsLost: boolean;
  /** Why no bootstrap can be begun with them. */
  readonly unfit: CheckResult | undefined;
  readonly hosts: readonly HostFact[];
  readonly bootstrap: HostFact | undefined;
  /** The bootstrap host has a control plane that others can join. */
  readonly isBootstrapReady: boolean;
  readonly isBootstrapComplete: boolean;
  /** The bootstrap host is gone after others may have begun with it: nothing can continue. */
  readonly isBootstrapLost: boolean;
  readonly isInitialized: boolean;
  readonly replicas: number;
}

/**
 * The installer's certificates of a bootstrap (openshift/installer, `pkg/asset/tls`,
 * ValidityOneDay).
 */
export const assetsLifetime: Millis = hours(24);

/** What is still needed of that to come to the end of a bootstrap. */
export const assetsReserve: Millis = hours(2);

const isAtLeast = (stage: Stage | '', wanted: Stage, ladder: readonly Stage[]): boolean =>
  stage !== '' && stage !== 'Failed' && ladder.indexOf(stage) >= ladder.indexOf(wanted);

/** What follows from a view. */
export function controlPlaneFacts(view: ControlPlaneView, now: number): ControlPlaneFacts {
  const { controlPlane } = view;
  const { metadata, spec, status } = controlPlane;
  const replicas = spec.replicas ?? 3;
  const hosts = view.machines.map((machine) => hostOf(machine, view.configs));
  const bootstrap = hosts.find(({ isBootstrap }) => isBootstrap);
  const reached = bootstrapOf(view, bootstrap, replicas === 1);
  const hasAssets = areOwnAssets(view);
  return {
    hosts,
    bootstrap,
    replicas,
    hasAssets,
    ...reached,
    areAssetsLost:
      !hasAssets && (reached.isBootstrapReady || hosts.some(({ stage }) => stage !== '')),
    isDeleting: metadata.deletionTimestamp !== undefined,
    isPaused: isClusterPaused(view.cluster, controlPlane),
    isInfrastructureReady: isInfrastructureReady(view),
    unfit: hasAssets && !reached.isBootstrapReady ? unfitness(view, now) : undefined,
    isInitialized: status?.initialization?.controlPlaneInitialized ?? status?.initialized ?? false,
  };
}

function unfitness(
  { controlPlane: { spec }, assets }: ControlPlaneView,
  now: number,
): CheckResult | undefined {
  const { annotations = {} } = assets?.metadata ?? {};
  const again = 'delete the Cluster and start again';
  const generatedAt = Date.parse(annotations[ownNames.generatedAt] ?? '');
  if (now > generatedAt + assetsLifetime - assetsReserve)
    return wrong(
      'Expired',
      `the certificates of the bootstrap are too old to begin with; ${again}`,
    );
  return annotations[ownNames.singleNode] === undefined || spec.replicas === 1
    ? undefined
    : wrong('ReplicasChanged', `the files were made for a single node; ${again}`);
}

function isInfrastructureReady({ cluster }: ControlPlaneView): boolean {
  const { initialization } = cluster?.status ?? {};
  const { controlPlaneEndpoint } = cluster?.spec ?? {};
  const hasEndpoint = (controlPlaneEndpoint?.host ?? '') !== '';
  return initialization?.infrastructureProvisioned === true && hasEndpoint;
}

/** How far the bootstrap is, by what is recorded of it or by its host. */
function bootstrapOf(
  view: ControlPlaneView,
  bootstrap: HostFact | undefined,
  isSingleNode: boolean,
): Pick<ControlPlaneFacts, 'isBootstrapReady' | 'isBootstrapComplete' | 'isBootstrapLost'> {
  const ladder = ladders[isSingleNode ? 'single-node' : 'bootstrap'];
  const first = isSingleNode ? 'Waiting for bootkube' : 'Waiting for control plane';
  const hasReached = (stage: Stage): boolean => isAtLeast(bootstrap?.stage ?? '', stage, ladder);
  const isNode = bootstrap?.machine.status?.nodeRef !== undefined;
  const { wasReady, wasComplete } = recorded(view);
  const isBootstrapComplete = wasComplete || hasReached('Rebooting') || isNode;
  const isBootstrapReady = isBootstrapComplete || wasReady || hasReached(first);
  const isBootstrapLost = isBootstrapReady && !isBootstrapComplete && bootstrap === undefined;
  return { isBootstrapReady, isBootstrapComplete, isBootstrapLost };
}

/**
 * A status is not moved with its cluster (clusterctl), Secrets and annotations are: the kubeconfig
 * is published once the API has answered, and the end of the bootstrap is an annotation.
 */
function recorded({ controlPlane, kubeconfig }: ControlPlaneView) {
  const { metadata, status: { conditions } = {} } = controlPlane;
  const isPublished = kubeconfig !== undefined && isControlledBy(kubeconfig, metadata.uid);
  const isRecorded = metadata.annotations?.[ownNames.bootstrapComplete] !== undefined;
  return {
    wasReady: isPublished || isConditionTrue(conditions, 'BootstrapReady'),
    wasComplete: isRecorded || isConditionTrue(conditions, 'BootstrapComplete'),
  };
}

/**
 * Whether the Secret with the installer's files is of this control plane, and not of one before it.
 */
function areOwnAssets({ controlPlane, assets }: ControlPlaneView): boolean {
  const { annotations = {}, ownerReferences = [] }: Partial<OwnedMetadata> = assets?.metadata ?? {};
  const { uid } = controlPlane.metadata;
  return (
    annotations[ownNames.inputsHash] !== undefined &&
    ownerReferences.some((owner) => owner.uid === uid)
  );
}

function hostOf(machine: Machine, configs: ControlPlaneView['configs']): HostFact {
  const config = configs.get(machine.spec.bootstrap.configRef?.name ?? machine.metadata.name);
  const stage = config?.status?.progress?.stage ?? '';
  return {
    machine,
    config,
    isBootstrap: machine.metadata.annotations?.[ownNames.role] === 'bootstrap',
    isDeleting: machine.metadata.deletionTimestamp !== undefined,
    stage: stages.find((one) => one === stage) ?? '',
  };
}

/** A duration as Go writes it, `1h30m` or `1.5h` for example; undefined where it is none. */
export function readDuration(text: string): Millis | undefined {
  if (!/^(\d{1,16}(\.\d{1,16})?(ms|[hms]))+$/.test(text)) return undefined;
  const units = { h: hours(1), m: minutes(1), s: seconds(1), ms: 1 };
  return [...text.matchAll(/([\d.]{1,33})(ms|[hms])/g)]
    .map(([, count, unit]) => units[unit as keyof typeof units] * Number(count))
    .reduce((sum, one) => sum + one, 0);
}
