import { controllerName, namespace } from './names.ts';

const read = ['get', 'list', 'watch'] as const;

/** What the controller may do, by API group: `[groups, resources, verbs, names]`. */
const rights: readonly (readonly [string, readonly string[], readonly string[], string[]?])[] = [
  ['', ['pods', 'configmaps', 'pods/log'], read],
  ['', ['pods'], ['deletecollection']],
  ['', ['nodes'], [...read, 'patch']],
  ['', ['events'], ['create']],
  ['', ['namespaces'], ['patch']],
  ['', ['services'], ['list', 'delete']],
  ['certificates.k8s.io', ['certificatesigningrequests'], read],
  ['certificates.k8s.io', ['certificatesigningrequests/approval'], ['update']],
  [
    'certificates.k8s.io',
    ['signers'],
    ['approve'],
    ['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving'],
  ],
  ['batch', ['jobs'], ['get', 'list', 'delete']],
  ['authentication.k8s.io', ['tokenreviews'], ['create']],
  ['authorization.k8s.io', ['subjectaccessreviews'], ['create']],
  ['config.openshift.io', ['clusteroperators'], ['get', 'create', 'list', 'watch']],
  ['config.openshift.io', ['clusteroperators/status'], ['update'], ['machine-approver']],
  ['config.openshift.io', ['proxies', 'clusterversions'], ['get', 'list']],
  ['operator.openshift.io', ['etcds', 'ingresscontrollers'], ['patch']],
  ['metal3.io', ['baremetalhosts'], [...read, 'update', 'patch']],
  ['metal3.io', ['baremetalhosts/status'], ['get', 'patch', 'update']],
  ['metal3.io', ['provisionings'], ['get', 'list']],
  ['machine.openshift.io', ['machines'], read],
  ['operators.coreos.com', ['clusterserviceversions'], ['get', 'list']],
  ['operators.coreos.com', ['subscriptions', 'installplans'], ['get', 'list', 'update', 'delete']],
  [
    'security.openshift.io',
    ['securitycontextconstraints'],
    ['use'],
    [
      'anyuid',
      'nonroot',
      'hostmount-anyuid',
      'machine-api-termination-handler',
      'hostnetwork',
      'hostaccess',
      'node-exporter',
    ],
  ],
  ['machineconfiguration.openshift.io', ['*'], ['patch', 'get']],
];

/** The rights of the controller, those of the controller that is replaced. */
export const controllerRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: controllerName },
  rules: rights.map(([group, resources, verbs, resourceNames]) => ({
    apiGroups: [group],
    resources,
    ...(resourceNames === undefined ? {} : { resourceNames }),
    verbs,
  })),
};

/** Gives the controller its rights. */
export const controllerRoleBinding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: controllerName },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: controllerName,
  },
  subjects: [{ kind: 'ServiceAccount', name: controllerName, namespace }],
};

/** Who the controller is. */
export const controllerServiceAccount = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: controllerName, namespace },
};
