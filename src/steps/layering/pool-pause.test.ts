import { describe, expect, it } from 'vitest';
import { bothFacts, bothHost, bothSite } from '../../../test/layering/both-pools.ts';
import { handOverConfig, handOverTo } from '../../../test/layering/hand-over-run.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { machineConfigPools, machineOSConfigs } from '../../cluster/kinds.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { handOverServed } from './hand-over.ts';
import { pauseAnnotation, unpausePools } from './pool-pause.ts';

const facts = bothFacts('first-boot');

const runOn = (kube: Kube) => ({ ...handOverTo(kube), facts, host: bothHost() });

const bothPools = (change: object = {}): FakeKube => {
  const kube = fakeKube();
  for (const [kind, object] of bothSite) {
    const spec = { ...(object['spec'] as object), ...change };
    kube.put(kind, kind === machineConfigPools ? { ...object, spec } : object);
  }
  return kube;
};

const isPaused = ({ spec, metadata }: KubeObject): readonly unknown[] => [
  metadata.name,
  (spec as { readonly paused?: boolean }).paused ?? false,
  metadata.annotations?.[pauseAnnotation],
];
const pausesIn = (kube: FakeKube) => kube.objectsOf(machineConfigPools).map(isPaused);
const paused = [
  ['master', true, 'true'],
  ['worker', true, 'true'],
];
const free = [
  ['master', false, undefined],
  ['worker', false, undefined],
];

/** A cluster that takes no MachineOSBuild. */
const refusing = (kube: FakeKube): Kube => ({
  ...kube,
  create: (into, object, signal) =>
    into.kind.plural === 'machineosbuilds'
      ? Promise.reject(kubeFailure('kube.invalid', 'no'))
      : kube.create(into, object, signal),
});

describe('the pause of the pools', () => {
  it('begins as soon as a pool exists, and each ends when its image is handed over', async () => {
    const kube = fakeKube();
    const run = { ...runOn(kube), clock: fakeClock({ auto: false }) };
    const done = runStep(handOverServed, run);
    await settle();
    for (const [kind, object] of bothSite) {
      if (kind === machineConfigPools) kube.put(kind, { ...object, spec: {} });
    }
    await settle();
    expect(pausesIn(kube)).toEqual(paused);
    const seen: unknown[] = [];
    run.host.on(['skopeo', 'copy', rest]).answers(() => {
      seen.push(pausesIn(kube));
      return {};
    });
    for (const [kind, object] of bothSite) {
      if (kind !== machineConfigPools) kube.put(kind, object);
      else {
        const { configuration } = object['spec'] as { readonly configuration: unknown };
        const ref = { kind, name: object.metadata.name };
        const { signal } = new AbortController();
        await kube.patch(ref, { type: 'merge', body: { spec: { configuration } } }, signal);
      }
    }
    await done;
    expect(seen).toEqual([paused, [free[0], paused[1]]]);
    expect(pausesIn(kube)).toEqual(free);
  });

  it('that somebody else has set stays', async () => {
    const kube = bothPools({ paused: true });
    const { notes } = await runStep(handOverServed, runOn(kube));
    expect(pausesIn(kube)).toEqual([
      ['master', true, undefined],
      ['worker', true, undefined],
    ]);
    expect(notes).toContain('info: MachineConfigPool worker is paused by somebody else');
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(2);
  });

  it('stays between two attempts, and ends at the end of the run when all have failed', async () => {
    const kube = bothPools();
    const { failure } = await tryStep(handOverServed, runOn(refusing(kube)));
    expect(failure).toMatchObject({ code: 'kube.invalid' });
    expect(pausesIn(kube)).toEqual(paused);
    const { request, published } = facts;
    const end = { config: handOverConfig, kube, facts: { request, published } };
    const { notes } = await runStep(unpausePools, end);
    expect(notes).toEqual([
      'warn: MachineConfigPool master is unpaused without its OS image',
      'warn: MachineConfigPool worker is unpaused without its OS image',
    ]);
    expect(pausesIn(kube)).toEqual(free);
  });

  it('is of every pool before the first image, and ends when the run is stopped', async () => {
    const kube = bothPools();
    const stop = new AbortController();
    const patch: Kube['patch'] = async (ref, change, signal) => {
      if (ref.name === 'worker') await settle();
      return kube.patch(ref, change, signal);
    };
    const run = { ...runOn({ ...kube, patch }), signal: stop.signal };
    run.host.on(['skopeo', 'copy', rest]).answers(() => {
      expect(pausesIn(kube)).toEqual(paused);
      stop.abort(new Error('stopped'));
      return new Promise<never>(() => undefined);
    });
    await tryStep(handOverServed, run);
    expect(pausesIn(kube)).toEqual(free);
  });

  it('holds the end of a stopped run until the last pool is unpaused', async () => {
    const kube = bothPools();
    const stop = new AbortController();
    const worker = Promise.withResolvers<undefined>();
    const patch: Kube['patch'] = async (ref, change, signal) => {
      const isEnd = JSON.stringify(change.body).includes('"paused":false');
      if (isEnd && ref.name === 'worker') await worker.promise;
      return kube.patch(ref, change, signal);
    };
    const clock = fakeClock({ auto: false });
    const run = { ...runOn({ ...kube, patch }), signal: stop.signal, clock };
    run.host.on(['skopeo', 'copy', rest]).answers(() => {
      stop.abort(new Error('stopped'));
      return {};
    });
    let hasEnded = false;
    const end = tryStep(handOverServed, run).then(() => {
      hasEnded = true;
    });
    await expect.poll(() => pausesIn(kube)[0]).toEqual(free[0]);
    await settle();
    expect([hasEnded, pausesIn(kube)[1]]).toEqual([false, paused[1]]);
    worker.resolve(undefined);
    await end;
    expect(pausesIn(kube)).toEqual(free);
  });

  it('that the cluster has not kept hands nothing over', async () => {
    const kube = bothPools();
    const patch: Kube['patch'] = async (ref, change, signal) => {
      const { spec: _dropped, ...body } = change.body as { readonly spec?: unknown };
      return kube.patch(ref, { ...change, body }, signal);
    };
    const { failure } = await tryStep(handOverServed, runOn({ ...kube, patch }));
    expect(failure).toMatchObject({ code: 'layering.not-kept' });
    expect(kube.objectsOf(machineOSConfigs)).toEqual([]);
  });

  it('is taken over from a run that died, and ends', async () => {
    const kube = bothPools({ paused: true });
    for (const pool of kube.objectsOf(machineConfigPools)) {
      const annotations = { [pauseAnnotation]: 'true' };
      kube.put(machineConfigPools, { ...pool, metadata: { ...pool.metadata, annotations } });
    }
    await runStep(handOverServed, runOn(kube));
    expect(pausesIn(kube)).toEqual(free);
  });

  it.each(['missing', 'a stranger'])('leaves a pool alone that is %s', async (what) => {
    const kube = fakeKube();
    if (what !== 'missing') kube.put(machineConfigPools, { metadata: { name: 'infra' }, spec: {} });
    const { request, published } = facts;
    await runStep(unpausePools, { config: handOverConfig, kube, facts: { request, published } });
    expect(kube.writes).toEqual([]);
  });
});
