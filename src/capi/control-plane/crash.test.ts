import { describe, expect, it } from 'vitest';
import {
  bootstrapIn,
  capiNamespace,
  conditionIn,
  controlPlaneIn,
  jobRunner,
  labMachines,
  machinesIn,
  managementCluster,
  report,
  reportBootstrap,
  runControlPlanes,
} from '../../../test/support/capi-world.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { killedBy } from '../../../test/support/run-pools.ts';
import { configMaps, nodes, pods, secrets } from '../../kube/kinds.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { assetKeys, bootstrapConfigs, capiMachines, controlPlanes, ownNames } from '../api.ts';
import { secretText } from '../objects.ts';

/** The cluster of a provider that dies after one of its writes; the first has number 0. */
const dyingAt = (kube: Kube, last: number, killed: AbortController): Kube =>
  killedBy(kube, { verbs: ['create', 'patch', 'apply', 'remove'], last, killed });

/** Acts as hosts and a user, by the present objects. */
function proceed(kube: FakeKube): void {
  const name = bootstrapIn(kube)?.metadata.name;
  const config = kube.objectsOf(bootstrapConfigs).find((one) => one.metadata.name === name);
  if (name === undefined || config === undefined) return;
  report(kube, name, machinesIn(kube).length < 3 ? 'Waiting for control plane' : 'Rebooting');
}

/** Makes a guest show its masters: Ready, each with a member of etcd. */
function showMasters(kube: FakeKube, guest: FakeKube): void {
  const names = machinesIn(kube).map(({ metadata }) => metadata.name);
  const addressOf = (index: number): string => `192.0.2.${index + 1}`;
  const conditions = [{ type: 'Ready', status: 'True' }];
  names.forEach((name, index) => {
    const addresses = [{ type: 'InternalIP', address: addressOf(index) }];
    guest.put(nodes, { metadata: { name }, status: { conditions, addresses } });
    guest.put(pods, {
      metadata: { name: `etcd-${name}`, namespace: 'openshift-etcd', labels: { app: 'etcd' } },
      spec: { nodeName: name },
      status: { conditions },
    });
  });
  const data = Object.fromEntries(names.map((_, index) => [`a${index}`, addressOf(index)]));
  guest.put(configMaps, {
    metadata: { name: 'etcd-endpoints', namespace: 'openshift-etcd' },
    data,
  });
}

/** Acts as core with a Machine that is being deleted: removes its objects first. */
function collect(kube: FakeKube): void {
  for (const { metadata } of machinesIn(kube)) {
    if (metadata.deletionTimestamp === undefined) continue;
    const { name } = metadata;
    for (const kind of [labMachines, bootstrapConfigs, capiMachines])
      kube.drop({ kind, namespace: capiNamespace, name });
  }
}

/** A provider that begins again, and the time that passes with what others do meanwhile. */
function providers(meanwhile: (kube: FakeKube) => void) {
  const kube = managementCluster();
  const clock = fakeClock({ auto: false });
  const guest = fakeKube();
  const installer = jobRunner(kube);
  const begin = (through: Kube, { signal }: AbortController) =>
    runControlPlanes({ kube: through, clock, guest, signal });
  const pass = async (until: () => boolean): Promise<void> => {
    for (let count = 0; count < 60 && !until(); count += 1) {
      await settle();
      installer.run(clock.now());
      await clock.advance(250);
      meanwhile(kube);
    }
  };
  const end = (...all: readonly AbortController[]): void => {
    for (const one of all) one.abort(new Error('the test ends'));
  };
  return { kube, guest, installer, begin, pass, end };
}

/**
 * Replaces a marked master, with a provider that dies at a write after the mark, and its successor.
 */
