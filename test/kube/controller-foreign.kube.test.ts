import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { KubeClient } from '../../mocks/kube/client.ts';
import { clusterRoleBindings, namespaces, serviceAccounts } from '../../src/kube/kinds.ts';
import { Config } from '../../src/config/schema.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import { controllerManifests } from '../../src/steps/bootstrap/controller-manifests.ts';
import {
  completesInstallation,
  type InstallationSite,
  startInstallation,
} from './installation-site.ts';
import { clusterRoles } from './cluster-access.ts';

// The RBAC objects of assisted-installer-controller, as its own bootstrap host creates them: our
// controller may watch little, and has no lease.

const kinds: Readonly<Record<string, KubeKind>> = {
  Namespace: namespaces,
  ServiceAccount: serviceAccounts,
  ClusterRole: clusterRoles,
  ClusterRoleBinding: clusterRoleBindings,
};

async function deployForeign(client: KubeClient): Promise<void> {
  const config = Config.parse({ images: { controller: 'quay.io/another/controller:1' } });
  const objects = controllerManifests(config).map(({ content }) => parse(content) as KubeObject);
  for (const kind of Object.keys(kinds)) {
    const object = objects.find((one) => one.kind === kind);
    const found = kinds[kind];
    if (object === undefined || found === undefined) throw new TypeError(`there is no ${kind}`);
    await client.apply(found, object);
  }
}

let site: InstallationSite;
beforeAll(async () => {
  site = await startInstallation(deployForeign);
});
afterAll(() => site.close());

describe('the controller with the role of assisted-installer-controller on a real API server', () => {
  it('completes an installation', async () => {
    await completesInstallation(site);
  });

  it('seldom retries refused requests', async () => {
    const refused = (await site.asked()).filter(({ status }) => status === 403);
    const times = Map.groupBy(
      refused,
      ({ verb, group, resource, namespace, name }) =>
        `${verb} ${group} ${resource} ${namespace} ${name}`,
    );
    const often = [...times].filter(([, same]) => {
      const at = same.map((one) => one.at);
      return same.length > 1 + (Math.max(...at) - Math.min(...at)) / 5000;
    });
    expect(often.map(([what, same]) => [what, same.map(({ at }) => at)])).toEqual([]);
    // A wait that is satisfied by its first list may end before its watch is sent.
    const kindsOf = new Set(refused.map(({ verb, resource }) => `${verb} ${resource}`));
    kindsOf.delete('watch clusterversions');
    expect([...kindsOf].toSorted()).toEqual([
      ...['delete clusterrolebindings', 'get etcds', 'get leases', 'list etcds'],
      ...['clusterserviceversions', 'installplans', 'jobs'].map((kind) => `watch ${kind}`),
      'watch subscriptions',
    ]);
  });
});
