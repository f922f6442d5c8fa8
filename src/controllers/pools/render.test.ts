import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { runPools } from '../../../test/support/run-pools.ts';
import {
  controllerConfigs,
  deployments,
  events,
  leases,
  machineConfigPools,
  machineConfigs,
  nodes,
  pods,
} from '../../cluster/kinds.ts';
import type { Kube, KubeKind } from '../../ports/kube.ts';

const role = 'machineconfiguration.openshift.io/role';
const namespace = 'assisted-installer';
const osImageURL = `r.test/os@sha256:${'a'.repeat(64)}`;
const config = { ignition: { version: '3.5.0' } };
const source = (name: string, spec: object = {}) => ({
  metadata: { name, labels: { [role]: 'worker' } },
  spec: { osImageURL, config, ...spec },
});
const pool = {
  metadata: { name: 'worker' },
  spec: {
    machineConfigSelector: { matchLabels: { [role]: 'worker' } },
    nodeSelector: { matchLabels: { worker: '' } },
  },
};
const ownerReferences = [{ kind: 'DaemonSet', name: 'machine-config-daemon', controller: true }];
const daemon = {
  metadata: { name: 'mcd-a', namespace, ownerReferences },
  spec: { nodeName: 'w0' },
};
const deployment = { metadata: { name: 'machine-config-controller', namespace } };
const labels = { 'k8s-app': 'machine-config-controller' };
const removed = { metadata: { name: 'mcc-a', namespace, labels, deletionTimestamp: 'now' } };
const spec = {
  holderIdentity: 'mcc-a',
  leaseDurationSeconds: 137,
  renewTime: '2100-01-01T00:00:00Z',
};
const lease = { ...deployment, spec };

function setUp() {
  const kube = fakeKube();
  kube.put(machineConfigPools, pool).put(machineConfigs, source('00-worker'));
  kube.put(nodes, { metadata: { name: 'w0', labels: { worker: '' } } });
  return kube;
}

function start(kube: Kube, clock = fakeClock()) {
  const stop = new AbortController();
  const ended = runPools('render-configs', { kube, clock, signal: stop.signal });
  const end = async () => {
    stop.abort(new Error('stop'));
    return await ended;
  };
  return { clock, end };
}

const writesOf = (kube: FakeKube): readonly string[] =>
  kube.writes.map(({ verb, kind }) => `${verb} ${kind}`);
const poolOf = (kube: FakeKube) => {
  const [found] = kube.objectsOf(machineConfigPools);
  return found?.['spec'] as {
    readonly configuration?: { readonly name: string; readonly source: readonly object[] };
  };
};
const renderedOf = (kube: FakeKube): readonly string[] =>
  kube
    .objectsOf(machineConfigs)
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.startsWith('rendered-'));

