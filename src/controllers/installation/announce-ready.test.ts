import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { tryInstallationStep } from '../../../test/support/run-installation.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { configMaps, events } from '../../kube/kinds.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { recordRef } from '../../steps/cluster/left-record.ts';
import { announceReady } from './announce-ready.ts';

const away = inventoryFailure('inventory.unreachable', 'no route to host');
const unreachable = kubeFailure('kube.unreachable', 'connection refused');

function setUp({ isAgentBased = false, kube = fakeKube() } = {}) {
  const clock = fakeClock({ start: Date.parse('2026-11-23T08:00:00.250Z') });
  const inventory = fakeInventory();
  const run = () =>
    tryInstallationStep((scope) => announceReady(scope, isAgentBased), { clock, inventory, kube });
  return { clock, inventory, kube, run };
}

const namesIn = (kube: FakeKube) => kube.objectsOf(events).map(({ metadata }) => metadata.name);

describe('announceReady', () => {
  it('creates exactly the event that bootstrap hosts wait for', async () => {
    const { kube, run } = setUp();
    const { failure } = await run();
    expect(failure).toBeUndefined();
    expect(kube.writes).toEqual([
      {
        verb: 'create',
        kind: 'events',
        namespace: 'assisted-installer',
        name: 'AssistedControllerIsReady',
        body: {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: 'AssistedControllerIsReady', namespace: 'assisted-installer' },
          involvedObject: {
            namespace: 'assisted-installer',
            name: 'assisted-installer-controller',
          },
          reason: 'AssistedControllerIsReady',
          message:
            'Assisted controller managed to connect to assisted service and kube-apiserver and is ready to start',
          type: 'Normal',
          count: 1,
          firstTimestamp: '2026-11-23T08:00:00Z',
          lastTimestamp: '2026-11-23T08:00:00Z',
        },
      },
    ]);
  });

  it('accepts the event of an earlier run', async () => {
    const { kube, run } = setUp();
    await run();
    expect((await run()).failure).toBeUndefined();
    expect(namesIn(kube)).toHaveLength(1);
  });

  it('waits for the service and for the API server', async () => {
    const { clock, inventory, kube, run } = setUp();
    inventory.lose(away);
    kube.lastError(unreachable);
    const ended = run();
    await clock.sleep(seconds(30), new AbortController().signal);
    inventory.set({});
    await clock.sleep(seconds(30), new AbortController().signal);
    expect(namesIn(kube)).toEqual([]);
    kube.lastError(undefined);
    expect((await ended).failure).toBeUndefined();
    expect(clock.elapsed()).toBeLessThanOrEqual(seconds(62));
    expect(namesIn(kube)).toEqual(['AssistedControllerIsReady']);
  });

  it('fails after 70 minutes without the service', async () => {
    const { clock, inventory, run } = setUp();
    inventory.lose(away);
    const { failure } = await run();
    expect(failure).toMatchObject({ code: 'wait.timed-out' });
    expect(clock.elapsed()).toBe(minutes(70));
  });

  it('continues after five minutes in an agent-based installation', async () => {
    const { clock, inventory, kube, run } = setUp({ isAgentBased: true });
    inventory.lose(away);
    const { failure, notes } = await run();
    expect(failure).toBeUndefined();
    expect(clock.elapsed()).toBe(minutes(5));
    expect(notes).toEqual(['warn: continuing without the service']);
    expect(namesIn(kube)).toEqual([]);
  });

  it('continues at once when the bootstrap host has left together with the service', async () => {
    const { clock, inventory, kube, run } = setUp({ isAgentBased: true });
    inventory.lose(away);
    const { name, namespace } = recordRef;
    kube.put(configMaps, { metadata: { name, namespace: namespace ?? '' } });
    const { failure, notes } = await run();
    expect(failure).toBeUndefined();
    expect(clock.elapsed()).toBeLessThan(seconds(5));
    expect(notes).toEqual(['info: the bootstrap host has left, and the service with it']);
    expect(namesIn(kube)).toEqual([]);
  });

  it('fails after a minute when creating the event is forbidden', async () => {
    const kube: FakeKube = {
      ...fakeKube(),
      create: () => {
        return Promise.reject(
          kubeFailure('kube.denied', 'forbidden', { context: { status: 403 } }),
        );
      },
    };
    const { clock, run } = setUp({ kube, isAgentBased: true });
    expect((await run()).failure).toMatchObject({ code: 'kube.denied' });
    expect(clock.elapsed()).toBe(minutes(1));
  });
});
