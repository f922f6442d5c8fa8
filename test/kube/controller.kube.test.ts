import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestObject } from '../../mocks/cluster/kubelet.ts';
import { controllerEvent, controllerNamespace as namespace } from '../../src/cluster/controller.ts';
import { approved } from '../../src/cluster/csr/read-request.ts';
import { etcdCluster, isOverridden } from '../../src/cluster/etcd.ts';
import { certificateSigningRequests, clusterRoleBindings, events } from '../../src/kube/kinds.ts';
import { recordRef } from '../../src/steps/cluster/left-record.ts';
import {
  controllerRules,
  controllerNamespaceRules,
} from '../../src/steps/bootstrap/controller-permissions.ts';
import {
  completesInstallation,
  type InstallationSite,
  leftEvent,
  startInstallation,
} from './installation-site.ts';
import { deploy, putLeftWork } from './new-cluster.ts';
import { unusedPermissions } from './permissions.ts';
import { clusterRoles, hostClient } from './cluster-access.ts';

let site: InstallationSite;
beforeAll(async () => {
  site = await startInstallation(deploy);
  const { client } = site.rig;
  await putLeftWork(client);
  // The state after a crash of the controller.
  const event = controllerEvent({
    namespace,
    name: leftEvent,
    reason: 'CertificateRequestsLeft',
    type: 'Warning',
    message: 'client-of-another',
    count: 1,
    at: Date.UTC(2026, 10, 26),
  });
  await client.create(events, event);
});
afterAll(() => site.close());

/** The permission that the API server checks when a request is approved. */
const ofSigner = 'certificates.k8s.io signers approve';
/** A wait that is satisfied by its first list may end before its watch is sent. */
const ofWaits = ['clusteroperators', 'clusterversions'].map(
  (kind) => `config.openshift.io ${kind} watch`,
);
describe('the controller on a real API server', () => {
  it('completes an installation with its own permissions', async () => {
    const { client } = site.rig;
    await completesInstallation(site);
    const etcd = await client.get(etcdCluster);
    expect(etcd && isOverridden(etcd)).toBe(false);
    expect(await client.get(recordRef)).toBeUndefined();
  });

  it('needs all of its permissions and no others', async () => {
    const asked = await site.asked();
    expect(asked.filter(({ status }) => status === 403)).toEqual([]);
    const rules = { '': controllerRules, [namespace]: controllerNamespaceRules };
    const unused = unusedPermissions(asked, rules, [ofSigner]);
    expect(unused.filter((one) => !ofWaits.includes(one.trim()))).toEqual([]);
  });

  it('cannot approve without the permission for the signer', async () => {
    const { client, kubeconfigFor } = site.rig;
    const [apiGroup, name] = ['rbac.authorization.k8s.io', 'no-signer'];
    const rules = controllerRules.filter(({ resources }) => !resources.includes('signers'));
    const metadata = { name };
    await client.create(clusterRoles, { metadata, rules });
    await client.create(clusterRoleBindings, {
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects: [{ apiGroup, kind: 'User', name }],
    });
    const asked = await requestObject({ node: 'm0', addresses: [], purpose: 'client' });
    const ref = { kind: certificateSigningRequests, name: 'of-m0' };
    const request = await client.create(ref.kind, { ...asked, metadata: { name: ref.name } });
    const why = { reason: 'NodeCSRApprove', message: 'by a test', at: Date.now() };
    const own = hostClient(await kubeconfigFor({ user: { name } }));
    // Until the server has loaded the role, it refuses because the user has no role yet.
    await expect
      .poll(() => own.replace(ref, approved(request, why), 'approval').catch(String))
      .toMatch(/not permitted to approve requests with signerName/);
    await own.close();
  });
});
