import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory, fakeReports, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import type { Inventory } from '../../ports/inventory.ts';
import { waitForControlPlane } from './wait-for-control-plane.ts';

const config: ConfigInput = { role: 'worker', service: { url: 'http://svc.example' } };
const done = (name: string, role = 'master') => inventoryHost({ name, role, stage: 'Done' });
const joined = (name: string) => inventoryHost({ name, stage: 'Joined' });

/**
 * An inventory service that records the time of each request; its second master completes at a
 * given time.
 */
function slowInventory(readyAt: number, more: Partial<Inventory> = {}) {
  const clock = fakeClock();
  const times: number[] = [];
  const inventory = fakeInventory();
  inventory.answering({
    cluster: () => {
      times.push(clock.now());
      return Promise.resolve({ id: 'c', kind: 'Cluster' });
    },
    hosts: (role) => {
      times.push(clock.now());
      if (role !== 'master') return Promise.resolve([]);
      const second = clock.now() >= readyAt ? done('m2') : joined('m2');
      return Promise.resolve([done('m1'), second]);
    },
    ...more,
  });
  return { clock, times, inventory };
}

/** The most requests within one minute. */
const mostPerMinute = (times: readonly number[]): number =>
  Math.max(
    ...times.map((from) => times.filter((at) => at >= from && at < from + minutes(1)).length),
  );

