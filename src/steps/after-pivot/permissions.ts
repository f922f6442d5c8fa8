import { etcdCluster, etcdNamespace } from '../../cluster/etcd.ts';
import { kubeletSigners } from '../../cluster/csr/signing-request.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { buildJobRules, handOverRules } from './image-permissions.ts';
import { readVerbs, type PolicyRule } from './policy-rule.ts';
import { leftName, leftNamespace } from './record.ts';

/** The constraints under which a pod may use its node's network: of OpenShift 4.11, and before. */
const hostNetworkConstraints = ['hostnetwork-v2', 'hostnetwork'] as const;

/** What every job may do in the whole cluster. To delete this role of its own is its last act. */
const clusterRulesOfAll: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: readVerbs },
  {
    apiGroups: ['certificates.k8s.io'],
    resources: ['certificatesigningrequests'],
    verbs: readVerbs,
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
  { apiGroups: [etcdCluster.kind.group], resources: ['etcds'], verbs: readVerbs },
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

/** What the job may do in the whole cluster, with these images to bring to their pools. */
export const clusterRules = (images: readonly LeftImage[]): readonly PolicyRule[] => [
  ...clusterRulesOfAll,
  ...handOverRules(images),
];

/** What the job may do in single namespaces, with these images to bring to their pools. */
export const namespacedRules = (
  images: readonly LeftImage[],
): Readonly<Record<string, readonly PolicyRule[]>> => ({
  [leftNamespace]: [
    {
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: [leftName],
      verbs: ['get', 'patch', 'delete'],
    },
  ],
  [etcdNamespace]: [{ apiGroups: [''], resources: ['pods'], verbs: readVerbs }],
  ...(images.length === 0 ? {} : { [operatorNamespace]: buildJobRules(images) }),
});
