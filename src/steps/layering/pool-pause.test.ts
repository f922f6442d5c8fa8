import { describe, expect, it } from 'vitest';
import { bothFacts, bothHost, bothSite } from '../../../test/layering/both-pools.ts';
import {
  handOverConfig,
  handOverTo,
  key,
  withoutStatuses,
} from '../../../test/layering/hand-over-run.ts';
import { final, rendered } from '../../../test/layering/hand-over-site.ts';
import { masterOn, nodeObject } from '../../../test/layering/layered-pool.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { machineConfigPools, machineOSConfigs, nodes } from '../../kube/kinds.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { handOverServed } from './hand-over.ts';
import { unpausePools } from './pool-pause.ts';

const facts = bothFacts();
const pauseAnnotation = 'bootwright.io/paused-for-hand-over';

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
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;
const paused = [
  ['master', true, time],
  ['worker', true, time],
];
const free = [
  ['master', false, undefined],
  ['worker', false, undefined],
];

/** A cluster that refuses a MachineOSBuild. */
const refusing = (kube: FakeKube, code: 'kube.invalid' | 'kube.busy' = 'kube.invalid'): Kube => ({
  ...kube,
  create: (into, object, signal) =>
    into.kind.plural === 'machineosbuilds'
      ? Promise.reject(kubeFailure(code, 'no'))
      : kube.create(into, object, signal),
});

