import { describe, expect, it } from 'vitest';
import { bothFacts, bothHost, bothSite } from '../../../test/layering/both-pools.ts';
import { handOverTo, key, siteCluster } from '../../../test/layering/hand-over-run.ts';
import {
  final,
  operator,
  renderedConfig,
  renderedPool,
} from '../../../test/layering/hand-over-site.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import {
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
} from '../../kube/kinds.ts';
import { hours, minutes } from '../../model/duration.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { handOverServed } from './hand-over.ts';

const later = `rendered-master-${'7'.repeat(32)}`;
const chrony = { path: '/etc/chrony.conf', contents: { source: 'data:,x' } };
const otherFile = { config: { ignition: { version: '3.5.0' }, storage: { files: [chrony] } } };

/** The pool has another MachineConfig by now. */
const renderAs = (kube: FakeKube, name: string, spec: object): FakeKube =>
  kube.put(machineConfigs, renderedConfig(name, spec)).put(machineConfigPools, renderedPool(name));

const buildOfMasters = (kube: FakeKube): KubeObject | undefined => {
  const name =
    kube.objectsOf(machineOSConfigs)[0]?.metadata.annotations?.[key('current-machine-os-build')];
  return kube.objectsOf(machineOSBuilds).find(({ metadata }) => metadata.name === name);
};

describe('a pool of masters', () => {
  it('that is rendered otherwise for good is handed over as it is, where the image fits', async () => {
    const kube = renderAs(siteCluster(), later, otherFile);
    const clock = fakeClock();
    await runStep(handOverServed, handOverTo(kube, clock));
    expect(clock.now()).toBeLessThan(minutes(6));
    expect(buildOfMasters(kube)).toMatchObject({
      spec: { machineConfig: { name: later } },
      status: { digestedImagePushSpec: final },
    });
  });

  it('is waited for while the image does not fit: its nodes run it already', async () => {
    const kube = renderAs(siteCluster(), later, { kernelArguments: ['x'] });
    const run = { ...handOverTo(kube), clock: fakeClock() };
    const { failure, events } = await tryStep(handOverServed, run);
    expect(failure).toBeDefined();
    expect(run.clock.now()).toBeGreaterThanOrEqual(hours(24));
    expect(kube.objectsOf(machineOSConfigs)).toEqual([]);
    expect(statusesOf(events)).toContain(
      `it is rendered as ${later}: spec.kernelArguments differs`,
    );
  });

  /**
   * A cluster that renders the pool again when the MachineOSConfig comes; the builder may be faster
   * then.
   */
  const moving = (kube: FakeKube, builderMakes?: KubeObject): Kube => ({
    ...kube,
    create: (into, object, signal) => {
      if (into.kind === machineOSConfigs) {
        renderAs(kube, later, otherFile);
        if (builderMakes !== undefined) {
          kube.put(machineOSBuilds, builderMakes);
          const name = `build-${builderMakes.metadata.name}`;
          kube.put(jobs, { metadata: { name, namespace: operator } });
        }
      }
      return kube.create(into, object, signal);
    },
  });

  it('that is rendered again between the look and the write is looked at again', async () => {
    const kube = siteCluster();
    const { notes } = await runStep(handOverServed, handOverTo(moving(kube)));
    expect(notes).toContainEqual(expect.stringContaining('pool master was rendered again'));
    expect(buildOfMasters(kube)).toMatchObject({
      spec: { machineConfig: { name: later } },
      status: { digestedImagePushSpec: final },
    });
    expect(kube.objectsOf(machineOSBuilds)).toHaveLength(2);
  });

  it('that is rendered again is handed over although the builder has begun with it', async () => {
    const before = siteCluster();
    await runStep(handOverServed, handOverTo(moving(before)));
    const made = buildOfMasters(before);
    const name = made?.metadata.name ?? '';
    const kube = siteCluster();
    const theirs = { metadata: { name }, spec: made?.['spec'] };
    await runStep(handOverServed, handOverTo(moving(kube, theirs)));
    expect(kube.objectsOf(jobs)).toEqual([]);
    expect(buildOfMasters(kube)).toMatchObject({
      metadata: { name },
      status: { digestedImagePushSpec: final },
    });
  });
});

describe('a pool of workers that is rendered otherwise', () => {
  it('does not hold the bootstrap host up: the cluster builds for it', async () => {
    const other = `rendered-worker-${'8'.repeat(32)}`;
    const kube = bothSite.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
    kube.put(machineConfigs, renderedConfig(other, otherFile));
    for (const pool of kube.objectsOf(machineConfigPools)) {
      if (pool.metadata.name !== 'worker') continue;
      const configuration = { ...(pool['spec'] as { configuration: object }).configuration };
      const spec = {
        ...(pool['spec'] as object),
        configuration: { ...configuration, name: other },
      };
      kube.put(machineConfigPools, { ...pool, spec });
    }
    const clock = fakeClock();
    const { notes } = await runStep(handOverServed, {
      ...handOverTo(kube, clock),
      facts: bothFacts(),
      host: bothHost(),
    });
    expect(clock.now()).toBeLessThan(minutes(6));
    expect(kube.objectsOf(machineOSConfigs)).toMatchObject([
      { metadata: { name: 'master' }, status: { currentImagePullSpec: final } },
      { metadata: { name: 'worker', annotations: {} } },
    ]);
    expect(kube.objectsOf(machineOSBuilds)).toHaveLength(1);
    expect(notes).toContainEqual(
      expect.stringMatching(
        `^warn: the OS image of pool worker is not used, the cluster builds one: it is rendered as ${other}`,
      ),
    );
  });
});
