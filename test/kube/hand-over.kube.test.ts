import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Kube as Rig, startKube } from '../../mocks/kube/start.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import {
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  namespaces,
  nodes,
  secrets,
} from '../../src/cluster/kinds.ts';
import { breachesOf } from '../../src/layering/invariants/table.ts';
import { sightOf } from '../../src/layering/invariants/standing.ts';
import { pinName } from '../../src/layering/delivery/pin.ts';
import { conditionsOf } from '../../src/layering/os-build/status.ts';
import type { Kube, KubeObject, KubeRef } from '../../src/ports/kube.ts';
import { handOverServed, handOverToRollOut } from '../../src/steps/layering/hand-over-when.ts';
import { submitPins } from '../../src/steps/layering/submit-pins.ts';
import { waitForLayeredMasters } from '../../src/steps/layering/wait-for-layered-masters.ts';
import {
  buildNamed,
  byHost,
  dyingKube,
  final,
  handedOver,
  type HandOverFacts,
  handOverFacts,
  handOverHost,
  operator,
  rendered,
  renderedPool,
  site,
  stockFacts,
} from '../layering/hand-over-site.ts';
import { orderFor } from '../layering/lane-facts.ts';
import { nodeObject } from '../layering/layered-pool.ts';
import { osConfigObject } from '../layering/samples.ts';
import { quickClock } from '../support/quick-clock.ts';
import { runStep, tryStep } from '../support/run-step.ts';
import { clusterOf } from './cluster-of.ts';

const config = { role: 'bootstrap', layering: { mode: 'on' } } as const;
const key = (name: string): string => `machineconfiguration.openshift.io/${name}`;
const { signal } = new AbortController();
/** The hour at which all is written, so that two ways to the same end can be compared. */
const clock = { ...systemClock, now: () => Date.UTC(2026, 10, 21, 12) };

const build: KubeRef = { kind: machineOSBuilds, name: buildNamed };
const osConfig: KubeRef = { kind: machineOSConfigs, name: 'master' };
const job: KubeRef = { kind: jobs, name: `build-${buildNamed}`, namespace: operator };
const secret: KubeRef = { kind: secrets, name: 'ocl-push', namespace: operator };

let rig: Rig;
let kube: KubeCluster;

beforeAll(async () => {
  rig = await startKube();
  kube = clusterOf(rig.kubeconfig);
  const metadata = { name: operator };
  await rig.client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  for (const [kind, object] of site) await rig.client.apply(kind, object);
});
afterAll(async () => {
  await kube.close();
  await rig.close();
});
beforeEach(wipe);

/** Nobody collects what is deleted in the foreground here. */
async function wipe(): Promise<void> {
  if ((await rig.client.get(build)) !== undefined) {
    await rig.client.merge(build, { metadata: { finalizers: null } });
  }
  for (const ref of [build, osConfig, job, secret]) await rig.client.remove(ref);
}

const setting = (over: Kube = kube, facts: HandOverFacts = handOverFacts) => ({
  config,
  facts,
  kube: over,
  host: handOverHost(),
  clock,
});

const versions = async (): Promise<readonly unknown[]> =>
  Promise.all(
    [build, osConfig, secret].map(
      async (ref) => (await rig.client.get(ref))?.metadata.resourceVersion,
    ),
  );

const ownBuild = (): KubeObject => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineOSBuild',
  metadata: {
    name: buildNamed,
    labels: {
      [key('target-machine-config-pool')]: 'master',
      [key('rendered-machine-config')]: rendered,
      [key('machine-os-config')]: 'master',
    },
  },
  spec: {
    machineConfig: { name: rendered },
    machineOSConfig: { name: 'master' },
    renderedImagePushSpec: `registry.rig.test/ocl/master:${buildNamed}`,
  },
});

const ownJob = (): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: job.name, namespace: operator },
  spec: {
    template: {
      spec: { restartPolicy: 'Never', containers: [{ name: 'build', image: 'r.test/mco:1' }] },
    },
  },
});

