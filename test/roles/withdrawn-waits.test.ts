// An agent notices within about a minute that the service has withdrawn its host, in any wait:
// nothing in these worlds changes, so that no wait reports progress.
import { expect, it } from 'vitest';
import { inventoryFailure } from '../../src/adapters/http/failures.ts';
import { configMaps } from '../../src/kube/kinds.ts';
import { isLanes, linesFor } from '../../src/engine/role.ts';
import type { Config } from '../../src/config/schema.ts';
import { hours, minutes, seconds } from '../../src/model/duration.ts';
import { Reporter } from '../../src/reporting/reporter.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import { withdrawal } from '../../src/steps/host/confirm-installation.ts';
import { bootkubeHost, withInstallConfig } from '../support/cluster-objects.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { tryStep } from '../support/run-step.ts';
import { corners } from './corners.ts';

const stepsOf = (config: Config) =>
  linesFor(chooseRole(config), config).flatMap((item) =>
    isLanes(item) ? Object.values(item.lanes).flat() : [item],
  );

/** Each step of a role that may wait for hours, once, by its role. */
const waits = new Map(
  corners.flatMap(({ config }) =>
    stepsOf(config).flatMap((step) =>
      step.limit > hours(20) && !step.id.endsWith('-hook')
        ? [[`${config.role}: ${step.id}`, { step, config }] as const]
        : [],
    ),
  ),
);

const notReady = () => Promise.reject(inventoryFailure('inventory.not-ready', 'no master answers'));

it.each([...waits])('%s', async (_, { step, config }) => {
  const clock = fakeClock();
  const host = bootkubeHost();
  const halt = new AbortController();
  let status = 'installing-in-progress';
  const reporter = new Reporter({
    ladder: chooseRole(config).ladder,
    clock,
    send: () => Promise.resolve(),
    listedHost: () => Promise.resolve({ status }),
    onRefused: (refused) => halt.abort(withdrawal(config, refused)),
    emit: () => undefined,
  });
  await reporter.settled(seconds(10), halt.signal);
  void clock.sleep(hours(1), halt.signal).then(
    () => (status = 'resetting-pending-user-action'),
    () => undefined,
  );
  const inventory = {
    ...fakeInventory({
      hosts: [inventoryHost({ stage: 'Installing' }), inventoryHost({ id: 'w', role: 'worker' })],
    }),
    hostIgnition: notReady,
    clusterFile: notReady,
  };
  const kube = withInstallConfig(
    fakeKube(),
    'controlPlane: {replicas: 2}\narbiter: {replicas: 1}',
  ).put(configMaps, {
    metadata: { name: 'openshift-install-manifests', namespace: 'openshift-config' },
    data: { invoker: 'agent-installer' },
  });
  const run = {
    clock,
    host,
    inventory,
    kube,
    halt: halt.signal,
    heard: reporter.sink,
    config: {
      role: config.role,
      service: { url: 'http://inventory.example' },
      bootstrap: { etcdOverride: 'always' },
      cluster: { openshiftVersion: '4.21.0' },
    },
    facts: { controlPlane: { units: ['bootkube.service'] } },
  };
  const { failure } = await tryStep({ ...step, when: undefined } as never, run as never);
  expect(failure).toMatchObject({ code: 'install.withdrawn' });
  expect(clock.now()).toBeLessThanOrEqual(hours(1) + minutes(1));
  reporter.close();
});
