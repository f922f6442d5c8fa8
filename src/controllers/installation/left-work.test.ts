import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { runInstallation, tryInstallationStep } from '../../../test/support/run-installation.ts';
import { etcdCluster, etcdNamespace, isOverridden, overridePatch } from '../../cluster/etcd.ts';
import { configMaps, machineConfigPools, machineOSConfigs, pods } from '../../kube/kinds.ts';
import { minutes } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import {
  type LeftRecord,
  readRecord,
  recordData,
  recordRef,
} from '../../steps/cluster/left-record.ts';
import { removeLeftRecord } from './left-work.ts';

const record = (change: Partial<LeftRecord> = {}): LeftRecord => ({
  node: 'm3',
  addresses: [],
  role: 'master',
  isEtcdOverridden: false,
  ...change,
});

const etcd = (annotations = {}, overrides: unknown = null): KubeObject => ({
  metadata: { name: 'cluster', annotations },
  spec: { unsupportedConfigOverrides: overrides },
});
const { metadata, spec } = overridePatch(null).body as Record<string, Record<string, object>>;
const overridden = etcd(metadata?.['annotations'], spec?.['unsupportedConfigOverrides']);

function putRecord(kube: FakeKube, left: Partial<LeftRecord>): void {
  const { kind, ...named } = recordRef;
  kube.put(kind, { metadata: named, data: recordData(record(left)) });
}

/** A healthy member of etcd on each of these masters. */
function etcdOn(masters: readonly string[]): FakeKube {
  const kube = fakeKube().put(etcdCluster.kind, { metadata: { name: 'cluster' } });
  for (const name of masters) {
    kube.put(pods, {
      metadata: { name: `etcd-${name}`, namespace: etcdNamespace, labels: { app: 'etcd' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }
  return kube;
}

function setUp(masters: readonly string[], left: Partial<LeftRecord>) {
  const kube = etcdOn(masters);
  const clock = fakeClock({ auto: false });
  putRecord(kube, left);
  const { stop } = runInstallation(['do-left-work'], { kube, clock });
  const recordedNow = (): LeftRecord => {
    const [found] = kube.objectsOf(configMaps);
    if (found === undefined) throw new TypeError('there is no record');
    return readRecord(found);
  };
  return { kube, clock, stop, recorded: recordedNow };
}

async function etcdIn(kube: FakeKube): Promise<KubeObject> {
  const found = await kube.get(etcdCluster, new AbortController().signal);
  if (found === undefined) throw new TypeError('there is no etcd');
  return found;
}

describe('controller/do-left-work', () => {
  it('reverts the etcd override by its annotation, without a record', async () => {
    const kube = etcdOn(['m1', 'm2', 'm3']).put(etcdCluster.kind, overridden);
    const { clock, stop } = runInstallation(['do-left-work'], { kube });
    await clock.advance(minutes(5));
    await stop();
    expect(isOverridden(await etcdIn(kube))).toBe(false);
  });

  it('writes nothing before three etcd members are ready', async () => {
    const { kube, clock, stop } = setUp(['m1', 'm2'], { isEtcdOverridden: true });
    kube.put(etcdCluster.kind, overridden);
    await clock.advance(minutes(60));
    expect(kube.writes).toEqual([]);
    expect((await stop()).statuses).toContain('2 of 3 etcd members ready');
  });

  it('keeps the record while an override without annotation remains', async () => {
    const { kube, clock, stop, recorded } = setUp(['m1', 'm2', 'm3'], { isEtcdOverridden: true });
    kube.put(etcdCluster.kind, { ...overridden, metadata: { name: 'cluster' } });
    await clock.advance(minutes(5));
    expect(recorded().isEtcdOverridden).toBe(true);
    const { notes } = await stop();
    expect(notes.filter((note) => note.includes('settings of etcd: trying again'))).toHaveLength(1);
  });

  it('does not repeat work that another controller has removed from the record', async () => {
    const kube = etcdOn(['m1', 'm2', 'm3']);
    const clock = fakeClock({ auto: false });
    putRecord(kube, { isEtcdOverridden: true });
    let reads = 0;
    kube.before('get', () => {
      reads += 1;
      kube.holdViews();
      putRecord(kube, {});
    });
    const { stop } = runInstallation(['do-left-work'], { kube, clock });
    await clock.advance(minutes(5));
    await stop();
    expect(reads).toBeGreaterThan(0);
    expect(kube.writes).toEqual([]);
  });

  it('reports an unreadable record once and continues', async () => {
    const { kube, clock, stop } = setUp(['m1', 'm2', 'm3'], {});
    const { kind, ...named } = recordRef;
    kube.put(kind, { metadata: named, data: { format: '9' } });
    kube.put(etcdCluster.kind, overridden);
    await clock.advance(minutes(5));
    expect(isOverridden(await etcdIn(kube))).toBe(false);
    const { notes } = await stop();
    expect(notes.filter((note) => note.includes('does not hold a record'))).toHaveLength(1);
  });
});

describe('controller/remove-record', () => {
  const end = (kube: FakeKube) => tryInstallationStep(removeLeftRecord, { kube });

  it('ends at once without a record', async () => {
    const kube = fakeKube();
    const { failure, notes } = await end(kube);
    expect([failure, notes, kube.writes]).toEqual([undefined, [], []]);
  });

  it('keeps the record after its timeout and reports the remaining work', async () => {
    const kube = fakeKube().put(etcdCluster.kind, overridden);
    putRecord(kube, { isEtcdOverridden: true });
    const { failure, notes, statuses } = await end(kube);
    expect(failure).toBeUndefined();
    expect(kube.objectsOf(configMaps)).toHaveLength(1);
    expect(notes).toContainEqual(
      expect.stringMatching(/^warn: the record of the bootstrap host stays/),
    );
    expect(statuses).toContain('not done yet: settings of etcd');
  });

  it('ends when reading the record is forbidden', async () => {
    const kube = fakeKube();
    kube.lastError(kubeFailure('kube.denied', 'no', { context: { status: 403 } }));
    expect((await end(kube)).failure).toBeUndefined();
  });
});

describe('a pause that a stopped bootstrap host has left', () => {
  const ours = { 'bootwright.io/paused-for-hand-over': '2026-01-01T00:00:00Z' };
  const handedOver = { currentImagePullSpec: 'registry.rig.test/os@sha256:1' };

  it.each<[string, object, object | undefined, boolean, boolean?]>([
    ['is removed once the image is handed over', ours, handedOver, false],
    ['stays before the hand-over', ours, {}, true],
    ['stays without a MachineOSConfig', ours, undefined, true],
    ['stays without the annotation', {}, handedOver, true],
    ['loses its annotation when a person has unpaused the pool', ours, undefined, false, false],
  ])('%s', async (...[, annotations, status, isPaused, paused = true]) => {
    const kube = fakeKube().put(machineConfigPools, {
      metadata: { name: 'worker', annotations: { ...annotations } },
      spec: { paused },
    });
    if (status !== undefined) kube.put(machineOSConfigs, { metadata: { name: 'worker' }, status });
    const { clock, stop } = runInstallation(['unpause-pools'], { kube });
    await clock.advance(minutes(2));
    await stop();
    expect(kube.objectsOf(machineConfigPools)).toMatchObject([{ spec: { paused: isPaused } }]);
    expect(kube.writes).toHaveLength(isPaused ? 0 : 1);
  });
});
