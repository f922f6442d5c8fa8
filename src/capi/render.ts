import type { DiskHints } from '../model/disk-hints.ts';
import { type Fields, fieldsOf, listOf, textOf, type Value } from '../lib/fields.ts';
import { renderMirrors } from '../lib/image-mirrors.ts';
import type { KubeObject } from '../ports/kube.ts';
import { bootstrapConfigType, capiNames, controlPlaneType, machineType, ownNames } from './api.ts';
import { installerFolders } from './manifests.ts';
import { secretData } from './objects.ts';

/** Choices that no install-config has. */
export interface RenderChoices {
  readonly namespace: string;
  readonly releaseImage: string;
  readonly distributionVersion: string;
  readonly agentImage: string;
  /** Disk of every host; without one hosts are installed into the running system. */
  readonly installDevice: string | undefined;
  /** In its place. */
  readonly rootDeviceHints: DiskHints | undefined;
  /** Image of CoreOS for Metal3; without it the infrastructure is left to the user. */
  readonly metal3: { readonly url: string; readonly checksum: string } | undefined;
}

/** A file of `infrastructure-manifests/`. Members that are undefined are not written. */
export interface RenderedFile {
  readonly name: string;
  readonly objects: readonly KubeObject[];
}

const infrastructureGroup = 'infrastructure.cluster.x-k8s.io';
const metal3Version = `${infrastructureGroup}/v1beta1`;
const pullSecretName = 'pull-secret';

/** Name of the cluster of an install-config. */
export const clusterNameOf = (config: Fields): string =>
  textOf(fieldsOf(config['metadata'])['name']);

/** Name of the Secret that a control plane takes its install-config from. */
const installStateName = (cluster: string): string => `${cluster}-install-state`;

const groupOf = (apiVersion: string): string => apiVersion.split('/')[0] ?? '';

/** Makes an object of the cluster, which clusterctl moves with it. */
type MakeObject = (apiVersion: string, kind: string, name: string, content: object) => KubeObject;

/**
 * The objects that Cluster API makes a cluster from, in files in the order in which they are
 * applied, beside those of `installSecrets`.
 */
export function renderedFiles(config: Fields, choices: RenderChoices): readonly RenderedFile[] {
  const cluster = clusterNameOf(config);
  const { namespace, metal3 } = choices;
  const workers = listOf(config['compute']).reduce<number>((sum, pool) => sum + countOf(pool), 0);
  const labels = { [capiNames.clusterName]: cluster, [capiNames.move]: '' };
  const object: MakeObject = (apiVersion, kind, name, content) => ({
    apiVersion,
    kind,
    metadata: { name, namespace, labels },
    ...content,
  });
  const pullSecret = object('v1', 'Secret', pullSecretName, {
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': textOf(config['pullSecret']) },
  });
  const files: RenderedFile[] = [
    {
      name: '00-namespace.yaml',
      objects: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }],
    },
    { name: '05-pull-secret.yaml', objects: [pullSecret] },
    { name: '20-control-plane.yaml', objects: [controlPlane(config, choices, object)] },
    { name: '30-cluster.yaml', objects: [clusterObject(config, choices, object)] },
  ];
  if (metal3 !== undefined) {
    // A live ISO would be given no user data by Metal3: a disk image with a config drive.
    const image = { ...metal3, checksumType: 'sha256', format: 'qcow2' };
    const machines = (pool: string): KubeObject =>
      object(metal3Version, 'Metal3MachineTemplate', `${cluster}-${pool}`, {
        spec: { template: { spec: { image } } },
      });
    const metal3Cluster = object(metal3Version, 'Metal3Cluster', cluster, {
      spec: { controlPlaneEndpoint: endpointOf(config), cloudProviderEnabled: false },
    });
    files.push(
      { name: '10-metal3-cluster.yaml', objects: [metal3Cluster] },
      { name: '11-metal3-masters.yaml', objects: [machines('masters')] },
    );
    if (workers > 0) files.push({ name: '12-metal3-workers.yaml', objects: [machines('workers')] });
  }
  if (workers > 0)
    files.push({
      name: '40-workers.yaml',
      objects: workerObjects(config, choices, workers, object),
    });
  return files;
}

