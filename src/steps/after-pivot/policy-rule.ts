/** A rule of a role (rbac.authorization.k8s.io/v1). */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** Verbs that read objects and follow their changes. */
export const readVerbs = ['get', 'list', 'watch'] as const;
