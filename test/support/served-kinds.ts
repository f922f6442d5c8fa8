import { kubeFailure } from '../../src/ports/kube-failures.ts';
import type { KubeObject, KubeRef } from '../../src/ports/kube.ts';

/** A kind that manifests name, as the API server serves it. */
export interface ServedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
}

const inCluster = (apiVersion: string, kinds: Readonly<Record<string, string>>) =>
  Object.entries(kinds).map(([kind, plural]) => ({
    apiVersion,
    kind,
    plural,
    isNamespaced: false,
  }));

const inNamespaces = (apiVersion: string, kinds: Readonly<Record<string, string>>) =>
  Object.entries(kinds).map(([kind, plural]) => ({ apiVersion, kind, plural, isNamespaced: true }));

/** Kinds that any new cluster of OpenShift serves, and of OLM's those that manifests use. */
export const servedAtFirst: readonly ServedKind[] = [
  ...inCluster('v1', { Namespace: 'namespaces', Node: 'nodes' }),
  ...inNamespaces('v1', {
    ConfigMap: 'configmaps',
    Event: 'events',
    Pod: 'pods',
    Secret: 'secrets',
    Service: 'services',
    ServiceAccount: 'serviceaccounts',
  }),
  ...inNamespaces('apps/v1', { DaemonSet: 'daemonsets', Deployment: 'deployments' }),
  ...inNamespaces('batch/v1', { Job: 'jobs' }),
  ...inCluster('rbac.authorization.k8s.io/v1', {
    ClusterRole: 'clusterroles',
    ClusterRoleBinding: 'clusterrolebindings',
  }),
  ...inNamespaces('rbac.authorization.k8s.io/v1', { Role: 'roles', RoleBinding: 'rolebindings' }),
  ...inNamespaces('coordination.k8s.io/v1', { Lease: 'leases' }),
  ...inNamespaces('operators.coreos.com/v1', { OperatorGroup: 'operatorgroups' }),
  ...inNamespaces('operators.coreos.com/v1alpha1', {
    ClusterServiceVersion: 'clusterserviceversions',
    Subscription: 'subscriptions',
  }),
];

/** Where a manifest belongs, and the manifest with its namespace. */
export function placedManifest(
  manifest: KubeObject,
  served: readonly ServedKind[],
): { readonly ref: KubeRef; readonly placed: KubeObject } {
  const { apiVersion, kind } = manifest;
  const metadata = Object(manifest.metadata) as Partial<KubeObject['metadata']>;
  const { name } = metadata;
  if (!apiVersion || !kind || !name) throw kubeFailure('kube.invalid', 'an incomplete manifest');
  const found = served.find((one) => one.apiVersion === apiVersion && one.kind === kind);
  if (found === undefined) throw kubeFailure('kube.not-found', `no ${kind} of ${apiVersion}`);
  const words = apiVersion.split('/');
  const [group = '', version = ''] = words.length === 1 ? ['', ...words] : words;
  const namespace = found.isNamespaced ? (metadata.namespace ?? 'default') : undefined;
  const place = { name, ...(namespace === undefined ? {} : { namespace }) };
  const { namespace: _, ...others } = metadata;
  return {
    ref: { kind: { group, version, plural: found.plural }, ...place },
    placed: { ...manifest, metadata: { ...others, ...place } },
  };
}
