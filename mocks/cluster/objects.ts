// Objects that the temporary control plane and the operators create in a cluster.
import { stringify } from 'yaml';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import type { ClusterPlan, Member } from './cluster-state.ts';

/** An object with the name of its kind. */
export interface Named {
  readonly kind: KindName;
  readonly object: KubeObject;
}

/** A member, with the service's facts about its host. */
export interface NodeFacts extends Member {
  readonly hostId: string;
  /** Without prefix lengths. */
  readonly addresses: readonly string[];
  /** The provider ID with which its kubelet registers, from its Ignition. */
  readonly providerID?: () => Promise<string | undefined>;
}

const named = (
  kind: KindName,
  apiVersion: string,
  { metadata, ...content }: Pick<KubeObject, 'metadata'> & Readonly<Record<string, unknown>>,
): Named => ({ kind, object: { apiVersion, kind, metadata, ...content } });

const namespace = (name: string): Named => named('Namespace', 'v1', { metadata: { name } });

/** The invoker of the installation, as recorded in the cluster. */
export type Invoker = 'assisted-service' | 'agent-installer' | 'openshift-installer';

/** Namespaces of the release itself. */
const namespaces = [
  'openshift-config',
  'openshift-config-managed',
  'openshift-etcd',
  'openshift-machine-api',
  'openshift-machine-config-operator',
];

/** All objects of the cluster shortly after the API server's first answer. */
export function firstObjects(
  plan: Pick<ClusterPlan, 'members'>,
  invoker: Invoker,
): readonly Named[] {
  return [
    ...namespaces.map(namespace),
    // The controller manager creates one in each namespace; without it no pod is admitted.
    named('ServiceAccount', 'v1', {
      metadata: { name: 'default', namespace: 'openshift-machine-config-operator' },
    }),
    named('ConfigMap', 'v1', {
      metadata: { name: 'cluster-config-v1', namespace: 'kube-system' },
      data: { 'install-config': installConfig(plan) },
    }),
    named('ConfigMap', 'v1', {
      metadata: { name: 'openshift-install-manifests', namespace: 'openshift-config' },
      data: { invoker, version: '4.20.1' },
    }),
    named('Etcd', 'operator.openshift.io/v1', {
      metadata: { name: 'cluster' },
      spec: { managementState: 'Managed' },
    }),
    named('Proxy', 'config.openshift.io/v1', { metadata: { name: 'cluster' }, spec: {} }),
    named('ClusterVersion', 'config.openshift.io/v1', {
      metadata: { name: 'version' },
      spec: { clusterID: '00000000-0000-4000-8000-000000000000', channel: 'stable-4.20' },
    }),
    ...['etcd', 'machine-config'].map((name) =>
      named('ClusterOperator', 'config.openshift.io/v1', { metadata: { name }, spec: {} }),
    ),
    // The machine-config-operator lets new nodes request their client certificate.
    named('ClusterRoleBinding', 'rbac.authorization.k8s.io/v1', {
      metadata: { name: 'system-bootstrap-node-bootstrapper' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'system:node-bootstrapper',
      },
      subjects: [
        {
          kind: 'ServiceAccount',
          name: 'node-bootstrapper',
          namespace: 'openshift-machine-config-operator',
        },
      ],
    }),
  ];
}

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

/**
 * Conditions that are False on a healthy node, with their reasons (kubelet,
 * `pkg/kubelet/nodestatus`).
 */
const unpressed = {
  MemoryPressure: 'KubeletHasSufficientMemory',
  DiskPressure: 'KubeletHasNoDiskPressure',
  PIDPressure: 'KubeletHasSufficientPID',
};

