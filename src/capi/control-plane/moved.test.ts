import { expect, it } from 'vitest';
import {
  bootstrapIn,
  capiNamespace,
  conditionIn,
  controlPlaneIn,
  controlPlaneOf,
  controlPlaneUid,
  jobRunner,
  machinesIn,
  managementCluster,
  report,
  controlPlanesAtWork,
} from '../../../test/support/capi-world.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { nodes, secrets } from '../../kube/kinds.ts';
import { hours, type Millis, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { bootstrapConfigs, capiMachines, ownNames } from '../api.ts';

/** Runs a provider for a while. */
async function run(kube: FakeKube, { guest, start }: { guest: FakeKube; start: Millis }) {
  const installer = jobRunner(kube);
  const { pass, end } = controlPlanesAtWork({ kube, guest, installer }, start);
  await pass(seconds(2));
  return { installer, pass: () => pass(seconds(2)), end };
}

/**
 * The objects of a cluster after a move by clusterctl: all that its Cluster owns, with other uids
 * and without status.
 */
function moved(from: FakeKube): FakeKube {
  const found = controlPlaneIn(from);
  const { metadata, ...rest } = controlPlaneOf(found?.spec);
  const { finalizers = [], annotations = {} } = found?.metadata ?? {};
  const own = { ...metadata, uid: 'moved', finalizers, annotations };
  const to = managementCluster({ ...rest, metadata: own });
  for (const kind of [capiMachines, bootstrapConfigs, secrets])
    for (const { status: _, ...object } of from.objectsOf(kind)) {
      const text = JSON.stringify(object).replaceAll(controlPlaneUid, 'moved');
      const { metadata: before, ...content } = JSON.parse(text) as KubeObject;
      const { uid, resourceVersion: __, ...named } = before;
      to.put(kind, { ...content, metadata: { ...named, uid: `${uid ?? ''}-moved` } });
    }
  return to;
}

// test/capi/install.capi.test.ts covers a move with all masters.
it('a moved cluster stays available without its bootstrap host, and nothing is generated again', async () => {
  const from = managementCluster();
  const guest = fakeKube();
  const start = Date.UTC(2026, 10, 1);
  const first = await run(from, { guest, start });
  const { name = '' } = bootstrapIn(from)?.metadata ?? {};
  for (const stage of ['Waiting for control plane', 'Rebooting']) {
    report(from, name, stage);
    await first.pass();
  }
  expect(machinesIn(from)).toHaveLength(3);
  expect(controlPlaneIn(from)?.metadata.annotations).toHaveProperty(ownNames.bootstrapComplete);
  await first.end();
  const to = moved(from);
  to.drop({ kind: capiMachines, namespace: capiNamespace, name });
  guest.put(nodes, { metadata: { name: 'n0' } });
  const second = await run(to, { guest, start: start + hours(24) * 30 });
  await second.pass();
  expect(second.installer.runs).toEqual([]);
  expect(
    to.writes.filter(({ verb, name: of }) => verb === 'remove' || of === 'demo-install-assets'),
  ).toEqual([]);
  expect(machinesIn(to)).toHaveLength(3);
  expect(bootstrapIn(to)).toBeUndefined();
  expect(conditionIn(to, 'BootstrapComplete')).toBe('True Complete');
  expect(conditionIn(to, 'Available')).toBe('True Available');
  expect(controlPlaneIn(to)?.status?.initialization).toEqual({ controlPlaneInitialized: true });
});
