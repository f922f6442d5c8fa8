import { expect, it } from 'vitest';
import { withInstallConfig, withNodes } from '../../../test/support/cluster-objects.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { nodes } from '../../cluster/kinds.ts';
import type { Kube } from '../../ports/kube.ts';
import { waitForArbiter } from './wait-for-arbiter.ts';

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
  await runStep(waitForArbiter, { config, facts, clock, kube, inventory });
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
  const end = runStep(waitForArbiter, { config, facts, clock, kube, inventory });
  await clock.advance(1000);
  withNodes(kube, { name: 'a1', role: 'arbiter' });
  const { events } = await end;
  expect(inventory.reports.map(({ host }) => host.hostId)).toEqual(['id-a1']);
  expect(kube.objectsOf(nodes)).toHaveLength(2);
  expect(events[0]).not.toHaveProperty('stage');
});
