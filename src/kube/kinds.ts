import type { KubeKind } from '../ports/kube.ts';

const kindsOf =
  (group: string, version = 'v1') =>
  (plural: string): KubeKind => ({ group, version, plural });

const core = kindsOf('');
export const nodes = core('nodes');
export const pods = core('pods');
export const events = core('events');
export const configMaps = core('configmaps');
export const secrets = core('secrets');
export const secretMetadata: KubeKind = { ...secrets, isMetadataOnly: true };
export const serviceAccounts = core('serviceaccounts');
export const namespaces = core('namespaces');

export const deployments = kindsOf('apps')('deployments');
export const jobs = kindsOf('batch')('jobs');
export const leases = kindsOf('coordination.k8s.io')('leases');
export const podDisruptionBudgets = kindsOf('policy')('poddisruptionbudgets');
export const clusterRoleBindings = kindsOf('rbac.authorization.k8s.io')('clusterrolebindings');
export const validatingAdmissionPolicyBindings = kindsOf('admissionregistration.k8s.io')(
  'validatingadmissionpolicybindings',
);
export const certificateSigningRequests = kindsOf('certificates.k8s.io')(
  'certificatesigningrequests',
);

const machineConfiguration = kindsOf('machineconfiguration.openshift.io');
export const machineConfigs = machineConfiguration('machineconfigs');
export const machineConfigNodes = machineConfiguration('machineconfignodes');
export const machineConfigPools = machineConfiguration('machineconfigpools');
export const machineOSConfigs = machineConfiguration('machineosconfigs');
export const machineOSBuilds = machineConfiguration('machineosbuilds');

/** Image streams, with the images of a release by name. */
export const imageStreams = kindsOf('image.openshift.io')('imagestreams');
export const etcds = kindsOf('operator.openshift.io')('etcds');
export const machines = kindsOf('machine.openshift.io', 'v1beta1')('machines');

const config = kindsOf('config.openshift.io');
export const clusterVersions = config('clusterversions');
export const clusterOperators = config('clusteroperators');

const olm = kindsOf('operators.coreos.com', 'v1alpha1');
export const subscriptions = olm('subscriptions');
export const clusterServiceVersions = olm('clusterserviceversions');
export const installPlans = olm('installplans');

const metal3 = kindsOf('metal3.io', 'v1alpha1');
export const bareMetalHosts = metal3('baremetalhosts');
export const provisionings = metal3('provisionings');
