import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BootstrapConfigSpec, ContractRef, ControlPlaneSpec } from '../../src/capi/api.ts';
import { bootstrapConfigs, bootstrapConfigType, controlPlaneType } from '../../src/capi/api.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';

const infrastructure = (plural: string): KubeKind => ({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta2',
  plural,
});
export const devMachines = infrastructure('devmachines');
export const devClusters = infrastructure('devclusters');
export const bootstrapConfigTemplates: KubeKind = {
  ...bootstrapConfigs,
  plural: 'openshiftbootstrapconfigtemplates',
};

const groupOf = (apiVersion: string): string => apiVersion.split('/')[0] ?? '';
const infrastructureVersion = 'infrastructure.cluster.x-k8s.io/v1beta2';
const coreVersion = 'cluster.x-k8s.io/v1beta2';
const inMemory = { backend: { inMemory: {} } };

/** A name in the namespace of its cluster; the namespace's name is the cluster's unless given. */
export interface Named {
  readonly cluster: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** A cluster by its name, or with its namespace. */
type ClusterAt = string | Omit<Named, 'name'>;
const placeOf = (cluster: ClusterAt): Omit<Named, 'name'> =>
  typeof cluster === 'string' ? { cluster } : cluster;

const inNamespace = (
  [apiVersion, kind]: readonly [string, string],
  { cluster, name = cluster, namespace = cluster }: Named,
  content: object,
): KubeObject => {
  const { metadata, ...rest } = content as Partial<KubeObject>;
  return { apiVersion, kind, metadata: { ...metadata, name, namespace }, ...rest };
};

/** Settings for the installation of simulated hosts. */
export const configSpec = {
  agent: { image: 'registry.example/bootwright:latest' },
  installDevice: '/dev/vda',
};

/** A reference to an object of the infrastructure in memory. */
export const infrastructureRef = (kind: string, name: string): ContractRef => ({
  apiGroup: groupOf(infrastructureVersion),
  kind,
  name,
});

/** Label of objects that clusterctl moves although no Cluster owns them. */
const moved = { 'clusterctl.cluster.x-k8s.io/move': '' };

/**
 * Namespace, Cluster and its infrastructure in memory; its API is served on a port of this machine.
 */
export function clusterObjects(at: ClusterAt, port: number): readonly KubeObject[] {
  const place = placeOf(at);
  const { cluster, namespace = cluster } = place;
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...infrastructureObjects(place, ['masters']),
    inNamespace([coreVersion, 'Cluster'], place, {
      spec: {
        controlPlaneEndpoint: { host: '127.0.0.1', port },
        controlPlaneRef: {
          apiGroup: groupOf(controlPlaneType.apiVersion),
          name: cluster,
          kind: controlPlaneType.kind,
        },
        infrastructureRef: infrastructureRef('DevCluster', cluster),
      },
    }),
  ];
}

/** Infrastructure in memory, with a template for each of these pools. */
export const infrastructureObjects = (
  at: ClusterAt,
  pools: readonly string[],
): readonly KubeObject[] => [
  inNamespace([infrastructureVersion, 'DevCluster'], placeOf(at), {
    // The infrastructure provider crashes on an object without annotations.
    metadata: { annotations: { rig: 'capi' } },
    spec: inMemory,
  }),
  ...pools.map((name) => devMachineTemplate({ ...placeOf(at), name })),
];

const devMachineTemplate = (named: Named): KubeObject =>
  inNamespace([infrastructureVersion, 'DevMachineTemplate'], named, {
    metadata: { labels: moved },
    spec: { template: { spec: inMemory } },
  });

/** A control plane of three masters. */
export const controlPlaneObject = (
  cluster: ClusterAt,
  more: Partial<ControlPlaneSpec> = {},
): KubeObject => {
  const spec: ControlPlaneSpec = {
    replicas: 3,
    distributionVersion: '4.20.0',
    releaseImage: `registry.example/release@sha256:${'0'.repeat(64)}`,
    installStateSecretRef: { name: 'install-state' },
    machineTemplate: {
      spec: { infrastructureRef: infrastructureRef('DevMachineTemplate', 'masters') },
    },
    configSpec,
    ...more,
  };
  const { apiVersion, kind } = controlPlaneType;
  return inNamespace([apiVersion, kind], placeOf(cluster), { spec });
};

