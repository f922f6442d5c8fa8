import { createHash, randomUUID } from 'node:crypto';

/** Status of a host; only those that an installation passes through. */
export type HostStatus =
  | 'known'
  | 'disabled'
  | 'installing'
  | 'installing-in-progress'
  | 'installing-pending-user-action'
  | 'installed'
  | 'added-to-existing-cluster'
  | 'error'
  | 'cancelled';

/** Status of a cluster; only those that an installation passes through. */
export type ClusterStatus =
  'ready' | 'installing' | 'finalizing' | 'installed' | 'error' | 'cancelled' | 'adding-hosts';

/** A host as the service keeps it. */
export interface HostRecord {
  readonly id: string;
  readonly infraEnvId: string;
  readonly clusterId: string;
  readonly hostname: string;
  /** A user gave it the name; else the name comes from its inventory alone. */
  readonly isRenamed: boolean;
  /** The bootstrap host has the role master and `isBootstrap`. */
  readonly role: 'master' | 'arbiter' | 'worker';
  readonly isBootstrap: boolean;
  /** Of either version, on one interface; with a prefix length or without. */
  readonly addresses: readonly string[];
  /** The inventory as it stands in the database, where it is not made of the addresses. */
  readonly inventory?: string;
  readonly status: HostStatus;
  readonly statusInfo: string;
  /** Empty before the first report. */
  readonly stage: string;
  readonly stageInfo: string;
  readonly stageStartedAt: number;
  readonly stageUpdatedAt: number;
  readonly logsState: string;
  /** Bytes of the logs that were uploaded. */
  readonly logBytes: number;
}

/** A cluster as the service keeps it. */
export interface ClusterRecord {
  readonly id: string;
  readonly name: string;
  readonly baseDomain: string;
  readonly kind: 'Cluster' | 'AddHostsCluster';
  readonly status: ClusterStatus;
  readonly openshiftVersion: string;
  readonly controlPlaneCount: number;
  readonly platform: string;
  /** JSON text, empty for none. */
  readonly installConfigOverrides: string;
  readonly logsState: string;
}

/** A file that was uploaded. */
export interface UploadedFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** A cluster whose installation has begun; every field may be given. */
export const clusterSeed = (fields: Partial<ClusterRecord> = {}): ClusterRecord => ({
  id: randomUUID(),
  name: 'lab',
  baseDomain: 'example.test',
  kind: 'Cluster',
  status: 'installing',
  openshiftVersion: '4.20.1',
  controlPlaneCount: 3,
  platform: 'baremetal',
  installConfigOverrides: '',
  logsState: '',
  ...fields,
});

/** A host of that cluster whose install command was just given out; its id decides its addresses. */
export function hostSeed(
  fields: Pick<HostRecord, 'clusterId' | 'infraEnvId' | 'hostname' | 'role'> & Partial<HostRecord>,
): HostRecord {
  const { id = randomUUID() } = fields;
  return {
    id,
    isBootstrap: false,
    isRenamed: false,
    addresses: addressesOf(id),
    status: 'installing',
    statusInfo: 'Installation is in progress',
    stage: '',
    stageInfo: '',
    stageStartedAt: 0,
    stageUpdatedAt: 0,
    logsState: '',
    logBytes: 0,
    ...fields,
  };
}

function addressesOf(id: string): readonly string[] {
  const [a = 0, b = 0, c = 0] = createHash('sha256').update(id).digest();
  const last = 1 + (c % 254);
  return [
    `10.${a}.${b}.${last}/8`,
    `fd00::${a.toString(16)}:${b.toString(16)}:${last.toString(16)}/64`,
  ];
}
