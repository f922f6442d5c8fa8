import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { withInstallConfig, withInvoker } from '../../../test/support/cluster-objects.ts';
import { fakeRandom } from '../../../test/support/fake-random.ts';
import {
  installationConfig,
  runInstallation as runControllers,
} from '../../../test/support/run-installation.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import type { RunEventBody } from '../../engine/events.ts';
import { clusterVersions, configMaps } from '../../kube/kinds.ts';
import { runInstallation } from './installation.ts';

/** Names of the completed steps, in order, of an installation that has ended at the service. */
async function stepsOf(invoker: string, config: ConfigInput, status = 'installed') {
  const events: RunEventBody[] = [];
  const [clock, kube] = [fakeClock(), withInvoker(fakeKube(), invoker)];
  withInstallConfig(kube, 'platform: {none: {}}\n');
  kube.put(clusterVersions, {
    metadata: { name: 'version' },
    status: { conditions: [{ type: 'Available', status: 'True' }] },
  });
  const inventory = fakeInventory({ cluster: { status } });
  const emit = (event: RunEventBody): void => void events.push(event);
  const ports = { clock, kube, adminKube: kube, inventory, host: fakeHost(), random: fakeRandom() };
  const scope = { ...ports, emit, config: installationConfig(config) };
  await runInstallation({ ...scope, signal: new AbortController().signal });
  const ended = events.flatMap((event) => (event.type === 'step.finished' ? [event.step] : []));
  return { ended, types: events.map(({ type }) => type), kube, inventory };
}

describe('an installation', () => {
  it.each([
    [
      'with a service',
      'assisted-service',
      {},
      'announce-ready complete-installation wait-for-end upload-final-logs',
    ],
    [
      'of the agent-based installer, on a single node',
      'agent-installer',
      { cluster: { controlPlaneCount: 1 } },
      'apply-agent-manifests wait-for-end',
    ],
  ])('%s ends after its steps', async (_, invoker, config, steps) => {
    const { ended, types } = await stepsOf(invoker, config);
    const names = ['read-new-cluster', ...steps.split(' '), 'remove-record'];
    expect(ended.toSorted()).toEqual(names.map((name) => `controller/${name}`).toSorted());
    expect(types[0]).toBe('run.started');
    expect(types.at(-1)).toBe('run.finished');
  });

  it('of the agent-based installer makes no request to the service and writes no ConfigMap', async () => {
    const config = { cluster: { controlPlaneCount: 1 } };
    const { inventory, kube } = await stepsOf('agent-installer', config, 'installing');
    expect(inventory.calls).toEqual([]);
    expect(kube.writes.filter(({ kind }) => kind === configMaps.plural)).toEqual([]);
  });

  it('fails with the error of a failed step', async () => {
    const kube = withInvoker(fakeKube(), 'assisted-service');
    withInstallConfig(kube, 'platform: {none: {}}\n');
    const inventory = fakeInventory();
    inventory.lose(inventoryFailure('inventory.unreachable', 'no route to host'));
    const events: RunEventBody[] = [];
    const failed = runInstallation({
      clock: fakeClock(),
      kube,
      adminKube: kube,
      inventory,
      host: fakeHost(),
      random: fakeRandom(),
      config: installationConfig(),
      emit: (event) => void events.push(event),
      signal: new AbortController().signal,
    });
    await expect(failed).rejects.toMatchObject({ code: 'wait.timed-out' });
    expect(events.at(-1)).toMatchObject({ type: 'run.failed' });
  });

  it.each([
    [true, ['warn: this controller does not count reboots: NOTIFY_NUM_REBOOTS has no effect']],
    [false, []],
  ])('warns that NOTIFY_NUM_REBOOTS has no effect: %j', (notifyNumReboots, notes) => {
    const config = { controller: { notifyNumReboots } };
    expect(runControllers([], { config }).said().notes).toEqual(notes);
  });
});
