import type { AuditedRequest } from '../../mocks/kube/start.ts';
import type { PolicyRule } from '../../src/layering/manifests/service-account.ts';

// Checks that an account has no more permissions than it needs.

/**
 * A permission that no part here uses: OpenShift's admission checks the SecurityContextConstraints
 * of a new pod.
 */
const openShiftOnly = 'security.openshift.io securitycontextconstraints use';

/** Rules by namespace; `''` for cluster-wide rules. */
type RulesByNamespace = Readonly<Record<string, readonly PolicyRule[]>>;

/**
 * Granted permissions that no request used, as `NAMESPACE GROUP RESOURCE VERB`. The API server
 * checks the permissions in `byAdmission`, as `GROUP RESOURCE VERB`, during other requests.
 */
export function unusedPermissions(
  asked: readonly AuditedRequest[],
  rules: RulesByNamespace,
  byAdmission: readonly string[] = [],
): readonly string[] {
  const isUsed = (place: string, permission: string): boolean =>
    asked.some(
      ({ namespace, group, resource, verb }) =>
        (place === '' || namespace === place) && `${group} ${resource} ${verb}` === permission,
    );
  return Object.entries(rules).flatMap(([place, listed]) =>
    permissionsIn(listed)
      .filter((one) => one !== openShiftOnly && !byAdmission.includes(one))
      .filter((one) => !isUsed(place, one))
      .map((one) => `${place} ${one}`),
  );
}

const permissionsIn = (rules: readonly PolicyRule[]): readonly string[] =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${group} ${resource} ${verb}`)),
    ),
  );
