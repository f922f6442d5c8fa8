import type { KubeObject } from '../../ports/kube.ts';
import { operatorNamespace } from './bootstrap-manifests.ts';

/** A rule of a role (rbac.authorization.k8s.io/v1). */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A rule for `resources` of a group with verbs; with names, only for these objects. */
export const rule = (
  group: string,
  resources: readonly string[],
  [verbs, ...resourceNames]: readonly [readonly string[], ...string[]],
): PolicyRule => ({
  apiGroups: [group],
  resources,
  ...(resourceNames.length === 0 ? {} : { resourceNames }),
  verbs,
});

/**
 * Security context of our pods that need nothing but an API server: the restricted profile
 * (Kubernetes, "Pod Security Standards").
 */
export const restrictedPod = {
  pod: {
    runAsNonRoot: true,
    runAsUser: 65_532,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  container: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
} as const;

const group = 'rbac.authorization.k8s.io';
const rbac = { apiVersion: `${group}/v1` };

/**
 * A service account of the operator's namespace with the given rules for each namespace, or for the
 * cluster ('').
 */
export function accountManifests(
  name: string,
  rules: Readonly<Record<string, readonly PolicyRule[]>>,
): readonly KubeObject[] {
  const account = { name, namespace: operatorNamespace };
  const subjects = [{ kind: 'ServiceAccount', ...account }];
  const roles = Object.entries(rules).flatMap(([namespace, rules]): readonly KubeObject[] => {
    const prefix = namespace === '' ? 'Cluster' : '';
    const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
    const roleRef = { apiGroup: group, kind: `${prefix}Role`, name };
    return [
      { ...rbac, kind: `${prefix}Role`, metadata, rules },
      { ...rbac, kind: `${prefix}RoleBinding`, metadata, roleRef, subjects },
    ];
  });
  return [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account }, ...roles];
}