describe('a hand-over on a real API server', () => {
  it('is taken, statuses included, and kept by value', async () => {
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

  it('writes nothing at a second time', async () => {
    await runStep(handOverServed, setting());
    const before = await versions();
    await runStep(handOverServed, setting());
    expect(await versions()).toEqual(before);
  });

  it('comes to the same end wherever it is cut off', async () => {
    const counted = dyingKube(kube, -1, 'after');
    await runStep(handOverServed, setting(counted));
    const expected = await handedOver(kube);
    expect(counted.writes()).toBe(6);
    for (let write = 0; write < counted.writes(); write += 1) {
      for (const when of ['before', 'after'] as const) {
        await wipe();
        const { failure } = await tryStep(handOverServed, setting(dyingKube(kube, write, when)));
        expect(failure).toMatchObject({ code: 'run.unexpected' });
        await runStep(handOverServed, setting());
        expect(await handedOver(kube), `cut off ${when} write ${write}`).toEqual(expected);
      }
    }
  });

  it('waits for a pool that is rendered as on the bootstrap host', async () => {
    const other = `rendered-master-${'9'.repeat(32)}`;
    const pool: KubeRef = { kind: machineConfigPools, name: 'master' };
    await rig.client.apply(machineConfigPools, renderedPool(other));
    const run = setting();
    const looked = Promise.withResolvers<undefined>();
    // What differs is looked for once another configuration is seen.
    const get: Kube['get'] = (ref, at) => {
      if (ref.name === other) looked.resolve(undefined);
      return kube.get(ref, at);
    };
    const done = runStep(handOverServed, { ...run, kube: { ...kube, get } });
    await looked.promise;
    expect(await rig.client.get(osConfig)).toBeUndefined();
    await rig.client.merge(pool, { spec: renderedPool()['spec'] });
    const { events } = await done;
    expect(events).toContainEqual(
      expect.objectContaining({
        status: expect.stringContaining(`rendered as ${other}`) as string,
      }),
    );
    expect(await rig.client.get(osConfig)).toBeDefined();
  });

  it('gives the cluster the order alone when there is no image', async () => {
    await runStep(handOverToRollOut, { ...setting(), facts: { ...stockFacts, by: byHost } });
    const found = await rig.client.get(osConfig);
    expect(found?.metadata.annotations).toBeUndefined();
    expect(found).not.toHaveProperty('status');
    expect(await rig.client.get(build)).toBeUndefined();
    expect(await rig.client.get(secret)).toBeDefined();
  });
});

describe('a builder that was faster, on a real API server', () => {
  const building = {
    buildStart: '2026-11-21T11:59:00Z',
    conditions: conditionsOf('running', new Date(Date.UTC(2026, 10, 21, 11, 59))),
    builder: {
      imageBuilderType: 'Job',
      job: { group: 'batch', resource: 'jobs', name: job.name, namespace: operator },
    },
  };

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

  it('is answered with 409: its build is taken over, its job removed', async () => {
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

  it('is at work already: the start that it wrote stays, the end comes behind it', async () => {
    await rig.client.create(machineOSBuilds, ownBuild());
    await rig.client.mergeStatus(build, building);
    await rig.client.create(jobs, ownJob());
    await runStep(handOverServed, setting());
    expect(await rig.client.get(build)).toMatchObject({
      status: {
        ...building,
        conditions: expect.any(Array) as unknown[],
        buildEnd: '2026-11-21T12:00:00Z',
      },
    });
    await taken();
  });

  it('starts its job late: it is waited for and removed', async () => {
    await rig.client.create(machineOSBuilds, ownBuild());
    const done = runStep(handOverServed, setting());
    await expect
      .poll(async () => (await rig.client.get(build))?.['status'])
      .toMatchObject({ digestedImagePushSpec: final });
    await rig.client.create(jobs, ownJob());
    await done;
    await taken();
  });

  it('has failed: nothing can be written over that, and it is told', async () => {
    await rig.client.create(machineOSBuilds, ownBuild());
    await rig.client.mergeStatus(build, { conditions: conditionsOf('failed', new Date(0)) });
    const run = { ...setting(), clock: { ...quickClock(), now: clock.now } };
    const { failure } = await tryStep(handOverServed, run);
    expect(failure).toMatchObject({ code: 'layering.build-in-the-way' });
  });
});

describe('the gate before the pivot, on a real API server', () => {
  const facts = {
    ...handOverFacts,
    controlPlane: { units: [] },
    pinned: [],
    registry: {
      kind: 'running' as const,
      address: '10.0.0.1:5000',
      data: '',
      certificates: '',
      authFile: '',
    },
  };
  const annotations = {
    currentConfig: rendered,
    desiredConfig: rendered,
    currentImage: final,
    desiredImage: final,
    state: 'Done',
  };

  it('opens when the masters run what was handed over', async () => {
    await runStep(handOverServed, setting());
    const gate = runStep(waitForLayeredMasters, { config, facts, kube, clock });
    for (const name of ['m1', 'm2']) {
      await rig.client.apply(nodes, nodeObject(name, 'master', annotations));
    }
    const condition = (type: string, status: string) => ({
      type,
      status,
      reason: '',
      message: '',
      lastTransitionTime: '2026-11-21T12:00:00Z',
    });
    await rig.client.mergeStatus(
      { kind: machineConfigPools, name: 'master' },
      {
        machineCount: 2,
        updatedMachineCount: 2,
        readyMachineCount: 2,
        conditions: [
          condition('Updated', 'True'),
          condition('Updating', 'False'),
          condition('Degraded', 'False'),
        ],
      },
    );
    const { events } = await gate;
    expect(events.filter(({ type }) => type === 'wait.updated')).not.toEqual([]);
    const [pools, osConfigs, builds, all] = await Promise.all(
      [machineConfigPools, machineOSConfigs, machineOSBuilds, nodes].map((kind) =>
        kube.list({ kind }, signal),
      ),
    );
    const sight = sightOf('master', {
      pools: pools ?? [],
      osConfigs: osConfigs ?? [],
      builds: builds ?? [],
      nodes: all ?? [],
      jobs: await kube.list({ kind: jobs, namespace: operator }, signal),
    });
    expect(breachesOf(sight, { image: final, rendered })).toEqual([]);
  });

  it('takes the MachineConfig that names an image, once', async () => {
    const order = orderFor(['master'], 'pinned');
    const pinned = [{ pool: 'master', name: rendered, file: '', osImage: final }];
    const run = { config, facts: { order, pinned }, kube, clock };
    const ref = { kind: machineConfigs, name: pinName('master') };
    await runStep(submitPins, run);
    const made = await rig.client.get(ref);
    expect(made).toMatchObject({
      metadata: { labels: { [key('role')]: 'master' } },
      spec: { osImageURL: final },
    });
    await runStep(submitPins, run);
    expect(await rig.client.get(ref)).toEqual(made);
    await rig.client.remove(ref);
  });

  it('stays shut while a MachineConfig names the registry of this host', async () => {
    await runStep(handOverServed, setting());
    const name = '99-staged';
    await rig.client.apply(machineConfigs, {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfig',
      metadata: { name },
      spec: { osImageURL: '10.0.0.1:5000/ocl/master@sha256:0' },
    });
    const { failure } = await tryStep(waitForLayeredMasters, { config, facts, kube, clock });
    await rig.client.remove({ kind: machineConfigs, name });
    expect(failure).toMatchObject({ code: 'layering.staging-referenced' });
  });
});
