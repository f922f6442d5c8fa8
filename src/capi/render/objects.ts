import type { DiskHints } from '../../lib/disk-hints.ts';
import type { KubeObject } from '../../ports/kube.ts';
import {
  type BootstrapConfigSpec,
  bootstrapConfigType,
  capiNames,
  type ContractRef,
  type ControlPlaneSpec,
  controlPlaneType,
  machineType,
  ownNames,
} from '../api.ts';
import type { InstallSettings } from './install-config.ts';

/** What no install-config says. */
export interface RenderChoices {
  readonly namespace: string;
  readonly releaseImage: string;
  readonly distributionVersion: string;
  readonly agentImage: string;
  /** Disk of every host; without one hosts are installed into the system that runs. */
  readonly installDevice?: string;
  /** In its place. */
  readonly rootDeviceHints?: DiskHints;
  /** Image of CoreOS for Metal3; without it another provider's objects are left to the user. */
  readonly metal3?: { readonly url: string; readonly checksum: string };
}

/** A file of `infrastructure-manifests/`. */
export interface RenderedFile {
  readonly name: string;
  readonly objects: readonly KubeObject[];
}

const infrastructureGroup = 'infrastructure.cluster.x-k8s.io';

/** Name of the Secret that a control plane takes its install-config from. */
export const installStateName = (cluster: string): string => `${cluster}-install-state`;

const pullSecretName = 'pull-secret';

/** What Cluster API makes a cluster from (R10), in the order in which it is applied. */
export function renderedFiles(
  settings: InstallSettings,
  choices: RenderChoices,
): readonly RenderedFile[] {
  const scope = scopeOf(settings, choices);
  const { name, workers } = settings;
  const { metal3 } = choices;
  const files: RenderedFile[] = [
    {
      name: '00-namespace.yaml',
      objects: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: choices.namespace } }],
    },
    { name: '05-pull-secret.yaml', objects: [pullSecret(scope)] },
  ];
  if (metal3 !== undefined) {
    const cluster = scope.object([`${infrastructureGroup}/v1beta1`, 'Metal3Cluster'], name, {
      spec: { controlPlaneEndpoint: scope.endpoint, cloudProviderEnabled: false },
    });
    files.push(
      { name: '10-metal3-cluster.yaml', objects: [cluster] },
      { name: '11-metal3-masters.yaml', objects: [metal3Machines(scope, 'masters')] },
    );
    if (workers > 0)
      files.push({ name: '12-metal3-workers.yaml', objects: [metal3Machines(scope, 'workers')] });
  }
  files.push(
    { name: '20-control-plane.yaml', objects: [controlPlane(scope)] },
    { name: '30-cluster.yaml', objects: [cluster(scope)] },
  );
  if (workers > 0) files.push({ name: '40-workers.yaml', objects: workersOf(scope) });
  return files;
}

interface Scope {
  readonly settings: InstallSettings;
  readonly choices: RenderChoices;
  readonly endpoint: { readonly host: string; readonly port: number };
  readonly object: (
    type: readonly [apiVersion: string, kind: string],
    name: string,
    content: object,
  ) => KubeObject;
  readonly infrastructure: (kind: string, name: string) => ContractRef;
}

function scopeOf(settings: InstallSettings, choices: RenderChoices): Scope {
  const labels = { [capiNames.clusterName]: settings.name, [capiNames.move]: '' };
  return {
    ...{ settings, choices, endpoint: { host: settings.apiHost, port: 6443 } },
    object: ([apiVersion, kind], name, content) => ({
      ...{ apiVersion, kind, metadata: { name, namespace: choices.namespace, labels } },
      ...content,
    }),
    // Empty for whoever brings an infrastructure of their own: the API server refuses it until it is filled in.
    infrastructure: (kind, name) =>
      choices.metal3 === undefined
        ? { apiGroup: '', kind: '', name }
        : { apiGroup: infrastructureGroup, kind, name },
  };
}

const pullSecret = ({ object, settings }: Scope): KubeObject =>
  object(['v1', 'Secret'], pullSecretName, {
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': settings.pullSecret },
  });

