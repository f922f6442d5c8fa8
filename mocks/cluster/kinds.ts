import type { KubeKind } from '../../src/ports/kube.ts';

const kind = (group: string, version: string, plural: string): KubeKind => ({
  group,
  version,
  plural,
});
const rbac = (plural: string): KubeKind => kind('rbac.authorization.k8s.io', 'v1', plural);

/** Kinds that are written into a cluster, by the name that a manifest has for them. */
export const kinds = {
  Namespace: kind('', 'v1', 'namespaces'),
  ConfigMap: kind('', 'v1', 'configmaps'),
  Secret: kind('', 'v1', 'secrets'),
  ServiceAccount: kind('', 'v1', 'serviceaccounts'),
  Node: kind('', 'v1', 'nodes'),
  Pod: kind('', 'v1', 'pods'),
  Event: kind('', 'v1', 'events'),
  Job: kind('batch', 'v1', 'jobs'),
  NetworkPolicy: kind('networking.k8s.io', 'v1', 'networkpolicies'),
  Role: rbac('roles'),
  RoleBinding: rbac('rolebindings'),
  ClusterRole: rbac('clusterroles'),
  ClusterRoleBinding: rbac('clusterrolebindings'),
  CertificateSigningRequest: kind('certificates.k8s.io', 'v1', 'certificatesigningrequests'),
  MachineConfig: kind('machineconfiguration.openshift.io', 'v1', 'machineconfigs'),
  MachineConfigPool: kind('machineconfiguration.openshift.io', 'v1', 'machineconfigpools'),
  MachineOSConfig: kind('machineconfiguration.openshift.io', 'v1', 'machineosconfigs'),
  MachineOSBuild: kind('machineconfiguration.openshift.io', 'v1', 'machineosbuilds'),
  Etcd: kind('operator.openshift.io', 'v1', 'etcds'),
  ClusterVersion: kind('config.openshift.io', 'v1', 'clusterversions'),
  ClusterOperator: kind('config.openshift.io', 'v1', 'clusteroperators'),
} as const satisfies Readonly<Record<string, KubeKind>>;

/** Name of a kind that the stand-in knows. */
export type KindName = keyof typeof kinds;

/** Whether the stand-in knows a kind of this name. */
export const isKindName = (name: string): name is KindName => Object.hasOwn(kinds, name);
