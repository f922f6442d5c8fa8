import { describe, expect, it } from 'vitest';
import {
  bootkubeHost,
  withInstallConfig,
  withNodes,
} from '../../../test/support/cluster-objects.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { reportsOf, runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { nodes } from '../../kube/kinds.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube } from '../../ports/kube.ts';
import { waitForMasters, nodeTarget, waitForArbiter } from './wait-for-masters.ts';

describe('cluster/wait-for-masters', () => {
  const config: ConfigInput = {
    role: 'bootstrap',
    cluster: { id: 'c', hostId: 'id-own' },
    service: { url: 'http://svc.example' },
  };
  const facts = { controlPlane: { units: ['bootkube.service'] } };
  const threeMasters = 'controlPlane: {replicas: 3}\nplatform: {none: {}}\n';
  const refused = inventoryFailure('inventory.refused', 'lower stage');
  const down = inventoryFailure('inventory.unreachable', 'service is down');

  const host = (name: string, more: Partial<InventoryHost> = {}): InventoryHost =>
    inventoryHost({ id: `id-${name}`, infraEnvId: `env-${name}`, name, ...more });

  function setUp({ yaml = threeMasters, hosts = [host('m1'), host('M2'), host('own')] } = {}) {
    const clock = fakeClock({ auto: false });
    const kube: FakeKube = withInstallConfig(fakeKube(), yaml);
    const inventory = fakeInventory({ hosts });
    return { config, facts, clock, kube, inventory, host: bootkubeHost() };
  }

  const reported = (inventory: ReturnType<typeof fakeInventory>): readonly string[] =>
    inventory.reports.map(({ host: { hostId, infraEnvId }, stage, info }) =>
      [infraEnvId, hostId, stage, info].join(' '),
    );

  it('reports each master when it becomes Ready and finishes with the second', async () => {
    const run = setUp();
    const end = runStep(waitForMasters, run);
    await settle();
    withNodes(run.kube, { name: 'm1', notReady: 'container runtime network not ready: x' });
    await settle();
    withNodes(run.kube, { name: 'm1' });
    await settle();
    expect(reported(run.inventory)).toEqual(['env-m1 id-m1 Joined ']);
    withNodes(run.kube, { name: 'm2' }, { name: 'w1', role: 'worker' });
    const { events } = await end;
    expect(reported(run.inventory)).toEqual(['env-m1 id-m1 Joined ', 'env-M2 id-M2 Joined ']);
    expect(run.inventory.calls).toEqual(['enabledHosts', 'report Joined', 'report Joined']);
    expect(run.clock.now()).toBe(0);
    expect(events[0]).toMatchObject({
      stage: 'Waiting for control plane',
      stageInfo: 'Waiting for masters to join bootstrap control plane',
    });
    expect(statusesOf(events)).toEqual([
      '0 of 2 masters ready; no master has joined yet',
      '0 of 2 masters ready; m1: NotReady, container network is not ready; no further master has joined yet',
      '1 of 2 masters ready; no further master has joined yet',
    ]);
  });

  it('waits for no node in a control plane of one', async () => {
    const run = setUp({ yaml: 'controlPlane: {replicas: 1}' });
    const { events } = await runStep(waitForMasters, run);
    expect([...statusesOf(events), ...run.inventory.calls]).toEqual([]);
  });

  it('waits for the install-config first', async () => {
    const run = { ...setUp(), kube: fakeKube() };
    const end = runStep(waitForMasters, run);
    await settle();
    withInstallConfig(run.kube, 'controlPlane: {replicas: 2}');
    withNodes(run.kube, { name: 'm1' });
    const { events } = await end;
    expect(statusesOf(events)[0]).toBe('kube-system/cluster-config-v1 is not in the cluster yet');
  });

  it('finds a host with another name by its address', async () => {
    const run = setUp({ hosts: [host('a', { addresses: ['10.0.0.1'] }), host('m2')] });
    withNodes(run.kube, { name: 'm1', addresses: ['10.0.0.1'] }, { name: 'm2' });
    await runStep(waitForMasters, run);
    expect(reported(run.inventory)).toEqual(['env-a id-a Joined ', 'env-m2 id-m2 Joined ']);
  });

  it('counts a node whose report is refused without a retry', async () => {
    const run = setUp();
    run.inventory.failing('report', refused);
    withNodes(run.kube, { name: 'm1' }, { name: 'm2' });
    const { notes } = await runStep(waitForMasters, run);
    expect(run.inventory.calls).toEqual(['enabledHosts', 'report Joined', 'report Joined']);
    expect(notes).toContain('warn: could not report stage Joined of m1');
  });

  it('counts a Ready node when its report fails for ten seconds', async () => {
    const run = setUp();
    run.inventory.failing('report', down, 100);
    withNodes(run.kube, { name: 'm1', addresses: ['10.0.0.1'] });
    const end = runStep(waitForMasters, run);
    await run.clock.advance(seconds(4));
    withNodes(run.kube, { name: 'm2' });
    await run.clock.advance(seconds(10));
    const { events } = await end;
    expect(statusesOf(events)).toContain(
      '0 of 2 masters ready; m1: Ready, not reported yet (inventory.unreachable); no further master has joined yet',
    );
  });

  it('counts Ready nodes when the service does not list its hosts', async () => {
    const run = setUp();
    run.inventory.answering({
      enabledHosts: (signal) => run.clock.sleep(hours(1), signal) as never,
    });
    withNodes(run.kube, { name: 'm1' }, { name: 'm2' });
    const end = runStep(waitForMasters, run);
    await run.clock.advance(seconds(10));
    await end;
    expect(reported(run.inventory)).toEqual([]);
  });

  it('does not wait for a hanging report', async () => {
    const run = setUp({ hosts: [host('m1'), host('m2'), host('m3')] });
    run.inventory.answering({
      report: ({ hostId }, _, signal) =>
        new Promise((resolve, reject) => {
          if (hostId !== 'id-m1') resolve();
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        }),
    });
    withNodes(run.kube, { name: 'm1' }, { name: 'm2' }, { name: 'm3' });
    await runStep(waitForMasters, run);
    expect(run.clock.now()).toBe(0);
  });

  it('does not count a Ready node that the service does not know, and names it', async () => {
    const run = { ...setUp(), clock: fakeClock() };
    withNodes(run.kube, { name: 'm1' }, { name: 'stray' }, { name: 'own' });
    const { failure, events } = await tryStep(waitForMasters, run);
    expect(failure).toMatchObject({
      code: 'wait.timed-out',
      context: {
        status:
          '1 of 2 masters ready; own: Ready, unknown to the inventory service; stray: Ready, unknown to the inventory service',
      },
    });
    expect(statusesOf(events)).toHaveLength(2);
    expect(run.clock.now()).toBe(hours(24));
    const requests = run.inventory.calls.filter((call) => call === 'enabledHosts').length;
    expect(requests).toBeGreaterThan(1000);
    expect(requests).toBeLessThanOrEqual(24 * 60 * 2 + 1);
  });

  it('counts a Ready node once the service knows it', async () => {
    const run = setUp({ hosts: [] });
    run.inventory.answering({
      enabledHosts: () =>
        Promise.resolve(run.clock.now() < minutes(1) ? [host('m1')] : [host('m1'), host('m2')]),
    });
    withNodes(run.kube, { name: 'm1' }, { name: 'm2' });
    const end = runStep(waitForMasters, run);
    await run.clock.advance(minutes(2));
    await end;
    expect(reported(run.inventory)).toEqual(['env-m1 id-m1 Joined ', 'env-m2 id-m2 Joined ']);
  });

  it('continues when the service does not list its hosts at first', async () => {
    const run = { ...setUp(), clock: fakeClock() };
    run.inventory.failing('enabledHosts', down, 2);
    withNodes(run.kube, { name: 'm1' }, { name: 'm2' });
    const { events } = await runStep(waitForMasters, run);
    expect(statusesOf(events).join()).toContain(
      'm1: Ready, the hosts of the inventory service cannot be listed (inventory.unreachable)',
    );
    expect(run.clock.now()).toBeLessThanOrEqual(seconds(10));
  });

  it('counts a node that was Ready before, but not one that was deleted', async () => {
    const run = setUp();
    withNodes(run.kube, { name: 'm1' });
    const end = runStep(waitForMasters, run);
    await settle();
    withNodes(run.kube, { name: 'm1', notReady: 'Kubelet stopped posting node status.' });
    await settle();
    run.kube.drop({ kind: nodes, name: 'm1' });
    await settle();
    withNodes(run.kube, { name: 'm1', notReady: 'x' }, { name: 'm2' });
    const { events } = await end;
    expect(statusesOf(events).at(-1)).toBe('0 of 2 masters ready; no master has joined yet');
  });

  it.each([
    ['by its address with a service', config, {}],
    ['by its machine ID without a service', { role: 'bootstrap' } as const, { machine: 'a1' }],
  ])('counts a host that joined under two names once: %s', async (_, ownConfig, machine) => {
    const run = {
      ...setUp({ hosts: [host('m1', { addresses: ['10.0.0.1'] }), host('m2')] }),
      config: ownConfig,
    };
    const localhost = { name: 'localhost', addresses: ['10.0.0.1'], ...machine };
    withNodes(run.kube, localhost);
    const end = runStep(waitForMasters, run);
    await settle();
    withNodes(run.kube, { ...localhost, name: 'm1' });
    await run.clock.advance(minutes(1));
    withNodes(run.kube, { name: 'm2' });
    expect(statusesOf((await end).events).at(-1)).toBe(
      '1 of 2 masters ready; m1: on the host of localhost; no further master has joined yet',
    );
  });

  it('reports an unreachable API server once', async () => {
    const run = setUp();
    const end = runStep(waitForMasters, run);
    await run.clock.advance(minutes(1));
    run.kube.lastError(kubeFailure('kube.unreachable', 'connection refused'));
    await run.clock.advance(minutes(1));
    run.kube.lastError(kubeFailure('kube.unreachable', 'no route'));
    await run.clock.advance(minutes(1));
    run.kube.lastError(undefined);
    withNodes(run.kube, { name: 'm1' }, { name: 'm2' });
    const { events } = await end;
    expect(statusesOf(events)).toEqual([
      '0 of 2 masters ready; no master has joined yet',
      '0 of 2 masters ready; no master has joined yet; the API server does not answer (kube.unreachable)',
    ]);
  });

  it('does not renew the stage while the API server refuses the credentials', async () => {
    const run = setUp();
    const end = runStep(waitForMasters, run);
    await settle();
    run.kube.lastError(kubeFailure('kube.denied', 'no', { context: { status: 401 } }));
    await run.clock.advance(hours(3));
    run.kube.lastError(undefined);
    withNodes(run.kube, { name: 'm1' }, { name: 'm2' });
    const { events } = await end;
    const reports = reportsOf(events, { ladder: 'bootstrap', stage: 'Installing' });
    expect(reports.slice(1).filter((text) => !text.startsWith('180:'))).toEqual([
      '0: 0 of 2 masters ready; no master has joined yet',
      '0: 0 of 2 masters ready; no master has joined yet; the API server refuses the credentials (401)',
    ]);
  });

  it.each([
    [
      'the API server does not answer',
      '',
      'kube-system/cluster-config-v1 is not in the cluster yet',
    ],
    ['it waits for masters', threeMasters, '0 of 2 masters ready; no master has joined yet; '],
  ])('reports a restart of bootkube while %s', async (_, yaml, status) => {
    const stop = new AbortController();
    const kube = yaml === '' ? fakeKube() : withInstallConfig(fakeKube(), yaml);
    const run = { ...setUp(), kube, signal: stop.signal };
    const end = tryStep(waitForMasters, run);
    await settle();
    if (yaml !== '') kube.lastError(kubeFailure('kube.unreachable', 'refused'));
    run.host
      .on(['systemctl', 'show', rest])
      .prints('ActiveState=activating\nSubState=auto-restart\nResult=exit-code\nNRestarts=1\n');
    await run.clock.advance(minutes(10));
    stop.abort(new Error('seen'));
    const statuses = statusesOf((await end).events);
    expect(statuses.at(-1)).toMatch(/; bootkube.service failed \(exit-code\) and was restarted$/);
    expect(statuses.at(-1)).toContain(status);
    expect(statuses.filter((one) => one.includes('bootkube'))).toHaveLength(1);
  });

  it.each([
    ['no API server has answered', fakeKube()],
    ['it waits for masters', withInstallConfig(fakeKube(), threeMasters)],
  ])('fails when the bootkube unit has failed while %s', async (_, kube) => {
    const run = { ...setUp(), kube };
    const end = tryStep(waitForMasters, run);
    await run.clock.advance(minutes(10));
    run.host
      .on(['systemctl', 'show', rest])
      .prints('ActiveState=failed\nSubState=failed\nResult=start-limit-hit\nNRestarts=4\n')
      .on(['journalctl', rest])
      .prints('no space left on device');
    await run.clock.advance(seconds(30));
    expect((await end).failure).toMatchObject({
      code: 'cluster.bootkube-failed',
      message: expect.stringContaining('start-limit-hit') as string,
    });
  });

  it('counts Ready nodes without an inventory service', async () => {
    const run = { ...setUp(), config: { role: 'bootstrap' } as const };
    withNodes(run.kube, { name: 'm1' }, { name: 'm2' });
    await runStep(waitForMasters, run);
    expect(run.inventory.calls).toEqual([]);
  });

  it('stops at once during a report', async () => {
    const run = setUp();
    const controller = new AbortController();
    run.inventory.answering({
      report: (_host, _progress, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        }),
    });
    withNodes(run.kube, { name: 'm1' });
    const end = tryStep(waitForMasters, { ...run, signal: controller.signal });
    await settle();
    controller.abort(new Error('the run is stopped'));
    expect((await end).failure).toMatchObject({ message: 'the run is stopped' });
  });
});

