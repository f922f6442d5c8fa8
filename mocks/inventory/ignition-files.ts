import {
  bootstrapIgnition,
  dataUrl,
  ignitionFile,
  type IgnitionFile,
  installConfig,
} from './bootstrap-ignition.ts';
import type { HostRecord } from './records.ts';
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

/** Files with which one enters a cluster; version 2 has a path of their own for them. */
export const credentialNames = [
  'kubeconfig',
  'kubeconfig-noingress',
  'kubeadmin-password',
] as const;

/** Files that version 1 offers, credentials among them. */
export const clusterFileNamesV1 = [
  'bootstrap.ign',
  'master.ign',
  'worker.ign',
  'metadata.json',
  'install-config.yaml',
  ...credentialNames,
] as const;

// Not a certificate that anybody could use: only its form matters to who reads the pointer.
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

/** The pointer config of one host, as the service makes it. */
export function hostIgnition(store: InventoryStore, host: HostRecord): string {
  const connection = `[connection]\nid=eth0\ntype=ethernet\n\n[ipv4]\nmethod=auto\n`;
  return pointer(store, host.role, [
    ignitionFile('/etc/hostname', `${host.hostname}\n`),
    ignitionFile('/etc/NetworkManager/system-connections/eth0.nmconnection', connection),
  ]);
}

/** A file of the cluster, or undefined when the service does not have it. */
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
      return undefined;
  }
}