/** A Machine of a cluster with a config and a machine in memory, all with the same name. */
export function machineObjects(
  named: Named & { readonly name: string },
  spec: BootstrapConfigSpec = configSpec,
): readonly KubeObject[] {
  const { cluster, name } = named;
  const metadata = { labels: { 'cluster.x-k8s.io/cluster-name': cluster } };
  const { apiVersion, kind } = bootstrapConfigType;
  return [
    inNamespace([infrastructureVersion, 'DevMachine'], named, { metadata, spec: inMemory }),
    inNamespace([apiVersion, kind], named, { metadata, spec }),
    inNamespace([coreVersion, 'Machine'], named, {
      metadata,
      spec: {
        clusterName: cluster,
        bootstrap: { configRef: { apiGroup: groupOf(apiVersion), kind, name } },
        infrastructureRef: infrastructureRef('DevMachine', name),
      },
    }),
  ];
}

/** A MachineDeployment of workers, from templates. */
export function workerObjects(at: ClusterAt, replicas = 2): readonly KubeObject[] {
  const name = 'workers';
  const named = { ...placeOf(at), name };
  const { cluster } = named;
  const labels = { pool: name };
  const { apiVersion, kind } = bootstrapConfigType;
  const template = `${kind}Template`;
  return [
    inNamespace([apiVersion, template], named, { spec: { template: { spec: configSpec } } }),
    devMachineTemplate(named),
    inNamespace([coreVersion, 'MachineDeployment'], named, {
      spec: {
        clusterName: cluster,
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            clusterName: cluster,
            bootstrap: { configRef: { apiGroup: groupOf(apiVersion), kind: template, name } },
            infrastructureRef: infrastructureRef('DevMachineTemplate', name),
          },
        },
      },
    }),
  ];
}

const secret = (named: Named, content: object): KubeObject =>
  inNamespace(['v1', 'Secret'], named, {
    ...content,
    metadata: { labels: { 'cluster.x-k8s.io/cluster-name': named.cluster, ...moved } },
  });

/**
 * Secrets for the installation of a cluster, with the authorities that machines in memory require.
 */
export function clusterSecrets(at: ClusterAt, masters = 3): readonly KubeObject[] {
  const place = placeOf(at);
  const stringData = { 'install-config.yaml': installConfig(place.cluster, masters) };
  return [secret({ ...place, name: 'install-state' }, { stringData }), ...authorities(place)];
}

/** Authorities without which machines in memory do not become ready. */
export const authorities = (at: ClusterAt): readonly KubeObject[] =>
  ['ca', 'etcd'].map((name) => {
    const place = placeOf(at);
    return secret(
      { ...place, name: `${place.cluster}-${name}` },
      { type: 'cluster.x-k8s.io/secret', data: selfSigned(name) },
    );
  });

/** An install-config with a number of masters and two workers. */
export const installConfig = (cluster: string, masters = 3): string =>
  `apiVersion: v1
metadata: { name: ${cluster} }
baseDomain: example.com
controlPlane: { name: master, replicas: ${masters} }
compute: [{ name: worker, replicas: 2 }]
platform: { none: {} }
pullSecret: '{"auths":{}}'
`;

/** The infrastructure provider reads only RSA keys of PKCS #1. */
function selfSigned(name: string): Readonly<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-authority-'));
  try {
    const [key, certificate] = [join(folder, 'key'), join(folder, 'certificate')];
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`];
    execFileSync('openssl', [...request, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const traditional = execFileSync('openssl', ['rsa', '-traditional', '-in', key], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return {
      'tls.crt': readFileSync(certificate).toString('base64'),
      'tls.key': traditional.toString('base64'),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
