import { stringify } from 'yaml';
import { labPullSecret } from '../registries/network.ts';
import type { ClusterRecord, HostRecord } from './records.ts';
import type { InventoryStore } from './store.ts';

/** Files of a cluster that version 2 of the service offers, by name. */
export const clusterFileNames = [
  'bootstrap.ign',
  'master.ign',
  'worker.ign',
  'arbiter.ign',
  'metadata.json',
  'install-config.yaml',
  'custom_manifests.json',
  'custom_manifests.yaml',
] as const;

/** Credentials of a cluster; version 2 has a separate path for them. */
export const credentialNames = [
  'kubeconfig',
  'kubeconfig-noingress',
  'kubeadmin-password',
] as const;

/** Files of version 1, including credentials. */
export const clusterFileNamesV1 = [
  'bootstrap.ign',
  'master.ign',
  'worker.ign',
  'metadata.json',
  'install-config.yaml',
  ...credentialNames,
] as const;

// Not a valid certificate: readers of the pointer only look at its form.
const certificate = `-----BEGIN CERTIFICATE-----\n${'TEFC'.repeat(16)}\n-----END CERTIFICATE-----\n`;

function pointer(store: InventoryStore, role: string, files: readonly IgnitionFile[]): string {
  const { name, baseDomain } = store.cluster();
  const server = store.configServer() ?? `https://api-int.${name}.${baseDomain}:22623`;
  const source = `${server}/config/${role}`;
  return JSON.stringify({
    ignition: {
      version: '3.2.0',
      config: { merge: [{ source }] },
      security: { tls: { certificateAuthorities: [{ source: dataUrl(certificate) }] } },
    },
    storage: { files },
  });
}

/** The pointer config of one host, in the service's form. */
export function hostIgnition(store: InventoryStore, host: HostRecord): string {
  const connection = `[connection]\nid=eth0\ntype=ethernet\n\n[ipv4]\nmethod=auto\n`;
  return pointer(store, host.role, [
    ignitionFile('/etc/hostname', `${host.hostname}\n`),
    ignitionFile('/etc/NetworkManager/system-connections/eth0.nmconnection', connection),
  ]);
}

/** A file of the cluster; undefined if the service does not have it. */
export function clusterFile(store: InventoryStore, name: string): string | undefined {
  const cluster = store.cluster();
  switch (name) {
    case 'master.ign':
    case 'worker.ign':
    case 'arbiter.ign':
      return pointer(store, name.replace('.ign', ''), []);
    case 'bootstrap.ign':
      return bootstrapIgnition(cluster, {
        kubeconfig: store.kubeconfig(),
        files: store.bootstrapFiles(),
      });
    case 'metadata.json':
      return JSON.stringify({ clusterName: cluster.name, clusterID: cluster.id });
    case 'install-config.yaml':
      return installConfig(cluster);
    case 'kubeconfig':
    case 'kubeconfig-noingress':
      return store.kubeconfig();
    case 'kubeadmin-password':
      return 'AAAAA-BBBBB-CCCCC-DDDDD';
    default:
      return store.clusterFiles()[name];
  }
}

// The Ignition of the bootstrap host in the form of openshift-install: the part that the agent
// reads (the pull secret), and the files on the host after it was applied.

/** A file in the form of Ignition. */
interface IgnitionFile {
  readonly path: string;
  readonly mode: number;
  readonly overwrite: boolean;
  readonly contents: { readonly source: string };
}

interface IgnitionUnit {
  readonly name: string;
  readonly enabled?: boolean;
  readonly contents: string;
}

/** Parts of the bootstrap host's config that do not follow from the cluster. */
export interface BootstrapContents {
  /** For /opt/openshift/auth; undefined if it does not exist yet. */
  readonly kubeconfig?: string | undefined;
  /** Pull secret of the cluster; default: the lab's. */
  readonly pullSecret?: string;
  /** Further files, by path. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A text as the source of a file in Ignition. */
const dataUrl = (text: string): string =>
  `data:text/plain;charset=utf-8;base64,${Buffer.from(text).toString('base64')}`;

/** A file with a text, in the form of Ignition. */
export const ignitionFile = (path: string, text: string, mode = 0o644): IgnitionFile => ({
  path,
  mode,
  overwrite: true,
  contents: { source: dataUrl(text) },
});

/** The config of the bootstrap host as JSON text. */
export function bootstrapIgnition(
  cluster: ClusterRecord,
  { kubeconfig, pullSecret = labPullSecret, files = {} }: BootstrapContents = {},
): string {
  return JSON.stringify({
    ignition: { version: '3.2.0' },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 AAAALAB lab'] }] },
    storage: {
      files: [
        ignitionFile('/root/.docker/config.json', pullSecret, 0o600),
        ...kubeconfigFiles(kubeconfig),
        ignitionFile('/opt/openshift/manifests/cluster-config.yaml', clusterConfig(cluster)),
        ignitionFile(
          '/opt/openshift/openshift/99_openshift-cluster-api_master-user-data-secret.yaml',
          'apiVersion: v1\nkind: Secret\nmetadata:\n  name: master-user-data\n  namespace: openshift-machine-api\n',
        ),
        ignitionFile(
          '/opt/openshift/openshift/openshift-install-manifests.yaml',
          `apiVersion: v1\ndata:\n  invoker: assisted-service\n  version: ${cluster.openshiftVersion}\nkind: ConfigMap\nmetadata:\n  name: openshift-install-manifests\n  namespace: openshift-config\n`,
        ),
        ignitionFile(
          '/usr/local/bin/bootkube.sh',
          '#!/bin/bash\n# The lab stands in for this part.\n',
          0o555,
        ),
        ...Object.entries(files).map(([path, text]) => ignitionFile(path, text)),
      ],
    },
    systemd: { units },
  });
}

const kubeconfigFiles = (text: string | undefined): readonly IgnitionFile[] =>
  text === undefined
    ? []
    : ['kubeconfig', 'kubeconfig-loopback'].map((name) =>
        ignitionFile(`/opt/openshift/auth/${name}`, text, 0o600),
      );

/** The ConfigMap from which programs in the cluster read the install config. */
const clusterConfig = (cluster: ClusterRecord): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cluster-config-v1', namespace: 'kube-system' },
    data: { 'install-config': installConfig(cluster) },
  });

/** The install config of a cluster as YAML text. */
export const installConfig = ({
  name,
  baseDomain,
  controlPlaneCount: replicas,
  platform,
}: ClusterRecord): string =>
  stringify({
    apiVersion: 'v1',
    baseDomain,
    metadata: { name },
    controlPlane: { name: 'master', replicas },
    platform: { [platform]: {} },
  });

const unit = (name: string): string => `[Unit]
Description=${name} of the lab
[Service]
ExecStart=/usr/local/bin/${name}.sh
[Install]
WantedBy=multi-user.target
`;

/** Units of the bootstrap host, also on a single node; the agent starts all but the first. */
const units: readonly IgnitionUnit[] = [
  { name: 'kubelet.service', enabled: true, contents: unit('kubelet') },
  ...['bootkube', 'approve-csr', 'progress'].map((name) => ({
    name: `${name}.service`,
    contents: unit(name),
  })),
];
