import type { DiskHints } from '../settings/disk-hints.ts';
import { type Fields, fieldsOf, listOf, textOf, type Value } from '../lib/fields.ts';
import { renderMirrors } from '../settings/image-mirrors.ts';
import type { KubeObject } from '../ports/kube.ts';
import { bootstrapConfigType, capiNames, controlPlaneType, machineType, ownNames } from './api.ts';
import { installerFolders } from './manifests.ts';
import { secretData } from './objects.ts';

/** Choices that are not in an install-config. */
export interface RenderChoices {
  readonly namespace: string;
  readonly releaseImage: string;
  readonly distributionVersion: string;
  readonly agentImage: string;
  /** Disk of every host; default: hosts are installed into the running system. */
  readonly installDevice: string | undefined;
  /** Used instead of `installDevice`. */
  readonly rootDeviceHints: DiskHints | undefined;
  /** Image of CoreOS for Metal3; without it, the user fills in the infrastructure. */
  readonly metal3: { readonly url: string; readonly checksum: string } | undefined;
}

/** A file of `infrastructure-manifests/`. Undefined members are not written. */
export interface RenderedFile {
  readonly name: string;
  readonly objects: readonly KubeObject[];
}

const metal3Version = 'infrastructure.cluster.x-k8s.io/v1beta1';

/** Name of the cluster in an install-config. */
export const clusterNameOf = (config: Fields): string =>
  textOf(fieldsOf(config['metadata'])['name']);

const pullSecretName = (cluster: string): string => `${cluster}-pull-secret`;

/** Name of the Secret with a control plane's install-config. */
const installStateName = (cluster: string): string => `${cluster}-install-state`;

/**
 * The objects from which Cluster API makes a cluster, in files in the order in which to apply them;
 * `installSecrets` makes the rest. clusterctl moves them with the cluster.
 */