/** The user fills in the one of another provider: the API server refuses it until then. */
const infrastructureRef = ({ metal3 }: RenderChoices, kind: string, name: string) => ({
  apiGroup: metal3 === undefined ? '' : infrastructureGroup,
  kind: metal3 === undefined ? '' : kind,
  name,
});

function controlPlane(config: Fields, choices: RenderChoices, object: MakeObject): KubeObject {
  const cluster = clusterNameOf(config);
  const ref = infrastructureRef(choices, 'Metal3MachineTemplate', `${cluster}-masters`);
  return object(controlPlaneType.apiVersion, controlPlaneType.kind, cluster, {
    spec: {
      replicas: countOf(config['controlPlane']),
      distributionVersion: choices.distributionVersion,
      releaseImage: choices.releaseImage,
      installStateSecretRef: { name: installStateName(cluster) },
      manifestsSelector: { matchLabels: { [ownNames.installManifests]: cluster } },
      machineTemplate: { spec: { infrastructureRef: ref } },
      configSpec: configSpecOf(config, choices),
    },
  });
}

/** Networks that are not given are as the installer assumes (`pkg/types/defaults`). */
function clusterObject(config: Fields, choices: RenderChoices, object: MakeObject): KubeObject {
  const cluster = clusterNameOf(config);
  const networking = fieldsOf(config['networking']);
  const pods = listOf(networking['clusterNetwork']).map((one) => textOf(fieldsOf(one)['cidr']));
  const services = listOf(networking['serviceNetwork']).map(textOf);
  const { apiVersion, kind } = controlPlaneType;
  return object(machineType.apiVersion, 'Cluster', cluster, {
    spec: {
      clusterNetwork: {
        pods: { cidrBlocks: pods.length === 0 ? ['10.128.0.0/14'] : pods },
        services: { cidrBlocks: services.length === 0 ? ['172.30.0.0/16'] : services },
      },
      controlPlaneEndpoint: endpointOf(config),
      controlPlaneRef: { apiGroup: groupOf(apiVersion), kind, name: cluster },
      infrastructureRef: infrastructureRef(choices, 'Metal3Cluster', cluster),
    },
  });
}

function workerObjects(
  config: Fields,
  choices: RenderChoices,
  replicas: number,
  object: MakeObject,
): readonly KubeObject[] {
  const clusterName = clusterNameOf(config);
  const name = `${clusterName}-workers`;
  const labels = { pool: name };
  const { apiVersion } = bootstrapConfigType;
  const kind = `${bootstrapConfigType.kind}Template`;
  return [
    object(apiVersion, kind, name, {
      spec: { template: { spec: configSpecOf(config, choices) } },
    }),
    object(machineType.apiVersion, 'MachineDeployment', name, {
      spec: {
        clusterName,
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            clusterName,
            bootstrap: { configRef: { apiGroup: groupOf(apiVersion), kind, name } },
            infrastructureRef: infrastructureRef(choices, 'Metal3MachineTemplate', name),
          },
        },
      },
    }),
  ];
}

function endpointOf(config: Fields) {
  const [platform] = Object.values(fieldsOf(config['platform'])).map(fieldsOf);
  const [vip = platform?.['apiVIP']] = listOf(platform?.['apiVIPs']);
  const host = textOf(vip) || `api.${clusterNameOf(config)}.${textOf(config['baseDomain'])}`;
  return { host, port: 6443 };
}

const countOf = (pool: Value | undefined): number => {
  const { replicas = 3 } = fieldsOf(pool);
  return typeof replicas === 'number' ? replicas : 3;
};

