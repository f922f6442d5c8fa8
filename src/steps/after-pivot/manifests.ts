import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  jobs,
  namespaces,
  roleBindings,
  roles,
  serviceAccounts,
} from '../../cluster/kinds.ts';
import { isAtLeast, releaseVersion } from '../../cluster/release-version.ts';
import type { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeKind, KubeObject, KubeRef } from '../../ports/kube.ts';
import { step } from '../step.ts';
import { clusterRules, namespacedRules } from './permissions.ts';
import { leftName, leftNamespace, type PivotRecord, recordData, recordRef } from './record.ts';

/** An object to be left in the cluster. */
export interface Manifest {
  readonly ref: KubeRef;
  readonly object: KubeObject;
}

const labels = {
  'app.kubernetes.io/name': 'bootwright',
  'app.kubernetes.io/component': 'after-pivot',
  'app.kubernetes.io/part-of': 'assisted-installer',
} as const;

const privileged = 'privileged';

/** The namespace, where the controller has not made it; as its manifest of the same name is. */
export const namespaceManifest: Manifest = {
  ref: { kind: namespaces, name: leftNamespace },
  object: {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: leftNamespace,
      labels: {
        'security.openshift.io/scc.podSecurityLabelSync': 'false',
        // A pod on its node's network is not allowed by less.
        'pod-security.kubernetes.io/enforce': privileged,
        'pod-security.kubernetes.io/audit': privileged,
        'pod-security.kubernetes.io/warn': privileged,
      },
    },
  },
};

/** Where the role in the cluster is. */
export const clusterRoleRef: KubeRef = { kind: clusterRoles, name: leftName };

const clusterRole = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' } as const;

/**
 * The role in the cluster, which owns whatever else is left but the job: when the job deletes it at
 * its end, or a person does, the garbage collector takes the rest away.
 */
export const clusterRoleManifest = (images: readonly LeftImage[]): Manifest => ({
  ref: clusterRoleRef,
  object: { ...clusterRole, metadata: { name: leftName, labels }, rules: clusterRules(images) },
});

const recordContent = (record: PivotRecord) => ({ data: recordData(record) });

/** The record alone, for a controller that has its permissions already. */
export const recordManifest = (record: PivotRecord): Manifest => ({
  ref: recordRef,
  object: {
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    metadata: { name: leftName, namespace: leftNamespace, labels },
    ...recordContent(record),
  },
});

/** What the objects that the role owns are made from. */
export interface LeftParts {
  readonly record: PivotRecord;
  /** `uid` of the role in the cluster. */
  readonly ownerUid: string;
}

/** The record and the permissions, in the order in which they are needed. */
export function ownedManifests({ record, ownerUid }: LeftParts): readonly Manifest[] {
  const owned = ownedBy(ownerUid);
  const inNamespaces = Object.entries(namespacedRules(record.images)).flatMap(
    ([namespace, rules]) => [
      owned({ kind: roles, name: leftName, namespace }, { rules }),
      owned(
        { kind: roleBindings, name: leftName, namespace },
        { roleRef: roleRef('Role'), subjects },
      ),
    ],
  );
  return [
    owned({ kind: configMaps, name: leftName, namespace: leftNamespace }, recordContent(record)),
    owned({ kind: serviceAccounts, name: leftName, namespace: leftNamespace }, {}),
    owned(
      { kind: clusterRoleBindings, name: leftName },
      { roleRef: roleRef('ClusterRole'), subjects },
    ),
    ...inNamespaces,
  ];
}

const kindNames = new Map<KubeKind, string>([
  [configMaps, 'ConfigMap'],
  [serviceAccounts, 'ServiceAccount'],
  [clusterRoleBindings, 'ClusterRoleBinding'],
  [roles, 'Role'],
  [roleBindings, 'RoleBinding'],
]);

const subjects = [{ kind: 'ServiceAccount', name: leftName, namespace: leftNamespace }] as const;

const roleRef = (kind: string): Readonly<Record<string, string>> => ({
  apiGroup: 'rbac.authorization.k8s.io',
  kind,
  name: leftName,
});

