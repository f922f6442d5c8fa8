import { expect, it } from 'vitest';
import { clusterSeed, hostSeed } from './records.ts';
import { timedOut } from './finalizing.ts';
import { inventoryStore } from './store.ts';

const minute = 60_000;
const at = (stage: string) =>
  hostSeed({
    clusterId: 'c',
    infraEnvId: 'i',
    hostname: 'm1',
    role: 'master',
    status: 'installing-in-progress',
    stage,
    stageUpdatedAt: 0,
  });

it.each([
  ['Starting installation', 30, 'error'],
  ['Writing image to disk', 30, 'error'],
  ['Copying registry data to disk', 90, 'error'],
  ['Waiting for bootkube', 60, 'error'],
  ['Rebooting', 40, 'installing-pending-user-action'],
  ['Waiting for ignition', 1440, 'error'],
])('a host at %s times out after %i minutes: %s', (stage, limit, status) => {
  const check = { waitsForUser: false };
  expect(timedOut(at(stage), { ...check, now: limit * minute })).toBeUndefined();
  expect(timedOut(at(stage), { ...check, now: limit * minute + 1 })).toMatchObject({ status });
});

it('has no timeout while a user has to act or after Done, except at Configuring', () => {
  const now = 61 * minute;
  expect(timedOut(at('Waiting for bootkube'), { now, waitsForUser: true })).toBeUndefined();
  expect(timedOut(at('Configuring'), { now, waitsForUser: true })).toMatchObject({
    status: 'error',
  });
  expect(timedOut(at('Done'), { now, waitsForUser: false })).toBeUndefined();
});

it('fails the cluster with its master; only a changed text restarts the timeout', () => {
  let now = 0;
  const cluster = clusterSeed();
  const host = hostSeed({
    clusterId: cluster.id,
    infraEnvId: 'i',
    hostname: 'm1',
    role: 'master',
  });
  const store = inventoryStore({ cluster, hosts: [host] }, () => now);
  const report = (minutes: number, info: string): void => {
    now = minutes * minute;
    store.report(host.id, { stage: 'Installing', info }, 'v2');
    store.checkStages();
  };
  report(0, 'one');
  report(59, 'two');
  report(110, 'two');
  expect(store.cluster().status).toBe('installing');
  report(120, 'two');
  expect(store.cluster().status).toBe('error');
  expect(store.host(host.id)?.statusInfo).toContain('Installing took longer than expected 1h');
});