/** How each host is installed, with proxy, keys, trust and mirrors of the install-config. */
function configSpecOf(config: Fields, choices: RenderChoices): object {
  const { installDevice, rootDeviceHints, agentImage, metal3 } = choices;
  const keys = textOf(config['sshKey']).split('\n');
  const proxy = Object.entries(fieldsOf(config['proxy'])).filter(([, value]) => value !== '');
  return {
    agent: { image: agentImage },
    installDevice,
    rootDeviceHints,
    writeMode: (installDevice ?? rootDeviceHints) === undefined ? 'ExistingRoot' : undefined,
    pullSecretRef: { name: pullSecretName },
    sshAuthorizedKeys: nonEmpty(keys.filter((line) => line.trim() !== '')),
    proxy: nonEmpty(Object.fromEntries(proxy)),
    additionalTrustBundle: nonEmpty(textOf(config['additionalTrustBundle'])),
    registries: nonEmpty(registriesOf(config)),
    nodeRegistration: metal3 && { labels: { 'metal3.io/uuid': '$METADATA_UUID' } },
  };
}

const nonEmpty = <T extends object | string>(value: T): T | undefined =>
  Object.keys(value).length === 0 ? undefined : value;

/**
 * A file of registries.conf.d. A source may have several entries (openshift/installer,
 * `MergedMirrorSets`); of those in one file podman reads the first.
 */
function registriesOf(config: Fields): string {
  const entries = listOf(config['imageDigestSources'] ?? config['imageContentSources']);
  const bySource = Map.groupBy(entries.map(fieldsOf), ({ source }) => textOf(source));
  return renderMirrors(
    [...bySource].map(([source, all]) => ({
      source,
      mirrors: [...new Set(all.flatMap(({ mirrors }) => listOf(mirrors).map(textOf)))],
      sourcePolicy: all.some(({ sourcePolicy }) => sourcePolicy === 'NeverContactSource')
        ? ('NeverContactSource' as const)
        : ('AllowContactingSource' as const),
    })),
  );
}

/** A file of the installer's directory. */
export interface InstallFile {
  readonly name: string;
  readonly content: Uint8Array;
}

/** The files that the installer has left in its directory. */
export interface InstallFolder {
  readonly manifests: readonly InstallFile[];
  readonly openshift: readonly InstallFile[];
  /** The install-config and the state, where they exist. */
  readonly state: readonly InstallFile[];
}

/**
 * Content of one Secret at most, in bytes; the API server takes 1 MiB with all else (core/v1,
 * `MaxSecretSize`).
 */
const mostBytes = 700 * 1024;

/** The Secrets that the files of a directory become: install-config and state, then manifests. */
export function installSecrets(
  folder: InstallFolder,
  cluster: string,
  namespace: string,
): { readonly state: KubeObject; readonly manifests: readonly KubeObject[] } {
  const secret = (
    name: string,
    label: string,
    files: readonly InstallFile[],
    annotations?: Readonly<Record<string, string>>,
  ): KubeObject => {
    const labels = { [capiNames.clusterName]: cluster, [capiNames.move]: '', [label]: cluster };
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name, namespace, labels, ...(annotations && { annotations }) },
      data: secretData(Object.fromEntries(files.map((one) => [one.name, one.content]))),
    };
  };
  return {
    state: secret(installStateName(cluster), ownNames.installState, folder.state),
    manifests: installerFolders.flatMap((name) =>
      parts(folder[name]).map((files, at) =>
        secret(`${cluster}-${name}-${at}`, ownNames.installManifests, files, {
          [ownNames.manifestFolder]: name,
        }),
      ),
    ),
  };
}

/**
 * Files in the order of their names, as many as fit into a Secret. The API server refuses one that
 * is larger.
 */
function parts(files: readonly InstallFile[]): readonly (readonly InstallFile[])[] {
  const all: InstallFile[][] = [];
  let bytes = mostBytes;
  for (const file of files.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    bytes += file.content.length;
    if (bytes > mostBytes) {
      all.push([]);
      bytes = file.content.length;
    }
    all.at(-1)?.push(file);
  }
  return all;
}
