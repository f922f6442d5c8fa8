import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/api-server.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { jobs, machineOSBuilds } from '../../src/kube/kinds.ts';
import { conditionsOf } from '../layering/build-conditions.ts';
import { violationsOf } from '../../src/layering/hand-over/invariants.ts';
import type { Kube } from '../../src/ports/kube.ts';
import { waitForLayeredMasters } from '../../src/steps/layering/gates.ts';
import { handOverServed } from '../../src/steps/layering/hand-over.ts';
import { handOverConfig as config, handOverTo, key } from '../layering/hand-over-run.ts';
import { buildNamed, final, rendered } from '../layering/hand-over-site.ts';
import { osConfigObject } from '../layering/samples.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf } from './cluster-access.ts';
import {
  build,
  gateFacts,
  job,
  osConfig,
  ownBuild,
  ownJob,
  putLayeredMasters,
  putSite,
  removeHandOver,
  secret,
  snapshotOfMasters,
  versionsIn,
} from './layered-masters.ts';

/** One fixed time for all writes, so that two runs can be compared. */
const clock = { ...systemClock, now: () => Date.UTC(2026, 10, 21, 12) };

let rig: Rig;
let kube: KubeCluster;

beforeAll(async () => {
  rig = await startRig();
  kube = clusterOf(rig.kubeconfig);
  await putSite(rig.client);
});

afterAll(async () => {
  await kube.close();
  await rig.close();
});

beforeEach(() => removeHandOver(rig.client));

const setting = (over: Kube = kube) => handOverTo(over, clock);

const versions = () => versionsIn(rig.client);

describe('a hand-over on a real API server', () => {
  it('is stored with its statuses', async () => {
    await runStep(handOverServed, setting());
    expect(await rig.client.get(build)).toMatchObject({
      metadata: {
        labels: { [key('pre-built-image')]: 'true', [key('machine-os-config')]: 'master' },
        annotations: { [key('rendered-image-push-secret')]: 'ocl-push' },
        finalizers: ['foregroundDeletion'],
        ownerReferences: [
          {
            kind: 'MachineOSConfig',
            name: 'master',
            controller: true,
            uid: (await rig.client.get(osConfig))?.metadata.uid,
          },
        ],
      },
      status: {
        buildStart: '2026-11-21T12:00:00Z',
        buildEnd: '2026-11-21T12:00:01Z',
        digestedImagePushSpec: final,
        conditions: conditionsOf('seeded', new Date(Date.UTC(2026, 10, 21, 12, 0, 1))),
      },
    });
    expect(await rig.client.get(osConfig)).toMatchObject({
      metadata: { annotations: { [key('current-machine-os-build')]: buildNamed }, generation: 1 },
      spec: osConfigObject()['spec'],
      status: {
        currentImagePullSpec: final,
        observedGeneration: 1,
        machineOSBuild: { resource: 'machineosbuilds', name: buildNamed },
      },
    });
    expect(await rig.client.get(secret)).toMatchObject({ type: 'kubernetes.io/dockerconfigjson' });
  });

  it('writes nothing in a second run', async () => {
    await runStep(handOverServed, setting());
    const before = await versions();
    await runStep(handOverServed, setting());
    expect(await versions()).toEqual(before);
  });
});

describe('a builder that is faster, on a real API server', () => {
  const taken = async (): Promise<void> => {
    expect(await rig.client.get(job)).toBeUndefined();
    expect(await rig.client.get(build)).toMatchObject({
      metadata: { labels: { [key('pre-built-image')]: 'true' } },
      status: { digestedImagePushSpec: final },
    });
    const before = await versions();
    await runStep(handOverServed, setting());
    expect(await versions()).toEqual(before);
  };

  it('has its build taken over after a 409 and its job removed', async () => {
    const raced: Kube = {
      ...kube,
      create: async (into, object, at) => {
        if (into.kind === machineOSBuilds) {
          await rig.client.create(machineOSBuilds, ownBuild());
          await rig.client.create(jobs, ownJob());
        }
        return kube.create(into, object, at);
      },
    };
    await runStep(handOverServed, setting(raced));
    await taken();
  });

  it('has a late job awaited and removed', async () => {
    await rig.client.create(machineOSBuilds, ownBuild());
    const done = runStep(handOverServed, setting());
    await expect
      .poll(async () => (await rig.client.get(build))?.['status'])
      .toMatchObject({ digestedImagePushSpec: final });
    await rig.client.create(jobs, ownJob());
    await done;
    await taken();
  });
});

it('the gate before the pivot opens when the masters run the handed-over image', async () => {
  await runStep(handOverServed, setting());
  const gate = runStep(waitForLayeredMasters, { config, facts: gateFacts, kube, clock });
  await putLayeredMasters(rig.client);
  const { events } = await gate;
  expect(events.filter(({ type }) => type === 'wait.updated')).not.toEqual([]);
  const snapshot = await snapshotOfMasters(kube);
  expect(violationsOf(snapshot, { image: final, rendered })).toEqual([]);
});
