// Waits compared with the timers of the service: it fails a host whose stage lasts too long without
// a changed text, and stops its agent. It must not end a wait whose condition can still come true,
// and must end one whose condition never does.
import { describe, expect, it } from 'vitest';
import { clusterSeed, hostSeed } from '../../mocks/inventory/records.ts';
import { inventoryStore } from '../../mocks/inventory/store.ts';
import { events } from '../../src/kube/kinds.ts';
import { hours, minutes } from '../../src/model/duration.ts';
import type { LadderName } from '../../src/model/stage.ts';
import { kubeFailure } from '../../src/ports/kube-failures.ts';
import { Reporter } from '../../src/reporting/reporter.ts';
import { waitForController } from '../../src/steps/cluster/controller.ts';
import { waitForBootkube } from '../../src/steps/cluster/wait-for-bootkube.ts';
import { waitForControlPlane } from '../../src/steps/cluster/wait-for-control-plane.ts';
import { waitForMasters } from '../../src/steps/cluster/wait-for-masters.ts';
import { deployToExistingRoot } from '../../src/steps/image/deploy-to-existing-root.ts';
import { bootkubeHost, withInstallConfig } from '../support/cluster-objects.ts';
import { fakeClock, type FakeClock } from '../support/fake-clock.ts';
import { fakeHost, rest } from '../support/fake-host.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { tryStep } from '../support/run-step.ts';

/** A service with a clock, and the reporter of one of its hosts. */
function serviceFor(ladder: LadderName, clock: FakeClock) {
  const cluster = clusterSeed();
  const role = ladder === 'worker' ? 'worker' : 'master';
  const host = hostSeed({
    clusterId: cluster.id,
    infraEnvId: 'i',
    hostname: 'h',
    role,
    isBootstrap: ladder === 'bootstrap',
  });
  const store = inventoryStore({ cluster, hosts: [host] }, clock.now);
  const reporter = new Reporter({
    ladder,
    clock,
    send: (report) => {
      store.report(host.id, report, 'v2');
      return Promise.resolve();
    },
    emit: () => undefined,
  });
  const stop = new AbortController();
  const watching = async (): Promise<number | undefined> => {
    for (;;) {
      await clock.sleep(minutes(1), stop.signal);
      store.checkStages();
      if (store.host(host.id)?.status === 'error') return clock.now() / minutes(1);
    }
  };
  /**
   * The minute in which the service failed the host and stopped its agent; undefined if it did not.
   */
  const failedAt = watching().then(
    (minute) => {
      stop.abort(new Error('the service has stopped the agent'));
      return minute;
    },
    () => undefined,
  );
  return {
    signal: stop.signal,
    heard: reporter.sink,
    end: async (): Promise<number | undefined> => {
      stop.abort(new Error('the step is over'));
      reporter.close();
      return failedAt;
    },
  };
}

const facts = { controlPlane: { units: [] } };
const config = { role: 'bootstrap', service: { url: 'http://svc.example' } } as const;

describe('the service ends', () => {
  it('a bootkube crash loop, even if its state keeps changing', async () => {
    const clock = fakeClock();
    let polls = 0;
    const host = bootkubeHost()
      .withFile('/opt/openshift/x', '')
      .on(['systemctl', 'show', rest])
      .answers(() => {
        polls += 1;
        const state = ['active\nSubState=running', 'activating\nSubState=auto-restart'][polls % 2];
        const result = ['success', 'exit-code', 'signal'][polls % 3];
        return `ActiveState=${state ?? ''}\nResult=${result ?? ''}\nNRestarts=${polls}\n`;
      });
    const service = serviceFor('bootstrap', clock);
    await tryStep(waitForBootkube, { ...service, host, clock, facts });
    expect(await service.end()).toBeLessThanOrEqual(95);
  });

  it.each([401, 403, 400])(
    'the wait for masters behind an API server that answers %i',
    async (status) => {
      const clock = fakeClock();
      const kube = withInstallConfig(fakeKube(), 'controlPlane: {replicas: 3}');
      const code = status === 400 ? 'kube.invalid' : 'kube.denied';
      kube.lastError(kubeFailure(code, 'no', { context: { status } }));
      const service = serviceFor('bootstrap', clock);
      const run = { ...service, kube, host: bootkubeHost(), clock, config, facts };
      const { failure } = await tryStep(waitForMasters, run);
      expect(failure).toMatchObject({ message: 'the service has stopped the agent' });
      expect(await service.end()).toBeLessThanOrEqual(95);
    },
  );

  it('the wait for a controller in a crash loop with an event each time', async () => {
    const clock = fakeClock();
    const service = serviceFor('bootstrap', clock);
    const kube = fakeKube();
    const crashing = (async () => {
      for (let count = 0; ; count += 1) {
        const metadata = { name: `back-off-${count}`, namespace: 'assisted-installer' };
        kube.put(events, { metadata, reason: 'BackOff' });
        await clock.sleep(minutes(5), service.signal);
      }
    })().catch(() => undefined);
    await tryStep(waitForController, { ...service, kube, clock, config, facts });
    await crashing;
    expect(await service.end()).toBeLessThanOrEqual(62);
  });
});

describe('the service does not end', () => {
  it('a worker with slow masters', async () => {
    const clock = fakeClock();
    const stageAt = (): string => (clock.now() < hours(5) ? 'Writing image to disk' : 'Done');
    const inventory = fakeInventory();
    inventory.answering({
      hosts: (role) =>
        Promise.resolve(
          role === 'master'
            ? ['m1', 'm2'].map((name) => inventoryHost({ name, stage: stageAt() }))
            : [],
        ),
    });
    const service = serviceFor('worker', clock);
    const run = { ...service, inventory, clock, config: { ...config, role: 'worker' } as const };
    const { failure } = await tryStep(waitForControlPlane, run);
    expect([failure, await service.end()]).toEqual([undefined, undefined]);
  });

  it('a deployment without output for longer than the limit of its stage', async () => {
    const clock = fakeClock();
    const host = fakeHost().withFile('/proc/cmdline', 'root=x').on([rest]).succeeds();
    host
      .on(['ostree', 'container', 'image', 'deploy', rest])
      .answers(async (_argv, _host, call) => {
        await clock.sleep(minutes(55), call.signal);
      });
    const service = serviceFor('master', clock);
    const image = { existingRoot: 'quay.io/os' };
    const ignition = { path: '/i.ign', bytes: 1, sha256: '', origin: '', version: '3.2.0' };
    const run = { ...service, host, clock, config: { image }, facts: { ignition } };
    await tryStep(deployToExistingRoot, run);
    expect(clock.now()).toBeGreaterThan(minutes(54));
    expect(await service.end()).toBeUndefined();
  });
});
