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
  | 'cancelled'
  | 'resetting-pending-user-action';

/** Status of a cluster; only those that an installation passes through. */
export type ClusterStatus =
  | 'insufficient'
  | 'ready'
  | 'installing'
  | 'installing-pending-user-action'
  | 'finalizing'
  | 'installed'
  | 'error'
  | 'cancelled'
  | 'adding-hosts';

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
  /** Labels that a user wants on the node. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  /** The pool that a user wants the node in. */
  readonly pool?: string;
  /** Bytes of the logs that were uploaded. */
  readonly logBytes: number;
}

/** An operator that the service waits for. */
export interface OperatorRecord {
  readonly name: string;
  readonly type: 'builtin' | 'olm';
  readonly namespace: string;
  readonly subscription: string;
  readonly version: string;
  /** Empty while nobody has reported it. */
  readonly status: 'failed' | 'progressing' | 'available' | '';
  readonly statusInfo: string;
  readonly timeoutSeconds: number;
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
  readonly statusInfo: string;
  /** The stage of finalizing that was reported last. */
  readonly finalizing?: {
    readonly stage: string;
    readonly isTimedOut: boolean;
    readonly startedAt: number;
  };
  readonly operators: readonly OperatorRecord[];
  /** The certificates of the ingress were uploaded, so that there is a whole kubeconfig. */
  readonly hasIngressCa: boolean;
}

/** How a controller says that an installation has ended. */
export interface Completion {
  readonly isSuccess: boolean;
  readonly error: string;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

/** A file that was uploaded. */
export interface UploadedFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** An operator of the lifecycle manager that nobody has reported yet; every field may be given. */
export const operatorSeed = (
  fields: Pick<OperatorRecord, 'name'> & Partial<OperatorRecord>,
): OperatorRecord => ({
  type: 'olm',
  namespace: `openshift-${fields.name}`,
  subscription: `${fields.name}-operator`,
  version: '',
  status: '',
  statusInfo: '',
  timeoutSeconds: 4200,
  ...fields,
});

const builtin = (name: string): OperatorRecord =>
  operatorSeed({ name, type: 'builtin', namespace: '', subscription: '', timeoutSeconds: 3600 });

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
  statusInfo: 'Installation in progress',
  operators: [builtin('console'), builtin('cvo')],
  hasIngressCa: false,
  ...fields,
});

/**
 * A host of that cluster whose install command was just given out; its id decides its addresses.
 */
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