describe('cluster/wait-for-control-plane', () => {
  it('sends three requests and finishes when two masters are done', async () => {
    const inventory = fakeInventory({ hosts: [done('m1'), done('m2')] });
    const { events, progress } = await runStep(waitForControlPlane, { config, inventory });
    expect(inventory.calls).toEqual(['cluster', 'hosts master', 'hosts arbiter']);
    expect(events[0]).toMatchObject({ stage: 'Waiting for control plane', stageInfo: '' });
    expect([...progress, ...events.filter(({ type }) => type === 'wait.updated')]).toEqual([]);
  });

  it('does not wait in an existing cluster', async () => {
    const inventory = fakeInventory({ cluster: { kind: 'AddHostsCluster' } });
    await runStep(waitForControlPlane, { config, inventory });
    expect(inventory.calls).toEqual(['cluster']);
  });

  it.each(['v1', 'bm-inventory-v1'] as const)('is skipped with a service of %s', async (api) => {
    const inventory = fakeInventory();
    const service = { ...config.service, api };
    const { events } = await runStep(waitForControlPlane, {
      config: { ...config, service },
      inventory,
    });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
    expect(inventory.calls).toEqual([]);
  });

  it('reports the host name of a master without a configured name', async () => {
    const { clock, inventory } = slowInventory(minutes(20), {
      hosts: (role) =>
        Promise.resolve(
          role === 'master' ? [inventoryHost({ id: 'id-1', name: '', stage: 'Joined' })] : [],
        ),
      namedHosts: () =>
        clock.now() < minutes(5)
          ? Promise.reject(inventoryFailure('inventory.unreachable', 'no'))
          : Promise.resolve([inventoryHost({ id: 'id-1', name: 'm1' })]),
    });
    const { events } = await tryStep(waitForControlPlane, { config, clock, inventory });
    expect(statusesOf(events)).toEqual([
      '0 of 2 masters are done: id-1 is Joined',
      '0 of 2 masters are done: m1 is Joined',
    ]);
  });

  it('sends at most two requests per minute after the first poll', async () => {
    const { clock, times, inventory } = slowInventory(hours(3));
    await runStep(waitForControlPlane, { config, clock, inventory });
    expect(times.filter((time) => time === 0)).toHaveLength(3);
    expect(mostPerMinute(times.filter((time) => time > 0))).toBe(2);
    expect(clock.now()).toBeLessThanOrEqual(hours(3) + minutes(1.5));
  });

  it.each([
    ['fails', 1],
    ['fails for a minute', 3],
    ['fails for ten minutes', 21],
  ])('sends a request at least every 40 seconds when the service %s', async (_, failures) => {
    const { clock, times, inventory } = slowInventory(hours(1), {
      hosts: (role) => {
        times.push(clock.now());
        const isDone = clock.now() >= hours(1);
        const host = (id: string) =>
          inventoryHost({ id, name: '', role, stage: isDone ? 'Done' : 'Joined' });
        return Promise.resolve(role === 'master' ? [host('id-1'), host('id-2')] : []);
      },
      namedHosts: () => {
        times.push(clock.now());
        return Promise.reject(inventoryFailure('inventory.unreachable', 'no'));
      },
    });
    inventory.failing('cluster', inventoryFailure('inventory.unreachable', 'no'), failures);
    await runStep(waitForControlPlane, { config, clock, inventory });
    const gaps = times.map((at, index) => at - (times[index - 1] ?? at));
    expect(Math.max(...gaps.slice(1))).toBeLessThanOrEqual(seconds(40));
    expect(clock.now()).toBeLessThanOrEqual(hours(1) + seconds(40));
    // One request per poll, and a few for names.
    expect(times.length).toBeLessThan(2 * 60 + 40);
  });

  it('lists masters and arbiters in turn, with at most two requests per minute', async () => {
    const roles: string[] = [];
    const { clock, times, inventory } = slowInventory(hours(1), {
      hosts: (role) => {
        times.push(clock.now());
        roles.push(role);
        return Promise.resolve(
          role === 'master' && clock.now() >= hours(1)
            ? [done('m1'), done('m2')]
            : [inventoryHost({ role, stage: 'Joined' })],
        );
      },
    });
    await runStep(waitForControlPlane, { config, clock, inventory });
    expect(mostPerMinute(times.filter((time) => time > 0))).toBe(2);
    // The first poll lists both.
    expect(roles.slice(0, 2)).toEqual(['master', 'arbiter']);
    const later = roles.slice(2);
    expect(later).toEqual(later.map((_, index) => (index % 2 === 0 ? 'arbiter' : 'master')));
    expect(later.length).toBeGreaterThan(100);
  });

  it('repeats only failed requests when the service fails', async () => {
    const down = inventoryFailure('inventory.unreachable', 'service is down');
    const inventory = fakeInventory({ hosts: [done('m1'), done('m2')] })
      .failing('cluster', down, 2)
      .failing('hosts', down, 2);
    const { events, notes } = await runStep(waitForControlPlane, { config, inventory });
    expect(inventory.calls).toEqual([
      'cluster',
      'cluster',
      'cluster',
      'hosts master',
      'hosts master',
      'hosts master',
      'hosts arbiter',
    ]);
    // Reporting the failure of the service would be one more request to it.
    expect(statusesOf(events)).toEqual(['the inventory service has not answered yet']);
    expect(notes).toEqual(['warn: the inventory service cannot be asked; asking again']);
  });

  it.each([
    ['cancelled', true],
    ['resetting-pending-user-action', true],
    ['error', true],
    ['installing-pending-user-action', false],
    ['disabled', false],
  ])('confirms its own status when a master is %s: %s', async (status, isConfirmed) => {
    const { clock, inventory } = slowInventory(minutes(2), {
      hosts: (role) => {
        if (role !== 'master') return Promise.resolve([]);
        const isOver = clock.now() >= minutes(2);
        return Promise.resolve(
          isOver ? [done('m1'), done('m2')] : [joined('m1'), { ...joined('m2'), status }],
        );
      },
    });
    let confirmations = 0;
    const reports = {
      ...fakeReports(),
      confirm: () => {
        confirmations += 1;
        return Promise.resolve();
      },
    };
    await runStep(waitForControlPlane, { config, clock, inventory, reports });
    expect(confirmations > 0).toBe(isConfirmed);
  });

  it('times out after a day with the last status', async () => {
    const { clock, inventory } = slowInventory(hours(100));
    const { failure } = await tryStep(waitForControlPlane, { config, clock, inventory });
    expect(failure).toMatchObject({
      code: 'wait.timed-out',
      kind: 'limit',
      context: { status: '1 of 2 masters are done: m2 is Joined' },
    });
    expect(clock.now()).toBe(hours(24));
  });
});
