import { expect } from 'vitest';
import type { KubeClient } from '../../mocks/kube/client.ts';
import type { AuditedRequest, Kube as Rig } from '../../mocks/kube/start.ts';
import type { KubeKind } from '../../src/ports/kube.ts';
import type { PolicyRule } from '../../src/layering/manifests/service-account.ts';
import { until } from './pivoted-cluster.ts';
import { clusterRoles, hostClient } from './rig.ts';

// Checks that an account has the permissions that it needs, and no more.

/**
 * A permission that no part here uses: OpenShift's admission checks the SecurityContextConstraints
 * of a new pod.
 */
const openShiftOnly = 'security.openshift.io securitycontextconstraints use';

/** Rules by namespace; `''` for cluster-wide rules. */
type RulesByNamespace = Readonly<Record<string, readonly PolicyRule[]>>;

/**
 * Granted permissions that no request used, as `NAMESPACE GROUP RESOURCE VERB`. The API server
 * checks the permissions in `byAdmission`, as `GROUP RESOURCE VERB`, during other requests;
 * `expectNeeded` shows that they are needed.
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

interface Granted {
  /** The user of the service account. */
  readonly account: string;
  /** Its cluster role, which no other test uses meanwhile. */
  readonly role: string;
  /** As `GROUP RESOURCE VERB`. */
  readonly permission: string;
}

/** Runs an action of an account without a permission, which must be refused, and with it. */
export async function expectNeeded(
  { client, kubeconfigFor }: Pick<Rig, 'client' | 'kubeconfigFor'>,
  { account, role, permission }: Granted,
  run: (client: KubeClient) => Promise<unknown>,
): Promise<void> {
  const own = hostClient(await kubeconfigFor({ user: { name: account } }));
  const ref = { kind: clusterRoles, name: role };
  const { rules } = (await client.get(ref)) as unknown as ClusterRole;
  const holds = (rule: PolicyRule): boolean => permissionsIn([rule]).includes(permission);
  const reduced = rules.map((rule) =>
    holds(rule)
      ? { ...rule, verbs: rule.verbs.filter((verb) => !permission.endsWith(` ${verb}`)) }
      : rule,
  );
  const [name = ''] = rules.find(holds)?.resourceNames ?? [];
  const isAllowed = () => mayDo(client, account, { permission, name });
  try {
    await client.merge(ref, { rules: reduced.filter(({ verbs }) => verbs.length > 0) });
    await until(async () => !(await isAllowed()));
    await expect(run(own)).rejects.toMatchObject({ status: 403 });
    await client.merge(ref, { rules });
    await until(isAllowed);
    await run(own);
  } finally {
    await own.close();
  }
}

interface ClusterRole {
  readonly rules: readonly PolicyRule[];
}

const accessReviews: KubeKind = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
};

/** Whether the API server allows a request of a user, for a named object if the rule has names. */
async function mayDo(
  client: KubeClient,
  user: string,
  { permission, name }: { readonly permission: string; readonly name: string },
): Promise<boolean> {
  const [group = '', path = '', verb = ''] = permission.split(' ');
  const [resource = '', subresource = ''] = path.split('/');
  const review = await client.create(accessReviews, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: { name: '' },
    spec: { user, resourceAttributes: { group, resource, subresource, verb, name } },
  });
  return (review as { readonly status?: { readonly allowed?: boolean } }).status?.allowed === true;
}
