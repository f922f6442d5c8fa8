// Objects that the temporary control plane and the operators create in a cluster.
import { stringify } from 'yaml';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import { objectIn, objectsIn } from './object-files.ts';
import type { ClusterPlan, Member } from './cluster-state.ts';

/** A member, with the service's facts about its host. */
export interface NodeFacts extends Member {
  readonly hostId: string;
  /** Without prefix lengths. */
  readonly addresses: readonly string[];
  /** The provider ID with which its kubelet registers, from its Ignition. */
  readonly providerID?: () => Promise<string | undefined>;
}

/** The invoker of the installation, as recorded in the cluster. */
export type Invoker = 'assisted-service' | 'agent-installer' | 'openshift-installer';

/** All objects of the cluster shortly after the API server's first answer. */
export const firstObjects = (
  plan: Pick<ClusterPlan, 'members'>,
  invoker: Invoker,
): readonly KubeObject[] =>
  objectsIn('first', { invoker, installConfig: JSON.stringify(installConfig(plan)) });

function installConfig({ members }: Pick<ClusterPlan, 'members'>): string {
  const count = (role: Member['role']): number =>
    members.filter((member) => member.role === role).length;
  const arbiters = count('arbiter');
  return stringify({
    apiVersion: 'v1',
    baseDomain: 'example.test',
    metadata: { name: 'lab' },
    controlPlane: { name: 'master', replicas: count('master') },
    ...(arbiters === 0 ? {} : { arbiter: { name: 'arbiter', replicas: arbiters } }),
    compute: [{ name: 'worker', replicas: count('worker') }],
    platform: { baremetal: {} },
  });
}

/**
 * Name of a role's MachineConfig, as the machine-config-operator renders it on the bootstrap host
 * and then again.
 */
export const renderedName = (role: Member['role']): string =>
  `rendered-${role}-0123456789abcdef0123456789abcdef`;

/** Its name once an operator of the cluster has added a MachineConfig. */
export const renderedAgainName = (role: Member['role']): string =>
  `rendered-${role}-fedcba9876543210fedcba9876543210`;

/** A MachineConfig as rendered by the machine-config-controller. */
export const renderedObject = (name: string): KubeObject => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: { name },
  spec: { config: { ignition: { version: '3.4.0' } } },
});

const PREFIX = 'machineconfiguration.openshift.io';

/**
 * The machine-config-daemon's annotations of a node with this rendered MachineConfig
 * (`node-annotations.json`).
 */
export const configAnnotations = (rendered: string): Readonly<Record<string, string>> => ({
  [`${PREFIX}/currentConfig`]: rendered,
  [`${PREFIX}/desiredConfig`]: rendered,
  [`${PREFIX}/state`]: 'Done',
});

/** A node as created by its kubelet: the daemon annotates its MachineConfig later. */
export function nodeObject({ name, role }: Member, providerID?: string): KubeObject {
  const roles = role === 'master' ? ['master', 'control-plane'] : [role];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        ...Object.fromEntries(roles.map((one) => [`node-role.kubernetes.io/${one}`, ''])),
      },
    },
    ...(providerID === undefined ? {} : { spec: { providerID } }),
  };
}

const unready =
  'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: No CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?';

/** A kubelet's status of its node; a boot ID is that of the host's current boot. */
export function nodeStatus(
  { addresses }: Pick<NodeFacts, 'addresses'>,
  {
    isReady,
    kubeletPort: port,
    bootId,
    at,
  }: {
    readonly isReady: boolean;
    readonly kubeletPort: number;
    readonly bootId: string;
    readonly at: Date;
  },
): object {
  return objectIn('node-status', {
    // The API server uses the first of these addresses to fetch logs from the kubelet.
    addresses: JSON.stringify([
      { type: 'Hostname', address: '127.0.0.1' },
      ...addresses.map((address) => ({ type: 'InternalIP', address })),
    ]),
    bootId,
    port,
    ready: isReady ? 'True' : 'False',
    reason: isReady ? 'KubeletReady' : 'KubeletNotReady',
    message: JSON.stringify(isReady ? 'kubelet is posting ready status' : unready),
    time: at.toISOString(),
  });
}

/** The kinds of the written objects by their API groups, all of version v1. */
const groups = {
  '': ['Namespace', 'ConfigMap', 'Secret', 'ServiceAccount', 'Node', 'Pod', 'Event'],
  batch: ['Job'],
  apps: ['Deployment', 'ReplicaSet', 'DaemonSet'],
  'coordination.k8s.io': ['Lease'],
  policy: ['PodDisruptionBudget'],
  'networking.k8s.io': ['NetworkPolicy'],
  'rbac.authorization.k8s.io': ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'],
  'admissionregistration.k8s.io': ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
  'certificates.k8s.io': ['CertificateSigningRequest'],
  'machineconfiguration.openshift.io': [
    'MachineConfig',
    'MachineConfigPool',
    'MachineOSConfig',
    'MachineOSBuild',
  ],
  'operator.openshift.io': ['Etcd'],
  'config.openshift.io': ['ClusterVersion', 'ClusterOperator', 'Proxy'],
} as const;

/** Name of a kind that the stand-in knows. */
export type KindName = (typeof groups)[keyof typeof groups][number];

const pluralOf = (name: KindName): string => `${name.toLowerCase()}s`.replace(/ys$/, 'ies');

/** The kinds by their names in manifests. */
export const kinds = Object.fromEntries(
  Object.entries(groups).flatMap(([group, names]) =>
    names.map((name) => [name, { group, version: 'v1', plural: pluralOf(name) }] as const),
  ),
) as Readonly<Record<KindName, KubeKind>>;

/** The kind of an object that names it. */
export const kindOf = ({ kind: name }: KubeObject): KubeKind => kinds[name as KindName];

/** Whether the stand-in knows a kind of this name. */
export const isKindName = (name: string): name is KindName => Object.hasOwn(kinds, name);