describe('cluster/wait-for-arbiter', () => {
  const config: ConfigInput = { role: 'bootstrap', service: { url: 'http://svc.example' } };
  const facts = { controlPlane: { units: [] } };

  it('finishes at once without an arbiter, listing neither nodes nor hosts', async () => {
    const clock = fakeClock({ auto: false });
    const inventory = fakeInventory();
    const followed: string[] = [];
    const cluster = withInstallConfig(fakeKube(), 'controlPlane: {replicas: 3}');
    const kube: Kube = {
      ...cluster,
      follow: (selection, seen, signal) => {
        followed.push(selection.kind.plural);
        return cluster.follow(selection, seen, signal);
      },
    };
    await runStep(waitForArbiter, { config, facts, clock, kube, inventory, host: bootkubeHost() });
    expect([clock.now(), inventory.calls, followed]).toEqual([0, [], ['configmaps']]);
  });

  it('waits for the arbiter and reports only it', async () => {
    const clock = fakeClock({ auto: false });
    const yaml = 'controlPlane: {replicas: 2}\narbiter: {replicas: 1}';
    const kube = withInstallConfig(fakeKube(), yaml);
    const inventory = fakeInventory({
      hosts: [
        inventoryHost({ id: 'id-m1', name: 'm1' }),
        inventoryHost({ id: 'id-a1', name: 'a1', role: 'arbiter' }),
      ],
    });
    withNodes(kube, { name: 'm1' });
    const end = runStep(waitForArbiter, {
      config,
      facts,
      clock,
      kube,
      inventory,
      host: bootkubeHost(),
    });
    await clock.advance(1000);
    withNodes(kube, { name: 'a1', role: 'arbiter' });
    const { events } = await end;
    expect(inventory.reports.map(({ host }) => host.hostId)).toEqual(['id-a1']);
    expect(kube.objectsOf(nodes)).toHaveLength(2);
    expect(events[0]).not.toHaveProperty('stage');
    expect(statusesOf(events)).toEqual(['0 of 1 arbiter ready; no arbiter has joined yet']);
  });

  it.each([
    ['master', 0, 0],
    ['master', 1, 0],
    ['master', 2, 1],
    ['master', 3, 2],
    ['master', 4, 2],
    ['master', 5, 2],
    ['arbiter', 0, 0],
    ['arbiter', 1, 1],
    ['arbiter', 2, 1],
  ] as const)('nodeTarget for %s with %i replicas is %i', (role, replicas, target) => {
    const config = {
      controlPlaneReplicas: role === 'master' ? replicas : 3,
      arbiterReplicas: role === 'arbiter' ? replicas : 1,
    };
    expect(nodeTarget(role, config)).toBe(target);
  });
});
