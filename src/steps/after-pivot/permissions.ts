import { kubeletSigners } from '../../cluster/csr/signing-request.ts';
import { etcdCluster, etcdNamespace } from '../../cluster/etcd.ts';
import { machineConfigPools, machineOSBuilds, machineOSConfigs } from '../../cluster/kinds.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { jobOf } from '../../layering/hand-over/invariants.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import type { PolicyRule } from '../controller/permissions.ts';
import { leftName, leftNamespace } from './record.ts';

/** Verbs that read objects and follow their changes. */
const readVerbs = ['get', 'list', 'watch'] as const;

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

const operator = [machineOSConfigs.group] as const;
const poolsOf = (images: readonly LeftImage[]): readonly string[] => images.map(({ pool }) => pool);
const buildsOf = (images: readonly LeftImage[]): readonly string[] =>
  images.map(({ machineOSBuild }) => machineOSBuild);

/** What the job may do in the whole cluster to hand images over. */
function handOverRules(images: readonly LeftImage[]): readonly PolicyRule[] {
  if (images.length === 0) return [];
  const written = [
    { kind: machineOSConfigs, resourceNames: poolsOf(images) },
    { kind: machineOSBuilds, resourceNames: buildsOf(images) },
  ];
  return [
    { apiGroups: operator, resources: [machineConfigPools.plural], verbs: readVerbs },
    ...written.flatMap(({ kind: { plural }, resourceNames }) => [
      { apiGroups: operator, resources: [plural], verbs: [...readVerbs, 'create'] },
      {
        apiGroups: operator,
        resources: [plural, `${plural}/status`],
        resourceNames,
        verbs: ['patch'],
      },
    ]),
    // Who gives an object an owner must be allowed to delete it, and to finalize an owner whose deletion it blocks
    // (Kubernetes, OwnerReferencesPermissionEnforcement).
    {
      apiGroups: operator,
      resources: [machineOSBuilds.plural],
      resourceNames: buildsOf(images),
      verbs: ['delete'],
    },
    {
      apiGroups: operator,
      resources: [`${machineOSConfigs.plural}/finalizers`],
      resourceNames: poolsOf(images),
      verbs: ['update'],
    },
  ];
}

/** What it may do about jobs of the cluster's builder, which starts one by mistake. */
const buildJobRules = (images: readonly LeftImage[]): readonly PolicyRule[] => [
  { apiGroups: ['batch'], resources: ['jobs'], verbs: readVerbs },
  {
    apiGroups: ['batch'],
    resources: ['jobs'],
    resourceNames: buildsOf(images).map(jobOf),
    verbs: ['delete'],
  },
];
