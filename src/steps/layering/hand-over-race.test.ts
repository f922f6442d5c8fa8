import { describe, expect, it } from 'vitest';
import { bothFacts, bothHost, bothSite } from '../../../test/layering/both-pools.ts';
import { handOverTo } from '../../../test/layering/hand-over-run.ts';
import { final, rendered } from '../../../test/layering/hand-over-site.ts';
import { delayedKube, masterOn, runOperator } from '../../../test/layering/operator.ts';
import { type FakeClock, fakeClock } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { machineConfigPools, machineOSConfigs, nodes } from '../../kube/kinds.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { handOverServed } from './hand-over.ts';

/**
 * A moment of the operator's five seconds at which a pool is rendered, and what else differs from
 * run to run.
 */
interface Course {
  readonly run: number;
  readonly clock: FakeClock;
  readonly kube: FakeKube;
}

const runs = Array.from({ length: 20 }, (_, run) => run);
const tagTakes = [0, 600, 3000];

/**
 * Two masters are there; the pools come, and are rendered at one of twenty moments of the
 * controller's sleep.
 */
async function runCluster({ run, clock, kube }: Course, signal: AbortSignal): Promise<void> {
  for (const name of ['m1', 'm2']) kube.put(nodes, masterOn(name, rendered, final));
  await clock.sleep(seconds(1), signal);
  const pools = bothSite.filter(([kind]) => kind === machineConfigPools);
  for (const [kind, pool] of pools) {
    kube.put(kind, { ...pool, spec: { ...(pool['spec'] as object), configuration: undefined } });
  }
  await clock.sleep(seconds(5) + run * 250, signal);
  for (const [kind, object] of bothSite) {
    if (kind !== machineConfigPools) kube.put(kind, object);
    else {
      const ref = { kind, name: object.metadata.name };
      const { configuration } = object['spec'] as { readonly configuration: unknown };
      await kube.patch(ref, { type: 'merge', body: { spec: { configuration } } }, signal);
    }
  }
}

/**
 * @param stops whether the run is stopped before the first image is handed over, and resumed a
 * minute later
 */
async function handOver(run: number, roundTrip: number, stops = false) {
  const [clock, kube] = [fakeClock(), fakeKube()];
  const over = new AbortController();
  const operator = runOperator({ kube, clock, signal: over.signal });
  const cluster = runCluster({ run, clock, kube }, over.signal);
  const host = bothHost();
  const takes = tagTakes[run % tagTakes.length] ?? 0;
  const stop = new AbortController();
  host.on(['skopeo', 'copy', rest]).answers(async () => {
    if (!stop.signal.aborted && stops) stop.abort(new Error('stopped'));
    await clock.sleep(takes, over.signal);
    return {};
  });
  const again = {
    ...handOverTo(delayedKube(kube, clock, roundTrip), clock),
    facts: bothFacts(),
    host,
  };
  if (stops) {
    await tryStep(handOverServed, { ...again, signal: stop.signal });
    await clock.sleep(minutes(1), over.signal);
  }
  await runStep(handOverServed, again);
  await cluster;
  // The operator acts on what it has seen for a while yet.
  await clock.sleep(seconds(20), over.signal);
  over.abort();
  return { done: await operator, kube };
}

describe('the race with the node controller', () => {
  it.each([0, 50, 200, 500])('is won over a line of %i ms, in 20 runs', async (roundTrip) => {
    for (const run of runs) {
      const { done, kube } = await handOver(run, roundTrip);
      expect(done, `run ${run}`).toEqual([]);
      expect(kube.objectsOf(machineOSConfigs)).toHaveLength(2);
      for (const { spec, metadata } of kube.objectsOf(machineConfigPools)) {
        expect(spec).not.toMatchObject({ paused: true });
        expect(metadata.annotations ?? {}).toEqual({});
      }
    }
  });

  it.each([0, 200, 700])(
    'is won by a run that is stopped and resumed over %i ms',
    async (roundTrip) => {
      for (const run of runs.slice(0, 6)) {
        const { done, kube } = await handOver(run * 3, roundTrip, true);
        expect(done, `run ${run}`).toEqual([]);
        expect(kube.objectsOf(machineOSConfigs)).toHaveLength(2);
      }
    },
  );
});