const ownedBy =
  (uid: string) =>
  (ref: KubeRef, content: Readonly<Record<string, unknown>>): Manifest => {
    const { group, version } = ref.kind;
    const ownerReferences = [{ ...clusterRole, name: leftName, uid }];
    const metadata = {
      name: ref.name,
      ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
      labels,
      ownerReferences,
    };
    return {
      ref,
      object: {
        apiVersion: group === '' ? version : `${group}/${version}`,
        kind: kindNames.get(ref.kind) ?? '',
        metadata,
        ...content,
      },
    };
  };

/** How the job is made. */
export interface JobParts {
  /** Our own image, as the nodes of the cluster can pull it. */
  readonly image: string;
  readonly openshiftVersion: string;
}

const aDay = 24 * 60 * 60;

/** The job that runs `bootwright after-pivot` in the cluster. */
export const jobManifest = ({ image, openshiftVersion }: JobParts): Manifest => ({
  ref: { kind: jobs, name: leftName, namespace: leftNamespace },
  object: {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: leftName, namespace: leftNamespace, labels },
    spec: {
      // Whatever ends a run before its time is gone on with by the next one, for a day in all.
      backoffLimit: 1000,
      activeDeadlineSeconds: aDay,
      ...timeToLive(openshiftVersion),
      template: {
        metadata: { labels, annotations: { 'openshift.io/required-scc': 'hostnetwork-v2' } },
        spec: podSpec({ image, openshiftVersion }),
      },
    },
  },
});

/**
 * Before 4.8 the API server drops the field (Kubernetes 1.20, feature gate TTLAfterFinished), so that
 * the job would not be as it was sent; it then stays until somebody deletes it.
 */
function timeToLive(openshiftVersion: string): Readonly<Record<string, unknown>> {
  const version = releaseVersion(openshiftVersion);
  return version !== undefined && isAtLeast(version, [4, 8, 0])
    ? { ttlSecondsAfterFinished: aDay }
    : {};
}

const podSpec = ({ image, openshiftVersion }: JobParts): Readonly<Record<string, unknown>> => ({
  serviceAccountName: leftName,
  restartPolicy: 'OnFailure',
  // The network of containers may still be in the making, and name servers with it.
  hostNetwork: true,
  dnsPolicy: 'Default',
  // A service called bootwright would set variables that look like settings.
  enableServiceLinks: false,
  priorityClassName: 'system-cluster-critical',
  terminationGracePeriodSeconds: 10,
  nodeSelector: { 'node-role.kubernetes.io/master': '' },
  tolerations,
  securityContext: { runAsNonRoot: true, ...seccompFor(openshiftVersion) },
  containers: [
    {
      name: 'after-pivot',
      image,
      imagePullPolicy: 'IfNotPresent',
      args: ['after-pivot'],
      resources: { requests: { cpu: '10m', memory: '128Mi' } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      terminationMessagePolicy: 'FallbackToLogsOnError',
    },
  ],
});

/** A control plane that is being made has all of these for a while. */
const tolerations = [
  'node-role.kubernetes.io/master',
  'node-role.kubernetes.io/control-plane',
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/network-unavailable',
  'node.cloudprovider.kubernetes.io/uninitialized',
].map((key) => ({ key, operator: 'Exists' }));

/**
 * Before 4.11 no constraint for the node's network allows a profile to be named; since then the
 * constraint itself names it where the pod does not.
 */
function seccompFor(openshiftVersion: string): Readonly<Record<string, unknown>> {
  const version = releaseVersion(openshiftVersion);
  return version !== undefined && isAtLeast(version, [4, 11, 0])
    ? { seccompProfile: { type: 'RuntimeDefault' } }
    : {};
}

/**
 * Removes the record, then the role in the cluster, which owns whatever else was left; after that
 * this program may do nothing more. The job itself stays for a day, with its log.
 */
export const removeRecord = step({
  id: 'after-pivot/remove-record',
  title: 'Remove the record and the permissions of this job',
  uses: ['kube'],
  limit: minutes(5),
  run: async ({ kube, signal, note }) => {
    await kube.remove(recordRef, signal);
    try {
      await kube.remove(clusterRoleRef, signal);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== 'kube.denied') throw error;
      // The role itself allows it: it is gone, and only the word of that was lost.
      note('info', 'the permissions are already removed', { reason: error.message });
    }
  },
});
