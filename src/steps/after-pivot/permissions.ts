import { etcdNamespace } from '../../cluster/etcd-conditions.ts';
import { etcdCluster } from '../../cluster/etcd.ts';
import { kubeletSigners } from '../../cluster/csr/signing-request.ts';
import { leftName, leftNamespace } from './record.ts';

/** A rule of a role (rbac.authorization.k8s.io/v1). */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const look = ['get', 'list', 'watch'] as const;

/** The constraints under which a pod may use its node's network: of OpenShift 4.11, and before. */
const hostNetworkConstraints = ['hostnetwork-v2', 'hostnetwork'] as const;

/** What the job may do in the whole cluster. To delete this role of its own is its last act. */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: look },
  {
    apiGroups: ['certificates.k8s.io'],
    resources: ['certificatesigningrequests'],
    verbs: look,
  },
  {
    apiGroups: ['certificates.k8s.io'],
    resources: ['certificatesigningrequests/approval'],
    verbs: ['update'],
  },
  {
    apiGroups: ['certificates.k8s.io'],
    resources: ['signers'],
    resourceNames: Object.values(kubeletSigners),
    verbs: ['approve'],
  },
  { apiGroups: [etcdCluster.kind.group], resources: ['etcds'], verbs: look },
  {
    apiGroups: [etcdCluster.kind.group],
    resources: ['etcds'],
    resourceNames: [etcdCluster.name],
    verbs: ['patch'],
  },
  {
    apiGroups: ['security.openshift.io'],
    resources: ['securitycontextconstraints'],
    resourceNames: hostNetworkConstraints,
    verbs: ['use'],
  },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['clusterroles'],
    resourceNames: [leftName],
    verbs: ['delete'],
  },
];

/** What the job may do in single namespaces. */
export const namespacedRules: Readonly<Record<string, readonly PolicyRule[]>> = {
  [leftNamespace]: [
    {
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: [leftName],
      verbs: ['get', 'patch', 'delete'],
    },
  ],
  [etcdNamespace]: [{ apiGroups: [''], resources: ['pods'], verbs: look }],
};
