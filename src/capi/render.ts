import type { DiskHints } from '../lib/disk-hints.ts';
import type { KubeObject } from '../ports/kube.ts';
import {
  type BootstrapConfigSpec,
  bootstrapConfigType,
  capiNames,
  type ContractRef,
  type ControlPlaneSpec,
  controlPlaneType,
  machineType,
  ownNames,
} from './api.ts';
import { type ImageMirrors, renderMirrors } from '../lib/image-mirrors.ts';
import { type Fields, fieldsOf, listOf, textOf, type Value } from '../lib/fields.ts';
import { installStateKeys } from './install-state.ts';
import type { installerFolders } from './manifests.ts';
import { secretData } from './objects.ts';

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

/** What Cluster API makes a cluster from, in the order in which it is applied. */
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
    settings,
    choices,
    endpoint: { host: settings.apiHost, port: 6443 },
    object: ([apiVersion, kind], name, content) => ({
      apiVersion,
      kind,
      metadata: { name, namespace: choices.namespace, labels },
      ...content,
    }),
    // Empty for whoever brings an infrastructure of their own: the API server refuses it until it
    // is filled in.
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
        apiGroup: groupOf(controlPlaneType.apiVersion),
        kind: controlPlaneType.kind,
        name,
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
        clusterName,
        replicas: settings.workers,
        selector: { matchLabels },
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
  ];
}

/** What an install-config says that Cluster API needs too. */
export interface InstallSettings {
  readonly name: string;
  readonly baseDomain: string;
  readonly masters: number;
  readonly workers: number;
  /** The key below `platform`. */
  readonly platform: string;
  readonly podNetworks: readonly string[];
  readonly serviceNetworks: readonly string[];
  /** Where the API will be. */
  readonly apiHost: string;
  readonly pullSecret: string;
  readonly sshKeys: readonly string[];
  readonly proxy?: Readonly<Record<'httpProxy' | 'httpsProxy' | 'noProxy', string>>;
  readonly trustBundle: string;
  /** A file below /etc/containers/registries.conf.d; empty without mirrors. */
  readonly registries: string;
}

/**
 * Reads an install-config that was checked; what it does not say is as the installer takes it
 * (openshift/installer, `pkg/types/defaults`).
 */
export function installSettings(config: Fields): InstallSettings {
  const name = textOf(fieldsOf(config['metadata'])['name']);
  const baseDomain = textOf(config['baseDomain']);
  const networking = fieldsOf(config['networking']);
  const [platform = ''] = Object.keys(fieldsOf(config['platform']));
  const settings = fieldsOf(fieldsOf(config['platform'])[platform]);
  const [vip] = listOf(settings['apiVIPs']);
  const proxy = fieldsOf(config['proxy']);
  const proxied = { httpProxy: '', httpsProxy: '', noProxy: '' };
  for (const key of ['httpProxy', 'httpsProxy', 'noProxy'] as const)
    proxied[key] = textOf(proxy[key]);
  const pods = listOf(networking['clusterNetwork']).map((one) => textOf(fieldsOf(one)['cidr']));
  const services = listOf(networking['serviceNetwork']).map(textOf);
  return {
    name,
    baseDomain,
    platform,
    masters: countOf(config['controlPlane']),
    workers: listOf(config['compute']).reduce<number>((sum, pool) => sum + countOf(pool), 0),
    podNetworks: pods.length === 0 ? ['10.128.0.0/14'] : pods,
    serviceNetworks: services.length === 0 ? ['172.30.0.0/16'] : services,
    apiHost: textOf(vip) || textOf(settings['apiVIP']) || `api.${name}.${baseDomain}`,
    pullSecret: textOf(config['pullSecret']),
    sshKeys: textOf(config['sshKey'])
      .split('\n')
      .filter((line) => line.trim() !== ''),
    ...(Object.values(proxied).some((one) => one !== '') ? { proxy: proxied } : {}),
    trustBundle: textOf(config['additionalTrustBundle']),
    registries: renderMirrors(mirrorsOf(config)),
  };
}

const countOf = (pool: Value | undefined): number => {
  const { replicas = 3 } = fieldsOf(pool);
  return typeof replicas === 'number' ? replicas : 3;
};

/**
 * A source may have several entries (openshift/installer, `MergedMirrorSets`); of those in one file
 * podman reads the first.
 */
const mirrorsOf = (config: Fields): readonly ImageMirrors[] => {
  const entries = listOf(config['imageDigestSources'] ?? config['imageContentSources']);
  const bySource = Map.groupBy(entries.map(fieldsOf), ({ source }) => textOf(source));
  return [...bySource].map(([source, all]) => ({
    source,
    mirrors: [...new Set(all.flatMap(({ mirrors }) => listOf(mirrors).map(textOf)))],
    sourcePolicy: all.some(({ sourcePolicy }) => sourcePolicy === 'NeverContactSource')
      ? ('NeverContactSource' as const)
      : ('AllowContactingSource' as const),
  }));
};

/** A file of the installer's directory. */
export interface InstallFile {
  readonly name: string;
  readonly content: Uint8Array;
}

/** What the installer has left in its directory. */
export interface InstallFolder {
  readonly manifests: readonly InstallFile[];
  readonly openshift: readonly InstallFile[];
  readonly installConfig?: Uint8Array;
  readonly state?: Uint8Array;
}

/**
 * Content of one Secret at most, in bytes; the API server takes 1 MiB with all else (core/v1,
 * `MaxSecretSize`).
 */
const mostBytes = 700 * 1024;

/** The Secrets that the files of a directory become, in the order of the files. */
export function wrappedSecrets(
  folder: InstallFolder,
  { cluster, namespace }: { readonly cluster: string; readonly namespace: string },
): readonly KubeObject[] {
  const secret = (name: string, metadata: object, files: readonly InstallFile[]): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, namespace, ...metadata },
    data: secretData(Object.fromEntries(files.map((one) => [one.name, one.content]))),
  });
  const labelled = (label: string) => ({
    labels: { [capiNames.clusterName]: cluster, [capiNames.move]: '', [label]: cluster },
  });
  const { installConfig, state } = folder;
  const stateFiles = [
    ...(installConfig === undefined
      ? []
      : [{ name: installStateKeys.config, content: installConfig }]),
    ...(state === undefined ? [] : [{ name: installStateKeys.state, content: state }]),
  ];
  const manifests = (name: (typeof installerFolders)[number]): readonly KubeObject[] =>
    parts(folder[name]).map((files, at) =>
      secret(
        `${cluster}-${name}-${at}`,
        {
          ...labelled(ownNames.installManifests),
          annotations: { [ownNames.manifestFolder]: name },
        },
        files,
      ),
    );
  return [
    secret(installStateName(cluster), labelled(ownNames.installState), stateFiles),
    ...manifests('manifests'),
    ...manifests('openshift'),
  ];
}

/**
 * Files in the order of their names, as many as fit into a Secret. One that is larger is alone: the
 * API server has the last word.
 */
function parts(files: readonly InstallFile[]): readonly (readonly InstallFile[])[] {
  const all: InstallFile[][] = [];
  let bytes = 0;
  for (const file of files.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const last = all.at(-1);
    if (last === undefined || bytes + file.content.length > mostBytes) {
      all.push([file]);
      bytes = file.content.length;
    } else {
      last.push(file);
      bytes += file.content.length;
    }
  }
  return all;
}
