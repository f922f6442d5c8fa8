import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { machineConfigPools, machineConfigs, nodes } from '../../src/kube/kinds.ts';
import { seconds } from '../../src/model/duration.ts';
import { handOverServed } from '../../src/steps/layering/hand-over.ts';
import { handOverTo } from '../layering/hand-over-run.ts';
import { final, rendered, renderedConfig, renderedPool } from '../layering/hand-over-site.ts';
import { poolObject } from '../layering/layered-pool.ts';
import { masterOn, runOperator } from '../layering/operator.ts';
import { rest } from '../support/fake-host.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf } from './rig.ts';
import { osConfig, putSite, removeHandOver } from './layered-masters.ts';

let rig: Rig;
/** The bootstrap host's client, over the network. */
let kube: KubeCluster;
/** The operator's client, next to the API server. */
let near: KubeCluster;

beforeAll(async () => {
  rig = await startRig();
  kube = clusterOf(rig.kubeconfig);
  near = clusterOf(await rig.kubeconfigFor({ server: rig.url }));
  await putSite(rig.client);
  for (const name of ['m1', 'm2']) await rig.client.apply(nodes, masterOn(name, rendered, final));
});

afterAll(async () => {
  await kube.close();
  await near.close();
  await rig.close();
});

const pool = { kind: machineConfigPools, name: 'master' };

it.each([0, 500])(
  'no node is touched over a line of %i ms to a real API server',
  async (roundTrip) => {
    await removeHandOver(rig.client);
    await rig.client.remove(pool);
    rig.forwarder.slow(roundTrip);
    const over = new AbortController();
    const operator = runOperator({ kube: near, clock: systemClock, signal: over.signal });
    const run = handOverTo(kube, systemClock);
    run.host.on(['skopeo', 'copy', rest]).answers(async () => {
      await systemClock.sleep(seconds(3), over.signal); // sleeps: a copy takes its time
      return {};
    });
    const done = runStep(handOverServed, run);
    await rig.client.apply(machineConfigPools, poolObject('master'));
    // The end of the node controller's sleep, which begins when it sees the pool.
    await systemClock.sleep(seconds(4.5), over.signal); // sleeps: the node controller has its turn
    expect(await rig.client.get(pool)).toMatchObject({ spec: { paused: true } });
    await rig.client.apply(machineConfigs, renderedConfig());
    const { configuration } = renderedPool()['spec'] as { readonly configuration: unknown };
    await rig.client.merge(pool, { spec: { configuration } });
    await done;
    await systemClock.sleep(seconds(7), over.signal); // sleeps: the operator's next turn
    over.abort();
    expect(await operator).toEqual([]);
    expect(await rig.client.get(osConfig)).toMatchObject({
      status: { currentImagePullSpec: final },
    });
    expect(await rig.client.get(pool)).toMatchObject({ spec: { paused: false } });
  },
  60_000,
);
