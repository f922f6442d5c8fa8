import { expect, it } from 'vitest';
import {
  bootkubeHost,
  withInstallConfig,
  withNodes,
} from '../../../test/support/cluster-objects.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, statusesOf } from '../../../test/support/run-step.ts';
import { nodes } from '../../kube/kinds.ts';
import type { ConfigInput } from '../../config/schema.ts';
import type { Kube } from '../../ports/kube.ts';
import { nodeTarget, waitForArbiter } from './wait-for-masters.ts';

const config: ConfigInput = { role: 'bootstrap', service: { url: 'http://svc.example' } };
const facts = { controlPlane: { units: [] } };

it('is over at once where there is none: no sleep, no node listed, no host asked for', async () => {
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

it('waits for the arbiter and reports it, not a master', async () => {
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
] as const)('of the role %s with %i replicas, %i are waited for', (role, replicas, target) => {
  const config = {
    controlPlaneReplicas: role === 'master' ? replicas : 3,
    arbiterReplicas: role === 'arbiter' ? replicas : 1,
  };
  expect(nodeTarget(role, config)).toBe(target);
});