/** A disk image of CoreOS with a config drive: a live ISO would be given no user data by Metal3. */
const metal3Machines = ({ object, settings, choices }: Scope, pool: string): KubeObject =>
  object([`${infrastructureGroup}/v1beta1`, 'Metal3MachineTemplate'], `${settings.name}-${pool}`, {
    spec: {
      template: {
        spec: { image: { ...choices.metal3, checksumType: 'sha256', format: 'qcow2' } },
      },
    },
  });

function configSpec({ settings, choices }: Scope): BootstrapConfigSpec {
  const { proxy, sshKeys, trustBundle, registries } = settings;
  const { installDevice, rootDeviceHints } = choices;
  return {
    agent: { image: choices.agentImage },
    ...(installDevice === undefined ? {} : { installDevice }),
    ...(rootDeviceHints === undefined ? {} : { rootDeviceHints }),
    ...((installDevice ?? rootDeviceHints) === undefined ? { writeMode: 'ExistingRoot' } : {}),
    pullSecretRef: { name: pullSecretName },
    ...(sshKeys.length === 0 ? {} : { sshAuthorizedKeys: sshKeys }),
    ...(proxy === undefined
      ? {}
      : { proxy: Object.fromEntries(Object.entries(proxy).filter(([, value]) => value !== '')) }),
    ...(trustBundle === '' ? {} : { additionalTrustBundle: trustBundle }),
    ...(registries === '' ? {} : { registries }),
    ...(choices.metal3 === undefined
      ? {}
      : { nodeRegistration: { labels: { 'metal3.io/uuid': '$METADATA_UUID' } } }),
  };
}

function controlPlane(scope: Scope): KubeObject {
  const { settings, choices, object } = scope;
  const { name } = settings;
  const spec: ControlPlaneSpec = {
    replicas: settings.masters,
    distributionVersion: choices.distributionVersion,
    releaseImage: choices.releaseImage,
    installStateSecretRef: { name: installStateName(name) },
    manifestsSelector: { matchLabels: { [ownNames.installManifests]: name } },
    machineTemplate: {
      spec: { infrastructureRef: scope.infrastructure('Metal3MachineTemplate', `${name}-masters`) },
    },
    configSpec: configSpec(scope),
  };
  return object([controlPlaneType.apiVersion, controlPlaneType.kind], name, { spec });
}

const groupOf = (apiVersion: string): string => apiVersion.split('/')[0] ?? '';

function cluster(scope: Scope): KubeObject {
  const { settings, endpoint, object } = scope;
  const { name, podNetworks, serviceNetworks } = settings;
  return object([machineType.apiVersion, 'Cluster'], name, {
    spec: {
      clusterNetwork: {
        pods: { cidrBlocks: podNetworks },
        services: { cidrBlocks: serviceNetworks },
      },
      controlPlaneEndpoint: endpoint,
      controlPlaneRef: {
        ...{ apiGroup: groupOf(controlPlaneType.apiVersion), kind: controlPlaneType.kind, name },
      },
      infrastructureRef: scope.infrastructure('Metal3Cluster', name),
    },
  });
}

function workersOf(scope: Scope): readonly KubeObject[] {
  const { settings, object } = scope;
  const name = `${settings.name}-workers`;
  const matchLabels = { pool: name };
  const { apiVersion, kind } = bootstrapConfigType;
  const template = `${kind}Template`;
  const clusterName = settings.name;
  return [
    object([apiVersion, template], name, { spec: { template: { spec: configSpec(scope) } } }),
    object([machineType.apiVersion, 'MachineDeployment'], name, {
      spec: {
        ...{ clusterName, replicas: settings.workers, selector: { matchLabels } },
        template: {
          metadata: { labels: matchLabels },
          spec: {
            clusterName,
            bootstrap: { configRef: { apiGroup: groupOf(apiVersion), kind: template, name } },
            infrastructureRef: scope.infrastructure('Metal3MachineTemplate', name),
          },
        },
      },
    }),
    // An installation takes longer than the ten minutes after which a Machine without a Node would be deleted.
    object([machineType.apiVersion, 'MachineHealthCheck'], name, {
      spec: {
        ...{ clusterName, selector: { matchLabels } },
        checks: {
          nodeStartupTimeoutSeconds: 0,
          unhealthyNodeConditions: [{ type: 'Ready', status: 'Unknown', timeoutSeconds: 600 }],
        },
      },
    }),
  ];
}