describe('the pause of the pools', () => {
  it('begins as soon as the pools exist and ends per pool after its hand-over', async () => {
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

  it('stays when somebody else has set it', async () => {
    const kube = bothPools({ paused: true });
    const { notes } = await runStep(handOverServed, runOn(kube));
    expect(pausesIn(kube)).toEqual([
      ['master', true, undefined],
      ['worker', true, undefined],
    ]);
    expect(notes).toContain('info: MachineConfigPool worker is paused by somebody else');
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(2);
  });

  it('stays after a failed attempt and ends at the end of the run', async () => {
    const kube = bothPools();
    const { failure } = await tryStep(handOverServed, runOn(refusing(kube)));
    expect(failure).toMatchObject({ code: 'kube.invalid' });
    expect(pausesIn(kube)).toEqual(paused);
    const { published } = facts;
    const end = { config: handOverConfig, kube, facts: { published } };
    const { notes } = await runStep(unpausePools, end);
    expect(notes).toEqual([
      'warn: MachineConfigPool master is unpaused without its OS image',
      'warn: MachineConfigPool worker is unpaused without its OS image',
    ]);
    expect(pausesIn(kube)).toEqual(free);
  });

  it('stays when the cluster does not keep the status of an image', async () => {
    const kube = bothPools();
    const deaf = runOn(withoutStatuses(kube, 'machineosbuilds'));
    const { failure } = await tryStep(handOverServed, deaf);
    expect(failure).toMatchObject({ code: 'layering.not-kept' });
    expect(pausesIn(kube)).toEqual(paused);
  });

  it('covers all pools before the first image and stays when the run is stopped', async () => {
    const kube = bothPools();
    const stop = new AbortController();
    const run = { ...runOn(kube), signal: stop.signal };
    run.host.on(['skopeo', 'copy', rest]).answers(() => {
      expect(pausesIn(kube)).toEqual(paused);
      stop.abort(new Error('stopped'));
      return new Promise<never>(() => undefined);
    });
    const { events } = await tryStep(handOverServed, run);
    expect(pausesIn(kube)).toEqual(paused);
    expect(events.slice(-2)).toMatchObject([
      { type: 'note', level: 'warn', fields: { pools: 'master, worker' } },
      { type: 'step.stopped' },
    ]);
  });

  it('is reported by a run that is stopped while the API server does not answer', async () => {
    const kube = bothPools();
    const stop = new AbortController();
    const patch: Kube['patch'] = ({ name }) => {
      if (name === 'worker') stop.abort(new Error('stopped'));
      return new Promise<never>(() => undefined);
    };
    const { events } = await tryStep(handOverServed, {
      ...runOn({ ...kube, patch }),
      signal: stop.signal,
    });
    expect(events.at(-2)).toMatchObject({ type: 'note', fields: { pools: 'master, worker' } });
  });

  it('is reported by a run that is stopped between two attempts', async () => {
    const stop = new AbortController();
    const { events } = await tryStep(handOverServed, {
      ...runOn(refusing(bothPools(), 'kube.busy')),
      clock: fakeClock({ auto: false }),
      signal: stop.signal,
      heard: ({ type }) => {
        if (type === 'step.retrying') stop.abort(new Error('stopped'));
      },
    });
    expect(events.slice(-3)).toMatchObject([
      { type: 'note', fields: { pools: 'master, worker' } },
      { type: 'step.retrying' },
      { type: 'step.stopped' },
    ]);
  });

  it('is ended by the next run, which reports the nodes without their image', async () => {
    const kube = bothPools({ paused: true });
    const annotations = { [pauseAnnotation]: '2026-01-01T00:00:00Z' };
    for (const pool of kube.objectsOf(machineConfigPools)) {
      kube.put(machineConfigPools, { ...pool, metadata: { ...pool.metadata, annotations } });
    }
    kube.put(nodes, masterOn('m1', rendered, final));
    const lost = masterOn('m2', rendered, final);
    const { [key('desiredImage')]: _, ...left } = lost.metadata.annotations ?? {};
    kube.put(nodes, { ...lost, metadata: { ...lost.metadata, annotations: left } });
    kube.put(nodes, nodeObject('m3', 'master'));
    const { events } = await runStep(handOverServed, runOn(kube));
    expect(pausesIn(kube)).toEqual(free);
    const lines = events.filter((event) => event.type === 'note' && event.level === 'warn');
    expect(lines).toMatchObject([{ fields: { pool: 'master', nodes: 'm2', image: final } }]);
  });

  it.each<[string, object]>([
    ['removed our annotation', { metadata: { annotations: { [pauseAnnotation]: null } } }],
    ['changed our annotation', { metadata: { annotations: { [pauseAnnotation]: 'later' } } }],
  ])('stays when a user has %s right before its end', async (_, body) => {
    const kube = bothPools();
    const patch: Kube['patch'] = async (ref, change, signal) => {
      const isEnd = JSON.stringify(change.body).includes('"paused":false');
      if (isEnd && ref.name === 'worker') await kube.patch(ref, { type: 'merge', body }, signal);
      return kube.patch(ref, change, signal);
    };
    await runStep(handOverServed, runOn({ ...kube, patch }));
    expect(pausesIn(kube).map((pause) => pause.slice(0, 2))).toEqual([
      ['master', false],
      ['worker', true],
    ]);
  });

  it('is not set on a pool that a user pauses right before', async () => {
    const kube = bothPools();
    let isFirst = true;
    const patch: Kube['patch'] = async (ref, change, signal) => {
      if (isFirst && ref.name === 'worker') {
        isFirst = false;
        await kube.patch(ref, { type: 'merge', body: { spec: { paused: true } } }, signal);
      }
      return kube.patch(ref, change, signal);
    };
    await runStep(handOverServed, runOn({ ...kube, patch }));
    expect(pausesIn(kube)).toEqual([free[0], ['worker', true, undefined]]);
  });

  it('ends without ending the pause for the labels of workers', async () => {
    const kube = bothPools();
    const labels = 'bootwright.io/paused-for-labels';
    const [pool] = kube.objectsOf(machineConfigPools).slice(-1);
    const metadata = { name: 'worker', annotations: { [labels]: 'true' } };
    kube.put(machineConfigPools, {
      ...pool,
      metadata,
      spec: { ...Object(pool?.['spec']), paused: true },
    });
    const seen: unknown[] = [];
    const run = runOn(kube);
    run.host.on(['skopeo', 'copy', rest]).answers(() => {
      seen.push(pausesIn(kube)[1]);
      return {};
    });
    await runStep(handOverServed, run);
    expect(seen[0]).toEqual(paused[1]);
    expect(pausesIn(kube)).toEqual([free[0], ['worker', true, undefined]]);
    expect(kube.objectsOf(machineConfigPools)[1]?.metadata.annotations).toEqual({
      [labels]: 'true',
    });
  });

  it('stays after a permanent failure when nodes would lose their image', async () => {
    const kube = bothPools();
    kube.put(nodes, masterOn('m1', rendered, final));
    await tryStep(handOverServed, runOn(refusing(kube)));
    const { published } = facts;
    const end = { config: handOverConfig, kube, facts: { published } };
    const { events } = await runStep(unpausePools, end);
    expect(pausesIn(kube)).toEqual([paused[0], free[1]]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'note', fields: { pools: 'master' } }),
    );
  });

  it('prevents the hand-over when the cluster does not store it', async () => {
    const kube = bothPools();
    const patch: Kube['patch'] = async (ref, change, signal) => {
      const { spec: _dropped, ...body } = change.body as { readonly spec?: unknown };
      return kube.patch(ref, { ...change, body }, signal);
    };
    const { failure } = await tryStep(handOverServed, runOn({ ...kube, patch }));
    expect(failure).toMatchObject({ code: 'layering.not-kept' });
    expect(kube.objectsOf(machineOSConfigs)).toEqual([]);
  });

  it.each(['missing', 'not of this run'])('does not unpause a pool that is %s', async (what) => {
    const kube = fakeKube();
    if (what !== 'missing') kube.put(machineConfigPools, { metadata: { name: 'infra' }, spec: {} });
    const { published } = facts;
    await runStep(unpausePools, { config: handOverConfig, kube, facts: { published } });
    expect(kube.writes).toEqual([]);
  });
});