async function replaceMaster(write: number, isHealed = false) {
  const { kube, guest, begin, pass, end } = providers(collect);
  const stop = new AbortController();
  const first = new AbortController();
  const installed = begin(kube, first);
  await pass(() => machinesIn(kube).length > 0);
  reportBootstrap(kube, 'Waiting for control plane');
  await pass(() => machinesIn(kube).length === 3);
  reportBootstrap(kube, 'Done');
  await pass(() => conditionIn(kube, 'BootstrapComplete') === 'True Complete');
  first.abort(new Error('the cluster is installed'));
  await installed;
  showMasters(kube, guest);
  const marked = machinesIn(kube).find(
    ({ metadata }) => metadata.annotations?.[ownNames.role] === undefined,
  );
  if (marked === undefined) throw new Error('no master');
  const conditions = ['HealthCheckSucceeded', 'OwnerRemediated'].map((type) => ({
    type,
    status: 'False',
  }));
  // Core removes the Machine later: until then, the Machine has its finalizer.
  const metadata = { ...marked.metadata, finalizers: ['machine.cluster.x-k8s.io'] };
  kube.put(capiMachines, {
    ...marked,
    metadata,
    status: { ...marked.status, conditions: [...(marked.status?.conditions ?? []), ...conditions] },
  });
  const removals = (): number =>
    kube.writes.filter(({ verb, kind }) => verb === 'remove' && kind === capiMachines.plural)
      .length;
  // From here, the provider reads from the management cluster only what decides about the removal.
  if (isHealed) kube.before('get', () => void kube.put(capiMachines, marked));
  const dead = new AbortController();
  const dying = begin(dyingAt(kube, write, dead), dead);
  const follower = () =>
    machinesIn(kube).find(
      ({ metadata: { annotations } }) => annotations?.[ownNames.remediationFor] !== undefined,
    );
  const isOver = (): boolean =>
    follower() !== undefined &&
    machinesIn(kube).length === 3 &&
    controlPlaneIn(kube)?.metadata.annotations?.[ownNames.remediation] === undefined;
  await pass(() => isOver() || dead.signal.aborted);
  const hasDied = dead.signal.aborted;
  const next = begin(kube, stop);
  await pass(isOver);
  end(dead, stop);
  await Promise.all([dying, next]);
  const record = JSON.parse(
    follower()?.metadata.annotations?.[ownNames.remediationFor] ?? '{}',
  ) as object;
  return { hasDied, isOver: isOver(), removals: removals(), record, uid: marked.metadata.uid };
}

/** Installs a cluster and deletes it, with providers of which each but the last dies at a write. */
async function live(write: number) {
  const { kube, guest, installer, begin, pass, end } = providers(proceed);
  const authority = '-----BEGIN CERTIFICATE-----';
  guest.put(configMaps, {
    metadata: {
      name: 'machine-config-server-ca',
      namespace: 'openshift-machine-config-operator',
    },
    data: { 'ca-bundle.crt': authority },
  });
  const dead = new AbortController();
  const first = begin(dyingAt(kube, write, dead), dead);
  const assets = (): readonly KubeObject[] =>
    kube.objectsOf(secrets).filter(({ metadata }) => metadata.name === 'demo-install-assets');
  const isTrusted = (): boolean => secretText(assets()[0], assetKeys.configServerCa) === authority;
  const isUp = (): boolean => conditionIn(kube, 'Available') === 'True Available' && isTrusted();
  const isGone = (): boolean => controlPlaneIn(kube) === undefined;
  const remove = (): Promise<void> =>
    kube.remove(
      { kind: controlPlanes, namespace: capiNamespace, name: 'demo' },
      new AbortController().signal,
    );
  await pass(() => isUp() || dead.signal.aborted);
  if (!dead.signal.aborted) {
    await remove();
    await pass(() => isGone() || dead.signal.aborted);
  }
  const hasDied = dead.signal.aborted;
  const stop = new AbortController();
  const second = begin(kube, stop);
  const isEnding = isGone() || controlPlaneIn(kube)?.metadata.deletionTimestamp !== undefined;
  if (!isEnding) await pass(isUp);
  const made = {
    machines: machinesIn(kube).map(({ metadata }) => metadata.name),
    clones: kube.objectsOf(labMachines).length,
    assets: assets().length,
    isTrusted: isTrusted(),
  };
  if (!isEnding) await remove();
  await pass(isGone);
  end(dead, stop);
  await Promise.all([first, second]);
  return { hasDied, isEnding, made, runs: installer.runs.length, isGone: isGone() };
}

describe('a provider that is killed', () => {
  it('after any of its writes is continued by the next one', async () => {
    const names = new Set<string>();
    let write = 0;
    for (; ; write += 1) {
      const { hasDied, isEnding, made, runs, isGone } = await live(write);
      expect({ write, isGone, runs }).toEqual({ write, isGone: true, runs: 1 });
      if (!hasDied) break;
      if (isEnding) continue;
      expect({ write, ...made, machines: made.machines.length }).toEqual({
        write,
        machines: 3,
        clones: 3,
        assets: 1,
        isTrusted: true,
      });
      for (const name of made.machines) names.add(name);
    }
    expect(write).toBeGreaterThan(15);
    expect(names.size).toBe(3);
  });

  it('after any write of a remediation replaces the master exactly once', async () => {
    let write = 0;
    for (; ; write += 1) {
      const { hasDied, uid, ...replaced } = await replaceMaster(write);
      expect({ write, ...replaced }).toMatchObject({
        write,
        isOver: true,
        removals: 1,
        record: { uid, retry: 0 },
      });
      if (!hasDied) break;
    }
    expect(write).toBeGreaterThan(5);
  });

  it('does not replace a master that has just become healthy again', async () => {
    const { removals, isOver } = await replaceMaster(Number.POSITIVE_INFINITY, true);
    expect([removals, isOver]).toEqual([0, false]);
  });
});
