import { describe, expect, it } from 'vitest';
import {
  capiNamespace,
  controlPlaneIn,
  controlPlaneOf,
  jobRunner,
  installConfigOf,
  labMachines,
  machinesIn,
  managementCluster,
  controlPlanesAtWork,
} from '../../../test/support/capi-world.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import { secrets } from '../../kube/kinds.ts';
import { seconds } from '../../model/duration.ts';
import { clusters, controlPlanes, ownNames } from '../api.ts';
import { secretData } from '../objects.ts';
import { machineName } from './machines.ts';

/** Runs a provider for two seconds. */
async function run(kube: FakeKube, installer = jobRunner(kube)): Promise<void> {
  const { pass, end } = controlPlanesAtWork({ kube, installer });
  await pass(seconds(2));
  await end();
}

/** Changes something right before the files of the installer are seen. */
const onceMade = (kube: FakeKube, change: () => void) => {
  const runner = jobRunner(kube);
  const run: typeof runner.run = (now) => {
    const before = runner.runs.length;
    runner.run(now);
    if (before === 0 && runner.runs.length === 1) change();
  };
  return { ...runner, run };
};

const pause = (kube: FakeKube): void => {
  const [cluster] = kube.objectsOf(clusters);
  if (cluster === undefined) return;
  kube.put(clusters, { ...cluster, spec: { ...(cluster['spec'] as object), paused: true } });
};

const remake = (kube: FakeKube): void => {
  kube.drop({ kind: controlPlanes, namespace: capiNamespace, name: 'demo' });
  const { metadata, ...rest } = controlPlaneOf();
  kube.put(controlPlanes, { ...rest, metadata: { ...metadata, uid: 'another' } });
};

const assetsIn = (kube: FakeKube) =>
  kube.objectsOf(secrets).filter(({ metadata }) => metadata.name === 'demo-install-assets');

describe('what has changed since a decision', () => {
  it('nothing is done for another control plane of its name', async () => {
    const kube = managementCluster();
    kube.holdViews();
    kube.before('get', () => remake(kube));
    await run(kube);
    expect(controlPlaneIn(kube)).toMatchObject({ metadata: { uid: 'another' } });
    expect(controlPlaneIn(kube)?.metadata.finalizers).toBeUndefined();
  });

  it('no Machine is made of a Cluster that was paused right before', async () => {
    const kube = managementCluster();
    await run(
      kube,
      onceMade(kube, () => pause(kube)),
    );
    expect(assetsIn(kube)).toHaveLength(1);
    expect(machinesIn(kube)).toEqual([]);
  });

  it('files of a single node are not used for three masters', async () => {
    const kube = managementCluster(controlPlaneOf({ replicas: 1 }));
    const installer = onceMade(kube, () => {
      const found = controlPlaneIn(kube);
      if (found === undefined) return;
      kube.put(controlPlanes, { ...found, spec: controlPlaneOf({ replicas: 3 }).spec });
      const state = { kind: secrets, namespace: capiNamespace, name: 'demo-install-state' };
      const data = secretData({ 'install-config.yaml': installConfigOf(3) });
      const before = kube.objectsOf(secrets).find(({ metadata: { name } }) => name === state.name);
      if (before !== undefined) kube.put(secrets, { ...before, data });
    });
    await run(kube, installer);
    expect(installer.runs.map(({ isSingleNode }) => isSingleNode)).toEqual([true, false]);
    expect(assetsIn(kube)[0]?.metadata.annotations?.[ownNames.singleNode]).toBeUndefined();
    expect(machinesIn(kube)).toHaveLength(1);
  });

  it('a single node is made once its number of masters is held', async () => {
    const kube = managementCluster(controlPlaneOf({ replicas: 1 }));
    const held: boolean[] = [];
    const { create } = kube;
    const watching: FakeKube['create'] = (selection, ...rest) => {
      if (selection.kind.plural === labMachines.plural)
        held.push(controlPlaneIn(kube)?.status?.assets !== undefined);
      return create(selection, ...rest);
    };
    Object.assign(kube, { create: watching });
    await run(kube);
    expect(held).toEqual([true]);
    expect(machinesIn(kube)).toHaveLength(1);
  });

  it('files of an earlier control plane of the name are not used', async () => {
    const kube = managementCluster();
    const ownerReferences = [{ uid: 'earlier' }];
    const annotations = {
      [ownNames.inputsHash]: '1',
      [ownNames.generatedAt]: '2026-01-01T00:00:00Z',
    };
    const labels = { 'cluster.x-k8s.io/cluster-name': 'demo' };
    const at = { name: 'demo-install-assets', namespace: capiNamespace };
    const metadata = { ...at, labels, annotations, ownerReferences };
    kube.put(secrets, { metadata });
    await run(kube);
    expect(machinesIn(kube)).toEqual([]);
  });

  it('a machine of somebody else is not taken for its own', async () => {
    const kube = managementCluster();
    const name = machineName(controlPlaneOf(), 0);
    kube.put(labMachines, { metadata: { name, namespace: capiNamespace } });
    await run(kube);
    expect(machinesIn(kube)).toEqual([]);
  });
});
