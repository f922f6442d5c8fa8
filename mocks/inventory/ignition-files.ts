import type { ClusterRecord, HostRecord } from './records.ts';

/** Files of a cluster that the service offers, by name. */
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

const dataUrl = (text: string): string =>
  `data:text/plain;charset=utf-8;base64,${Buffer.from(text).toString('base64')}`;

// Not a certificate that anybody could use: only its form matters to who reads the pointer.
const certificate = `-----BEGIN CERTIFICATE-----\n${'TEFC'.repeat(16)}\n-----END CERTIFICATE-----\n`;

interface IgnitionFile {
  readonly path: string;
  readonly mode: number;
  readonly overwrite: boolean;
  readonly contents: { readonly source: string };
}

const file = (path: string, text: string): IgnitionFile => ({
  path,
  mode: 0o644,
  overwrite: true,
  contents: { source: dataUrl(text) },
});

function pointer(cluster: ClusterRecord, role: string, files: readonly IgnitionFile[]): string {
  const source = `https://api-int.${cluster.name}.${cluster.baseDomain}:22623/config/${role}`;
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
export function hostIgnition(cluster: ClusterRecord, host: HostRecord): string {
  const connection = `[connection]\nid=eth0\ntype=ethernet\n\n[ipv4]\nmethod=auto\n`;
  return pointer(cluster, host.role, [
    file('/etc/hostname', `${host.hostname}\n`),
    file('/etc/NetworkManager/system-connections/eth0.nmconnection', connection),
  ]);
}

/** A file of the cluster, or undefined when the service does not have it. */
export function clusterFile(cluster: ClusterRecord, name: string): string | undefined {
  switch (name) {
    case 'master.ign':
    case 'worker.ign':
    case 'arbiter.ign':
      return pointer(cluster, name.replace('.ign', ''), []);
    case 'bootstrap.ign':
      return JSON.stringify({ ignition: { version: '3.2.0' }, storage: { files: [] } });
    case 'metadata.json':
      return JSON.stringify({ clusterName: cluster.name, clusterID: cluster.id });
    case 'install-config.yaml':
      return `apiVersion: v1\nbaseDomain: ${cluster.baseDomain}\nmetadata:\n  name: ${cluster.name}\n`;
    default:
      return undefined;
  }
}
