import type { KubeKind } from '../ports/kube.ts';

const core = (plural: string): KubeKind => ({ group: '', version: 'v1', plural });

export const nodes = core('nodes');
export const pods = core('pods');
export const events = core('events');
export const configMaps = core('configmaps');
export const secrets = core('secrets');
export const serviceAccounts = core('serviceaccounts');
export const namespaces = core('namespaces');

export const jobs: KubeKind = { group: 'batch', version: 'v1', plural: 'jobs' };

const rbac = (plural: string): KubeKind => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
});
export const clusterRoles = rbac('clusterroles');
export const clusterRoleBindings = rbac('clusterrolebindings');
export const roles = rbac('roles');
export const roleBindings = rbac('rolebindings');

export const certificateSigningRequests: KubeKind = {
  group: 'certificates.k8s.io',
  version: 'v1',
  plural: 'certificatesigningrequests',
};

const machineConfiguration = (plural: string): KubeKind => ({
  group: 'machineconfiguration.openshift.io',
  version: 'v1',
  plural,
});
export const machineConfigs = machineConfiguration('machineconfigs');
export const machineConfigNodes = machineConfiguration('machineconfignodes');
export const machineConfigPools = machineConfiguration('machineconfigpools');
export const machineOSConfigs = machineConfiguration('machineosconfigs');
export const machineOSBuilds = machineConfiguration('machineosbuilds');

export const etcds: KubeKind = { group: 'operator.openshift.io', version: 'v1', plural: 'etcds' };
