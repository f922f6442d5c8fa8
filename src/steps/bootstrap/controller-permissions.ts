import { gatheringPodName, leftName } from '../../cluster/controller.ts';
import { kubeletSigners } from '../../cluster/csr/read-request.ts';
import { type PolicyRule, rule } from '../../layering/manifests/service-account.ts';

const listAndWatch = ['list', 'watch'] as const;
const machineConfiguration = 'machineconfiguration.openshift.io';

/**
 * Constraints under which the pod of the controller may use the network and files of its node
 * (assisted-installer, `assisted-installer-controller-role.yaml`).
 */
const hostConstraints = [
  ...['anyuid', 'nonroot', 'hostmount-anyuid', 'machine-api-termination-handler'],
  ...['hostnetwork', 'hostaccess', 'node-exporter'],
] as const;

/** The permissions of the controller in the whole cluster; a test uses each of them. */
export const controllerRules: readonly PolicyRule[] = [
  rule('', ['nodes'], [['get', ...listAndWatch, 'patch']]),
  rule('', ['configmaps'], [['get', ...listAndWatch]]),
  rule('', ['pods'], [listAndWatch]),
  rule('', ['pods/log'], [['get']]),
  rule('certificates.k8s.io', ['certificatesigningrequests'], [['get', ...listAndWatch]]),
  rule('certificates.k8s.io', ['certificatesigningrequests/approval'], [['update']]),
  rule('certificates.k8s.io', ['signers'], [['approve'], ...Object.values(kubeletSigners)]),
  rule('config.openshift.io', ['clusteroperators', 'clusterversions'], [listAndWatch]),
  rule('config.openshift.io', ['proxies'], [['get'], 'cluster']),
  // Objects that a controller left when it was killed during a must-gather.
  rule('rbac.authorization.k8s.io', ['clusterrolebindings'], [['delete'], gatheringPodName]),
  rule(machineConfiguration, ['machineconfigpools'], [['get', 'patch']]),
  // Objects that the bootstrap host left: the etcd override, and paused pools.
  rule('operator.openshift.io', ['etcds'], [['get', ...listAndWatch]]),
  rule('operator.openshift.io', ['etcds'], [['patch'], 'cluster']),
  rule(machineConfiguration, ['machineosconfigs'], [['get']]),
  rule('metal3.io', ['baremetalhosts'], [[...listAndWatch, 'patch']]),
  rule('metal3.io', ['baremetalhosts/status'], [['patch']]),
  rule('metal3.io', ['provisionings'], [['get']]),
  rule('machine.openshift.io', ['machines'], [listAndWatch]),
  rule('operators.coreos.com', ['subscriptions', 'clusterserviceversions'], [listAndWatch]),
  rule('operators.coreos.com', ['installplans'], [[...listAndWatch, 'delete']]),
  rule('batch', ['jobs'], [[...listAndWatch, 'delete']]),
  // The pod of the controller uses the network of its node and mounts its files.
  rule('security.openshift.io', ['securitycontextconstraints'], [['use'], ...hostConstraints]),
];

/** The permissions of the controller in its own namespace. */
export const controllerNamespaceRules: readonly PolicyRule[] = [
  rule('', ['events'], [['create', 'patch']]),
  rule('', ['configmaps'], [['patch', 'delete'], leftName]),
  rule('coordination.k8s.io', ['leases'], [['get', 'create', 'update']]),
];

const read = ['get', ...listAndWatch] as const;

/**
 * The permissions of assisted-installer-controller (assisted-installer,
 * `assisted-installer-controller-role.yaml`).
 */
export const foreignRules: readonly PolicyRule[] = [
  rule('', ['pods', 'configmaps', 'pods/log'], [read]),
  rule('', ['pods'], [['deletecollection']]),
  rule('', ['nodes'], [[...read, 'patch']]),
  rule('', ['events'], [['create']]),
  rule('', ['namespaces'], [['patch']]),
  rule('', ['services'], [['list', 'delete']]),
  rule('certificates.k8s.io', ['certificatesigningrequests'], [read]),
  rule('certificates.k8s.io', ['certificatesigningrequests/approval'], [['update']]),
  rule('certificates.k8s.io', ['signers'], [['approve'], ...Object.values(kubeletSigners)]),
  rule('batch', ['jobs'], [['get', 'list', 'delete']]),
  rule('authentication.k8s.io', ['tokenreviews'], [['create']]),
  rule('authorization.k8s.io', ['subjectaccessreviews'], [['create']]),
  rule('config.openshift.io', ['clusteroperators'], [['get', 'create', ...listAndWatch]]),
  rule('config.openshift.io', ['clusteroperators/status'], [['update'], 'machine-approver']),
  rule('config.openshift.io', ['proxies', 'clusterversions'], [['get', 'list']]),
  rule('operator.openshift.io', ['etcds', 'ingresscontrollers'], [['patch']]),
  rule('metal3.io', ['baremetalhosts'], [[...read, 'update', 'patch']]),
  rule('metal3.io', ['baremetalhosts/status'], [['get', 'patch', 'update']]),
  rule('metal3.io', ['provisionings'], [['get', 'list']]),
  rule('machine.openshift.io', ['machines'], [read]),
  rule('operators.coreos.com', ['clusterserviceversions'], [['get', 'list']]),
  rule(
    'operators.coreos.com',
    ['subscriptions', 'installplans'],
    [['get', 'list', 'update', 'delete']],
  ),
  rule('security.openshift.io', ['securitycontextconstraints'], [['use'], ...hostConstraints]),
  rule(machineConfiguration, ['*'], [['patch', 'get']]),
];