/** A kubelet's status of its node. */
export function nodeStatus(
  { addresses }: Pick<NodeFacts, 'addresses'>,
  {
    isReady,
    kubeletPort,
    bootId,
    at,
  }: {
    readonly isReady: boolean;
    readonly kubeletPort: number;
    /** ID of the host's current boot. */
    readonly bootId: string;
    readonly at: Date;
  },
): object {
  return {
    addresses: [
      // The API server uses the first of these addresses to fetch logs from the kubelet.
      { type: 'Hostname', address: '127.0.0.1' },
      ...addresses.map((address) => ({ type: 'InternalIP', address })),
    ],
    nodeInfo: { bootID: bootId },
    daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
    conditions: [
      {
        type: 'Ready',
        status: isReady ? 'True' : 'False',
        reason: isReady ? 'KubeletReady' : 'KubeletNotReady',
        message: isReady
          ? 'kubelet is posting ready status'
          : 'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: No CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?',
      },
      ...Object.entries(unpressed).map(([type, reason]) => ({
        type,
        status: 'False',
        reason,
        message: 'kubelet has enough of it',
      })),
    ].map((condition) => ({
      ...condition,
      lastHeartbeatTime: at.toISOString(),
      lastTransitionTime: at.toISOString(),
    })),
  };
}

const kind = (group: string, version: string, plural: string): KubeKind => ({
  group,
  version,
  plural,
});
const rbac = (plural: string): KubeKind => kind('rbac.authorization.k8s.io', 'v1', plural);
const admission = (plural: string): KubeKind => kind('admissionregistration.k8s.io', 'v1', plural);

/** Kinds of the written objects, by their names in manifests. */
export const kinds = {
  Namespace: kind('', 'v1', 'namespaces'),
  ConfigMap: kind('', 'v1', 'configmaps'),
  Secret: kind('', 'v1', 'secrets'),
  ServiceAccount: kind('', 'v1', 'serviceaccounts'),
  Node: kind('', 'v1', 'nodes'),
  Pod: kind('', 'v1', 'pods'),
  Event: kind('', 'v1', 'events'),
  Job: kind('batch', 'v1', 'jobs'),
  Deployment: kind('apps', 'v1', 'deployments'),
  ReplicaSet: kind('apps', 'v1', 'replicasets'),
  DaemonSet: kind('apps', 'v1', 'daemonsets'),
  Lease: kind('coordination.k8s.io', 'v1', 'leases'),
  PodDisruptionBudget: kind('policy', 'v1', 'poddisruptionbudgets'),
  NetworkPolicy: kind('networking.k8s.io', 'v1', 'networkpolicies'),
  Role: rbac('roles'),
  RoleBinding: rbac('rolebindings'),
  ClusterRole: rbac('clusterroles'),
  ClusterRoleBinding: rbac('clusterrolebindings'),
  ValidatingAdmissionPolicy: admission('validatingadmissionpolicies'),
  ValidatingAdmissionPolicyBinding: admission('validatingadmissionpolicybindings'),
  CertificateSigningRequest: kind('certificates.k8s.io', 'v1', 'certificatesigningrequests'),
  MachineConfig: kind('machineconfiguration.openshift.io', 'v1', 'machineconfigs'),
  MachineConfigPool: kind('machineconfiguration.openshift.io', 'v1', 'machineconfigpools'),
  MachineOSConfig: kind('machineconfiguration.openshift.io', 'v1', 'machineosconfigs'),
  MachineOSBuild: kind('machineconfiguration.openshift.io', 'v1', 'machineosbuilds'),
  Etcd: kind('operator.openshift.io', 'v1', 'etcds'),
  ClusterVersion: kind('config.openshift.io', 'v1', 'clusterversions'),
  ClusterOperator: kind('config.openshift.io', 'v1', 'clusteroperators'),
  Proxy: kind('config.openshift.io', 'v1', 'proxies'),
} as const satisfies Readonly<Record<string, KubeKind>>;

/** Name of a kind that the stand-in knows. */
export type KindName = keyof typeof kinds;

/** Whether the stand-in knows a kind of this name. */
export const isKindName = (name: string): name is KindName => Object.hasOwn(kinds, name);
