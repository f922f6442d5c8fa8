import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContractRef, ControlPlaneSpec } from '../../src/capi/api.ts';
import { bootstrapConfigType, controlPlaneType } from '../../src/capi/api.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';

const infrastructure = (plural: string): KubeKind => ({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta2',
  plural,
});
export const devMachines = infrastructure('devmachines');

const groupOf = (apiVersion: string): string => apiVersion.split('/')[0] ?? '';
const infrastructureVersion = 'infrastructure.cluster.x-k8s.io/v1beta2';
const coreVersion = 'cluster.x-k8s.io/v1beta2';
const inMemory = { backend: { inMemory: {} } };

/** A name in the namespace of its cluster; both are called the same. */
export interface Named {
  readonly cluster: string;
  readonly name?: string;
}

const inNamespace = (
  [apiVersion, kind]: readonly [string, string],
  { cluster, name = cluster }: Named,
  content: object,
): KubeObject => {
  const { metadata, ...rest } = content as Partial<KubeObject>;
  return { apiVersion, kind, metadata: { ...metadata, name, namespace: cluster }, ...rest };
};

/** How hosts are installed that are no hosts. */
export const configSpec = {
  agent: { image: 'registry.example/bootwright:latest' },
  installDevice: '/dev/vda',
};

/** Refers to an object of the infrastructure in memory. */
export const infrastructureRef = (kind: string, name: string): ContractRef => ({
  ...{ apiGroup: groupOf(infrastructureVersion), kind, name },
});

/** Namespace, Cluster and its infrastructure in memory, whose API is served at a port of this machine. */
export const clusterObjects = (cluster: string, port: number): readonly KubeObject[] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster } },
  ...infrastructureObjects(cluster, ['masters']),
  inNamespace(
    [coreVersion, 'Cluster'],
    { cluster },
    {
      spec: {
        controlPlaneEndpoint: { host: '127.0.0.1', port },
        controlPlaneRef: {
          ...{ apiGroup: groupOf(controlPlaneType.apiVersion), name: cluster },
          kind: controlPlaneType.kind,
        },
        infrastructureRef: infrastructureRef('DevCluster', cluster),
      },
    },
  ),
];

/** Infrastructure in memory, with a template for each of these pools. */
export const infrastructureObjects = (
  cluster: string,
  pools: readonly string[],
): readonly KubeObject[] => [
  inNamespace(
    [infrastructureVersion, 'DevCluster'],
    { cluster },
    {
      // The provider of infrastructure ends at one that has none.
      metadata: { annotations: { rig: 'capi' } },
      spec: inMemory,
    },
  ),
  ...pools.map((name) => devMachineTemplate({ cluster, name })),
];

const devMachineTemplate = (named: Named): KubeObject =>
  inNamespace([infrastructureVersion, 'DevMachineTemplate'], named, {
    spec: { template: { spec: inMemory } },
  });

/** A control plane of three masters. */
export const controlPlaneObject = (
  cluster: string,
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
  return inNamespace([controlPlaneType.apiVersion, controlPlaneType.kind], { cluster }, { spec });
};

/** A Machine of a cluster with a config and a machine in memory, all of one name. */
export function machineObjects(named: Required<Named>): readonly KubeObject[] {
  const { cluster, name } = named;
  const metadata = { labels: { 'cluster.x-k8s.io/cluster-name': cluster } };
  const { apiVersion, kind } = bootstrapConfigType;
  return [
    inNamespace([infrastructureVersion, 'DevMachine'], named, { metadata, spec: inMemory }),
    inNamespace([apiVersion, kind], named, { metadata, spec: configSpec }),
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
export function workerObjects(cluster: string, replicas = 2): readonly KubeObject[] {
  const name = 'workers';
  const labels = { pool: name };
  const { apiVersion, kind } = bootstrapConfigType;
  const template = `${kind}Template`;
  return [
    inNamespace(
      [apiVersion, template],
      { cluster, name },
      { spec: { template: { spec: configSpec } } },
    ),
    devMachineTemplate({ cluster, name }),
    inNamespace(
      [coreVersion, 'MachineDeployment'],
      { cluster, name },
      {
        spec: {
          ...{ clusterName: cluster, replicas, selector: { matchLabels: labels } },
          template: {
            metadata: { labels },
            spec: {
              clusterName: cluster,
              bootstrap: { configRef: { apiGroup: groupOf(apiVersion), kind: template, name } },
              infrastructureRef: infrastructureRef('DevMachineTemplate', name),
            },
          },
        },
      },
    ),
  ];
}

const secret = (named: Named, content: object): KubeObject =>
  inNamespace(['v1', 'Secret'], named, {
    ...content,
    metadata: { labels: { 'cluster.x-k8s.io/cluster-name': named.cluster } },
  });

/** What a cluster is installed from, and the authorities that machines in memory ask for. */
export const clusterSecrets = (cluster: string): readonly KubeObject[] => [
  secret(
    { cluster, name: 'install-state' },
    {
      stringData: { 'install-config.yaml': installConfig(cluster) },
    },
  ),
  ...authorities(cluster),
];

/** Authorities without which machines in memory do not become ready. */
export const authorities = (cluster: string): readonly KubeObject[] =>
  ['ca', 'etcd'].map((name) =>
    secret(
      { cluster, name: `${cluster}-${name}` },
      {
        type: 'cluster.x-k8s.io/secret',
        data: selfSigned(name),
      },
    ),
  );

/** An install-config of three masters and two workers. */
export const installConfig = (cluster: string): string =>
  `apiVersion: v1
metadata: { name: ${cluster} }
baseDomain: example.com
controlPlane: { name: master, replicas: 3 }
compute: [{ name: worker, replicas: 2 }]
platform: { none: {} }
pullSecret: '{"auths":{}}'
`;

/** The provider of infrastructure reads RSA keys of PKCS #1 alone. */
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
