/** A rule of a role (rbac.authorization.k8s.io/v1). */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** To see what is there, and to be told of changes. */
export const look = ['get', 'list', 'watch'] as const;