describe('render configs', () => {
  it('makes the rendered MachineConfig and puts it into the pool, once', async () => {
    const kube = setUp();
    const { clock, end } = start(kube);
    await settle();
    await clock.advance(60_000);
    expect(writesOf(kube)).toEqual(['create machineconfigs', 'patch machineconfigpools']);
    expect(poolOf(kube).configuration).toMatchObject({
      name: renderedOf(kube)[0],
      source: [{ kind: 'MachineConfig', name: '00-worker' }],
    });
    expect((await end()).notes).toEqual([
      `info: pool worker: its configuration is ${renderedOf(kube)[0] ?? ''}`,
    ]);
  });

  it('gives a pool nothing that it no longer selects when it is written', async () => {
    const kube = setUp();
    kube.put(machineConfigs, {
      ...source('00-other'),
      metadata: { name: '00-other', labels: { other: '' } },
    });
    kube.before('list', () => {
      const machineConfigSelector = { matchLabels: { other: '' } };
      kube.put(machineConfigPools, { ...pool, spec: { ...pool.spec, machineConfigSelector } });
    });
    const { clock, end } = start(kube);
    await settle();
    await clock.advance(60_000);
    const given = kube.writes.filter(({ kind }) => kind === 'machineconfigpools');
    expect(given).toHaveLength(1);
    expect(poolOf(kube).configuration?.source).toMatchObject([{ name: '00-other' }]);
    await end();
  });

  it('renders again after a change, and back to what was there', async () => {
    const kube = setUp();
    const { clock, end } = start(kube);
    await settle();
    const before = poolOf(kube).configuration?.name;
    kube.put(machineConfigs, source('50-worker', { kernelArguments: ['quiet'] }));
    await clock.advance(2_000);
    expect(renderedOf(kube)).toHaveLength(2);
    expect(poolOf(kube).configuration?.name).not.toBe(before);
    kube.drop({ kind: machineConfigs, name: '50-worker' });
    await clock.advance(2_000);
    expect(poolOf(kube).configuration?.name).toBe(before);
    expect(renderedOf(kube)).toHaveLength(2);
    await end();
  });

  it.each(['create', 'patch'] as const)('continues after a crash behind its %s', async (verb) => {
    const kube = setUp();
    const crash = new AbortController();
    const dying: Kube = {
      ...kube,
      [verb]: async (...args: never[]) => {
        await (kube[verb] as (...all: never[]) => Promise<unknown>)(...args);
        crash.abort(new Error('crash'));
        throw new Error('crash');
      },
    };
    await runPools('render-configs', { kube: dying, clock: fakeClock(), signal: crash.signal });
    const { end } = start(kube);
    await settle();
    expect(writesOf(kube)).toEqual(['create machineconfigs', 'patch machineconfigpools']);
    expect(poolOf(kube).configuration?.name).toBe(renderedOf(kube)[0]);
    await end();
  });

  it.each([
    ['the Deployment of the operator', (kube: FakeKube) => kube.put(deployments, deployment)],
    ['a pod of its DaemonSet', (kube: FakeKube) => kube.put(pods, daemon)],
    ['a pod of it that is being removed', (kube: FakeKube) => kube.put(pods, removed)],
    ['its lease', (kube: FakeKube) => kube.put(leases, lease)],
  ])('hands off where it finds %s', async (_, put) => {
    const kube = put(setUp());
    const { end } = start(kube);
    await settle();
    expect(kube.writes).toEqual([]);
    await end();
  });

  it.each([
    ['the Deployment of the operator', deployments, deployment],
    ['a pod of its DaemonSet', pods, daemon],
    ['a pod of it that is being removed', pods, removed],
    ['its lease', leases, lease],
  ] as const)('hands off where %s came right before the change', async (_, kind, object) => {
    const kube = setUp();
    const unseen = fakeKube().put(kind, object);
    const isUnseen = ({ plural }: KubeKind): boolean => plural === kind.plural;
    const { end } = start({
      ...kube,
      get: (ref, signal) => (isUnseen(ref.kind) ? unseen : kube).get(ref, signal),
      list: (what, signal) => (isUnseen(what.kind) ? unseen : kube).list(what, signal),
    });
    await settle();
    expect(kube.writes).toEqual([]);
    await end();
  });

  it('hands off while its lease is renewed by a clock that is an hour late', async () => {
    const clock = fakeClock({ auto: false });
    const renewedAt = (time: number) => ({
      ...lease,
      spec: { ...spec, renewTime: new Date(time - 3_600_000).toISOString() },
    });
    const kube = setUp().put(leases, renewedAt(clock.now()));
    const { end } = start(kube, clock);
    for (let renewal = 0; renewal < 8; renewal += 1) {
      await clock.advance(30_000);
      kube.put(leases, renewedAt(clock.now()));
    }
    expect(kube.writes).toEqual([]);
    await end();
  });

  it.each([3_600_000, 0, -3_600_000])(
    'begins when its last pod has ended and its lease has run out: %d',
    async (skew) => {
      const clock = fakeClock({ auto: false });
      const renewTime = new Date(clock.now() + skew).toISOString();
      const kube = setUp()
        .put(pods, removed)
        .put(leases, { ...lease, spec: { ...spec, renewTime } });
      const { end } = start(kube, clock);
      await clock.advance(60_000);
      kube.drop({ kind: pods, namespace, name: 'mcc-a' });
      await clock.advance(60_000);
      expect(kube.writes).toEqual([]);
      await clock.advance(60_000);
      expect(writesOf(kube)).toEqual(['create machineconfigs', 'patch machineconfigpools']);
      await end();
    },
  );

  it('takes the image of the release from the ControllerConfig, once that names it', async () => {
    const kube = setUp().put(machineConfigs, source('00-worker', { osImageURL: '' }));
    const { clock, end } = start(kube, fakeClock({ auto: false }));
    await clock.advance(60_000);
    expect(writesOf(kube)).toEqual(['create events']);
    expect(kube.objectsOf(events)).toMatchObject([{ type: 'Warning', reason: 'NoOSImage' }]);
    const metadata = { name: 'machine-config-controller' };
    kube.put(controllerConfigs, { metadata, spec: { baseOSContainerImage: osImageURL } });
    await clock.advance(60_000);
    const [name] = renderedOf(kube);
    expect(poolOf(kube).configuration?.name).toBe(name);
    const made = kube.objectsOf(machineConfigs).find((one) => one.metadata.name === name);
    expect(made).toMatchObject({ spec: { osImageURL } });
    await end();
  });

  it('says once why a pool cannot be rendered, keeps what it has, and continues later', async () => {
    const kube = setUp();
    const { clock, end } = start(kube);
    await settle();
    const before = poolOf(kube).configuration?.name;
    kube.put(machineConfigs, source('50-worker', { kernelType: 'rt' }));
    await clock.advance(60_000);
    expect(poolOf(kube).configuration?.name).toBe(before);
    expect(kube.objectsOf(events)).toMatchObject([
      { type: 'Warning', reason: 'RenderFailed', message: 'spec.kernelType rt is unknown' },
    ]);
    kube.put(machineConfigs, source('50-worker', { kernelType: 'realtime' }));
    await clock.advance(5_000);
    expect(poolOf(kube).configuration?.name).not.toBe(before);
    expect((await end()).notes.filter((note) => note.startsWith('warn'))).toEqual([
      'warn: pool worker: its MachineConfigs are not rendered: spec.kernelType rt is unknown',
    ]);
  });
});
