import { createHash, randomUUID } from 'node:crypto';

/** Status of a host; only statuses during an installation. */
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

/** Status of a cluster; only statuses during an installation. */
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

/** A host in the service's database. */
export interface HostRecord {
  readonly id: string;
  readonly infraEnvId: string;
  readonly clusterId: string;
  readonly hostname: string;
  /** A user gave it the name; otherwise the name comes only from its inventory. */
  readonly isRenamed: boolean;
  /** The bootstrap host has the role master and `isBootstrap`. */
  readonly role: 'master' | 'arbiter' | 'worker';
  readonly isBootstrap: boolean;
  /** IPv4 and IPv6 addresses on one interface; with a prefix length or without. */
  readonly addresses: readonly string[];
  /** The inventory text in the database, if it is not made from the addresses. */
  readonly inventory?: string;
  readonly status: HostStatus;
  readonly statusInfo: string;
  /** Empty before the first report. */
  readonly stage: string;
  readonly stageInfo: string;
  readonly stageStartedAt: number;
  readonly stageUpdatedAt: number;
  readonly logsState: string;
  /** Labels that a user requests for the node. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  /** The pool that a user requests for the node. */
  readonly pool?: string;
  /** Bytes of the uploaded logs. */
  readonly logBytes: number;
}

/** An operator for which the service waits. */
export interface OperatorRecord {
  readonly name: string;
  readonly type: 'builtin' | 'olm';
  readonly namespace: string;
  readonly subscription: string;
  readonly version: string;
  /** Empty before the first report. */
  readonly status: 'failed' | 'progressing' | 'available' | '';
  readonly statusInfo: string;
  readonly timeoutSeconds: number;
}

/** A cluster in the service's database. */
export interface ClusterRecord {
  readonly id: string;
  readonly name: string;
  readonly baseDomain: string;
  readonly kind: 'Cluster' | 'AddHostsCluster';
  readonly status: ClusterStatus;
  readonly openshiftVersion: string;
  readonly controlPlaneCount: number;
  readonly platform: string;
  /** JSON text, or empty. */
  readonly installConfigOverrides: string;
  readonly logsState: string;
  readonly statusInfo: string;
  /** The last reported stage of finalizing. */
  readonly finalizing?: {
    readonly stage: string;
    readonly isTimedOut: boolean;
    readonly startedAt: number;
  };
  readonly operators: readonly OperatorRecord[];
  /** Whether the ingress certificates were uploaded, so that there is a complete kubeconfig. */
  readonly hasIngressCa: boolean;
}

/** A controller's report of the end of an installation. */
export interface Completion {
  readonly isSuccess: boolean;
  readonly error: string;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

/** An uploaded file. */
export interface UploadedFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** An operator of the lifecycle manager without a report; every field may be given. */
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
 * A host of that cluster that has just received its install command; its addresses follow from its
 * id.
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
