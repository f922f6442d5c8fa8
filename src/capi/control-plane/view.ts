import { jobs, secretMetadata, secrets } from '../../cluster/kinds.ts';
import type { Kube, KubeKind, KubeObject, KubeSelection } from '../../ports/kube.ts';
import { type Informer, informer } from '../../reconcile/informer.ts';
import type { Ports } from '../../ports/ports.ts';
import {
  assetsSecretName,
  type BootstrapConfig,
  bootstrapConfigs,
  capiNames,
  type CapiCluster,
  clusters,
  type OpenShiftControlPlane,
  controlPlanes,
  kubeconfigSecretName,
  type Machine,
  machineHealthChecks,
  capiMachines,
  ownNames,
  type OwnerReference,
} from '../api.ts';
import { assetsApp } from './assets-job.ts';
import { coreOwner, isControlledBy, placed, secretText } from '../objects.ts';

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
  /** Metadata of the Secret with the installer's files, also of one of an earlier control plane of the name. */
  readonly assets: KubeObject | undefined;
  /** Metadata of its Secret. */
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
  /** Of Secrets of clusters, their metadata alone: they hold the files of installers, and the data of hosts. */
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
  { key, signal }: { readonly key: string; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { name = '', namespace = '', uid } = assets?.metadata ?? {};
  if (assets === undefined) return undefined;
  const secret = await kube.get({ kind: secrets, namespace, name }, signal);
  return secret?.metadata.uid === uid ? secretText(secret, key) : undefined;
}

interface Parts extends Pick<ControlPlaneView, 'cluster' | 'assets' | 'kubeconfig'> {
  readonly machines: readonly KubeObject[];
  readonly configs: readonly KubeObject[];
}

function viewOf(
  controlPlane: OpenShiftControlPlane,
  { machines, configs, ...parts }: Parts,
): ControlPlaneView {
  const allMachines = machines as readonly Machine[];
  return {
    ...{ ...parts, controlPlane, allMachines },
    machines: allMachines.filter((one) => isControlledBy(one, controlPlane.metadata.uid)),
    configs: new Map(
      (configs as readonly BootstrapConfig[]).map((config) => [config.metadata.name, config]),
    ),
  };
}