export function renderedFiles(config: Fields, choices: RenderChoices): readonly RenderedFile[] {
  const cluster = clusterNameOf(config);
  const { namespace, metal3 } = choices;
  const labels = { [capiNames.clusterName]: cluster, [capiNames.move]: '' };
  const object = (type: ObjectType, name: string, content: object): KubeObject => ({
    ...type,
    metadata: { name, namespace, labels },
    ...content,
  });
  const files: RenderedFile[] = [];
  const add = (name: string, ...objects: readonly KubeObject[]): void =>
    void files.push({ name: `${name}.yaml`, objects });
  add('00-namespace', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  add(
    '05-pull-secret',
    object({ apiVersion: 'v1', kind: 'Secret' }, pullSecretName(cluster), {
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': textOf(config['pullSecret']) },
    }),
  );
  const configSpec = configSpecOf(config, choices);
  // Without pools, the installer expects one of its default size (`pkg/types/defaults`).
  const [first, ...pools] = listOf(config['compute']);
  const workers = pools.reduce<number>((sum, pool) => sum + countOf(pool), countOf(first));
  if (metal3 !== undefined) {
    // Metal3 gives no user data to a live ISO, so the host boots a disk image with a config drive.
    const image = { ...metal3, checksumType: 'sha256', format: 'qcow2' };
    const machines = (pool: string): KubeObject =>
      object(metal3Type('Metal3MachineTemplate'), `${cluster}-${pool}`, {
        spec: { template: { spec: { image } } },
      });
    const spec = { controlPlaneEndpoint: endpointOf(config), cloudProviderEnabled: false };
    add('10-metal3-cluster', object(metal3Type('Metal3Cluster'), cluster, { spec }));
    add('11-metal3-masters', machines('masters'));
    if (workers > 0) add('12-metal3-workers', machines('workers'));
  }
  add(
    '20-control-plane',
    object(controlPlaneType, cluster, { spec: controlPlaneSpec(config, choices, configSpec) }),
  );
  add('30-cluster', object(clusterType, cluster, { spec: clusterSpec(config, choices) }));
  if (workers > 0) {
    const name = `${cluster}-workers`;
    const template = { ...bootstrapConfigType, kind: `${bootstrapConfigType.kind}Template` };
    const spec = workersSpec(cluster, workers, {
      bootstrap: { configRef: refTo(template, name) },
      infrastructureRef: infrastructureRef(choices, 'Metal3MachineTemplate', name),
    });
    add(
      '40-workers',
      object(template, name, { spec: { template: { spec: configSpec } } }),
      object({ ...machineType, kind: 'MachineDeployment' }, name, { spec }),
    );
  }
  return files;
}

interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

const clusterType: ObjectType = { ...machineType, kind: 'Cluster' };
const metal3Type = (kind: string): ObjectType => ({ apiVersion: metal3Version, kind });

const refTo = ({ apiVersion, kind }: ObjectType, name: string) => ({
  apiGroup: apiVersion.split('/')[0] ?? '',
  kind,
  name,
});

/** The user fills in the reference of another provider: until then the API server refuses it. */
const infrastructureRef = ({ metal3 }: RenderChoices, kind: string, name: string) =>
  metal3 === undefined ? { apiGroup: '', kind: '', name } : refTo(metal3Type(kind), name);

function controlPlaneSpec(config: Fields, choices: RenderChoices, configSpec: object): object {
  const cluster = clusterNameOf(config);
  const ref = infrastructureRef(choices, 'Metal3MachineTemplate', `${cluster}-masters`);
  return {
    replicas: countOf(config['controlPlane']),
    distributionVersion: choices.distributionVersion,
    releaseImage: choices.releaseImage,
    installStateSecretRef: { name: installStateName(cluster) },
    manifestsSelector: { matchLabels: { [ownNames.installManifests]: cluster } },
    machineTemplate: { spec: { infrastructureRef: ref } },
    configSpec,
  };
}

/**
 * The Cluster's spec. Networks that are not given get the installer's defaults
 * (`pkg/types/defaults`).
 */
function clusterSpec(config: Fields, choices: RenderChoices): object {
  const cluster = clusterNameOf(config);
  const networking = fieldsOf(config['networking']);
  const pods = listOf(networking['clusterNetwork']).map((one) => textOf(fieldsOf(one)['cidr']));
  const services = listOf(networking['serviceNetwork']).map(textOf);
  return {
    clusterNetwork: {
      pods: { cidrBlocks: pods.length === 0 ? ['10.128.0.0/14'] : pods },
      services: { cidrBlocks: services.length === 0 ? ['172.30.0.0/16'] : services },
    },
    controlPlaneEndpoint: endpointOf(config),
    controlPlaneRef: refTo(controlPlaneType, cluster),
    infrastructureRef: infrastructureRef(choices, 'Metal3Cluster', cluster),
  };
}

function workersSpec(clusterName: string, replicas: number, refs: object): object {
  const labels = { pool: `${clusterName}-workers` };
  return {
    clusterName,
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { clusterName, ...refs } },
  };
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

/**
 * The settings of each host's installation, with proxy, keys, trust and mirrors of the
 * install-config.
 */
function configSpecOf(config: Fields, choices: RenderChoices): object {
  const { installDevice, rootDeviceHints, agentImage, metal3 } = choices;
  const keys = textOf(config['sshKey']).split('\n');
  const proxy = Object.entries(fieldsOf(config['proxy'])).filter(([, value]) => value !== '');
  return {
    agent: { image: agentImage },
    installDevice,
    rootDeviceHints,
    writeMode: (installDevice ?? rootDeviceHints) === undefined ? 'ExistingRoot' : undefined,
    pullSecretRef: { name: pullSecretName(clusterNameOf(config)) },
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
 * `MergedMirrorSets`), but podman reads only the first of them in a file.
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

/** The installer's files in its directory. */
export interface InstallFolder {
  readonly manifests: readonly InstallFile[];
  readonly openshift: readonly InstallFile[];
  /** The install-config and the state, if they exist. */
  readonly state: readonly InstallFile[];
}

/**
 * Maximum content of one Secret in bytes; the API server takes 1 MiB including all other fields
 * (core/v1, `MaxSecretSize`).
 */
const mostBytes = 700 * 1024;

/** The Secrets with the files of a directory: install-config and state, then manifests. */
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

/** Splits files, sorted by name, so that each part fits into a Secret. */
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
