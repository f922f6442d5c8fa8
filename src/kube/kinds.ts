import type { KubeKind } from '../ports/kube.ts';

const core = (plural: string): KubeKind => ({ group: '', version: 'v1', plural });

export const nodes = core('nodes');
export const pods = core('pods');
export const events = core('events');
export const configMaps = core('configmaps');
export const secrets = core('secrets');
export const secretMetadata: KubeKind = { ...secrets, isMetadataOnly: true };
export const serviceAccounts = core('serviceaccounts');
export const namespaces = core('namespaces');

export const deployments: KubeKind = { group: 'apps', version: 'v1', plural: 'deployments' };
export const jobs: KubeKind = { group: 'batch', version: 'v1', plural: 'jobs' };

export const clusterRoleBindings: KubeKind = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterrolebindings',
};

export const validatingAdmissionPolicyBindings: KubeKind = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicybindings',
};

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

export const podDisruptionBudgets: KubeKind = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
};

/** Image streams, with the images of a release by name. */
export const imageStreams: KubeKind = {
  group: 'image.openshift.io',
  version: 'v1',
  plural: 'imagestreams',
};

const operated = (plural: string): KubeKind => ({
  group: 'operator.openshift.io',
  version: 'v1',
  plural,
});
export const etcds = operated('etcds');

const config = (plural: string): KubeKind => ({
  group: 'config.openshift.io',
  version: 'v1',
  plural,
});
export const clusterVersions = config('clusterversions');
export const clusterOperators = config('clusteroperators');

const olm = (plural: string): KubeKind => ({
  group: 'operators.coreos.com',
  version: 'v1alpha1',
  plural,
});
export const subscriptions = olm('subscriptions');
export const clusterServiceVersions = olm('clusterserviceversions');
export const installPlans = olm('installplans');
export const leases: KubeKind = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

const metal3 = (plural: string): KubeKind => ({ group: 'metal3.io', version: 'v1alpha1', plural });
export const bareMetalHosts = metal3('baremetalhosts');
export const provisionings = metal3('provisionings');

export const machines: KubeKind = {
  group: 'machine.openshift.io',
  version: 'v1beta1',
  plural: 'machines',
};
