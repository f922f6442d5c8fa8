import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { etcdCluster, isOverridden } from '../../src/cluster/etcd.ts';
import { machineOSConfigs } from '../../src/cluster/kinds.ts';
import { recordRef } from '../../src/steps/cluster/left-record.ts';
import {
  controllerRules,
  controllerNamespaceRules,
} from '../../src/steps/controller/permissions.ts';
import { leftImage } from '../layering/left-images.ts';
import {
  completesInstallation,
  type InstallationSite,
  startInstallation,
} from './installation-site.ts';
import { deploy, putLeftWork } from './new-cluster.ts';

let site: InstallationSite;
beforeAll(async () => {
  site = await startInstallation(deploy);
  await putLeftWork(site.rig.client);
});
afterAll(() => site.close());

/** What an installation that goes well does not show. */
const elsewhere: ReadonlySet<string> = new Set([
  // Looked up by the admission of OpenShift when the pod of the job is made, and of Kubernetes when a request is approved.
  'security.openshift.io securitycontextconstraints use',
  'certificates.k8s.io signers approve',
  // When another writes a request at the same time.
  'certificates.k8s.io certificatesigningrequests get',
  // By the admission of OpenShift and of our API server, when a MachineOSBuild is given its owner.
  'machineconfiguration.openshift.io machineosbuilds delete',
  'machineconfiguration.openshift.io machineosconfigs/finalizers update',
  // When a user has made the MachineOSConfig already.
  'machineconfiguration.openshift.io machineosconfigs patch',
  // When more requests are left after a minute.
  ' events patch',
]);

describe('the controller on a real API server', () => {
  it('completes an installation with its own permissions', async () => {
    const { client } = site.rig;
    await completesInstallation(site);
    const etcd = await client.get(etcdCluster);
    expect(etcd && isOverridden(etcd)).toBe(false);
    const osConfig = { kind: machineOSConfigs, name: leftImage.pool };
    expect((await client.get(osConfig))?.['status']).toMatchObject({
      currentImagePullSpec: leftImage.image,
    });
    expect(await client.get(recordRef)).toBeUndefined();
  });

  it('was refused nothing, and may do nothing that it did not', async () => {
    const asked = await site.asked();
    expect(asked.filter(({ status }) => status === 403)).toEqual([]);
    const used = new Set(asked.map(({ group, resource, verb }) => `${group} ${resource} ${verb}`));
    const granted = [...controllerRules, ...controllerNamespaceRules].flatMap(
      ({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${group} ${resource} ${verb}`)),
        ),
    );
    expect(granted.filter((one) => !used.has(one) && !elsewhere.has(one))).toEqual([]);
  });
});
