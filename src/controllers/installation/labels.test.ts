import { describe, expect, it } from 'vitest';
import { leaseFailure } from '../../kube/lease.ts';
import { type NodeSketch, nodeObject } from '../../../test/support/cluster-objects.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory, installingHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runInstallation } from '../../../test/support/run-installation.ts';
import { machineConfigPools, nodes } from '../../kube/kinds.ts';
import { seconds } from '../../model/duration.ts';
import type { InstallingHost } from '../../ports/inventory.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';

const host = (name: string, change: Partial<InstallingHost> = {}) =>
  installingHost({ id: `id-${name}`, name, role: 'worker', stage: 'Configuring', ...change });

const infra = { labels: { 'node-role.kubernetes.io/infra': '' }, pool: 'infra' };

const pool = (paused?: boolean, annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: { name: 'worker', annotations },
  spec: paused === undefined ? {} : { paused },
});

const ours = { 'bootwright.io/paused-for-labels': 'true' };

function setUp(
  hosts: readonly InstallingHost[],
  kube = fakeKube().put(machineConfigPools, pool()),
) {
  const clock = fakeClock({ auto: false });
  const inventory = fakeInventory({ hosts });
  const { stop } = runInstallation(['label-nodes', 'pause-workers'], { kube, clock, inventory });
  const node = (sketch: NodeSketch) => kube.put(nodes, nodeObject({ role: 'worker', ...sketch }));
  /** Writes in the form `patch worker paused`. */
  const written = () =>
    kube.writes.map(({ name, kind, body }) => {
      const { spec } = body as { readonly spec?: { readonly paused: boolean } };
      return kind === 'nodes' ? `label ${name}` : spec?.paused === true ? 'pause' : 'unpause';
    });
  return { clock, inventory, kube, node, stop, written };
}

/** A cluster whose first patches fail. */
function failingPatches(inner: FakeKube, times: number): FakeKube {
  let failures = times;
  return {
    ...inner,
    patch: (...given) => {
      failures -= 1;
      if (failures >= 0) return Promise.reject(kubeFailure('kube.failed', 'no'));
      return inner.patch(...given);
    },
  };
}

describe('labelling nodes', () => {
  it('labels each node with labels as soon as it is Ready', async () => {
    const labels = { tier: 'a', 'example.com/b': 'c' };
    const { clock, kube, node, written } = setUp([
      host('w0', { labels }),
      host('w1', { labels, addresses: ['192.0.2.7'] }),
      host('w2'),
    ]);
    node({ name: 'w0' });
    node({ name: 'w2' });
    node({ name: 'localhost', addresses: ['192.0.2.7'], notReady: 'x' });
    await clock.advance(seconds(60));
    expect(written()).toEqual(['label w0']);
    node({ name: 'localhost', addresses: ['192.0.2.7'] });
    await clock.advance(seconds(1));
    await clock.advance(seconds(3));
    expect(written()).toEqual(['label w0', 'label localhost']);
    const [found] = kube.objectsOf(nodes).filter(({ metadata }) => metadata.name === 'w0');
    expect(found?.metadata.labels).toEqual({ 'node-role.kubernetes.io/worker': '', ...labels });
  });

  it.each<[string, readonly InstallingHost[]]>([
    ['no host has labels', [host('w0')]],
    ['the only host with labels has failed', [host('w0', { labels: { a: 'b' }, status: 'error' })]],
  ])('writes nothing when %s', async (_, hosts) => {
    const { clock, written } = setUp(hosts);
    await clock.advance(seconds(3));
    expect(written()).toEqual([]);
  });

  it('does not label a node that was recreated under the same name', async () => {
    const { clock, kube, node, written } = setUp([host('w0', { labels: { a: 'b' } })]);
    node({ name: 'w0', notReady: 'x' });
    await clock.advance(seconds(1));
    let patches = 0;
    kube.before('patch', () => {
      patches += 1;
      kube.drop({ kind: nodes, name: 'w0' });
      kube.holdViews();
      kube.put(nodes, nodeObject({ name: 'w0', role: 'worker' }));
    });
    node({ name: 'w0' });
    await clock.advance(seconds(1));
    expect(patches).toBeGreaterThan(0);
    expect(written()).toEqual([]);
  });
});

describe('the worker pool', () => {
  it('is paused until the last worker of another pool is labelled', async () => {
    const rebooting = host('w0', { ...infra, stage: 'Rebooting' });
    const { clock, inventory, node, written } = setUp([rebooting]);
    await clock.advance(seconds(60));
    expect(written()).toEqual([]);
    inventory.set({ hosts: [host('w0', infra), host('w1', infra)] });
    await clock.advance(seconds(60));
    expect(written()).toEqual(['pause']);
    node({ name: 'w0' });
    await clock.advance(seconds(60));
    expect(written()).toEqual(['pause', 'label w0']);
    node({ name: 'w1' });
    await clock.advance(seconds(3));
    await clock.advance(seconds(3));
    expect(written()).toEqual(['pause', 'label w0', 'label w1', 'unpause']);
  });

  it.each<[string, Partial<InstallingHost>]>([
    ['a worker without a pool', { pool: '' }],
    ['a master', { role: 'master' }],
  ])('is not paused for %s', async (_, change) => {
    const { clock, node, written } = setUp([host('w0', { ...infra, ...change })]);
    node({ name: 'w0', notReady: 'x' });
    await clock.advance(seconds(30));
    expect(written()).toEqual([]);
  });

  it('stays paused when somebody else has paused it', async () => {
    const kube = fakeKube().put(machineConfigPools, pool(true));
    const { clock, node, written } = setUp([host('w0', infra)], kube);
    await clock.advance(seconds(5));
    node({ name: 'w0' });
    await clock.advance(seconds(3));
    expect(written()).toEqual(['label w0']);
  });

  it('is unpaused after a restart by its annotation, even without labelled hosts', async () => {
    const kube = fakeKube().put(machineConfigPools, pool(true, ours));
    const { clock, written } = setUp([host('w0')], kube);
    await clock.advance(seconds(3));
    expect(written()).toEqual(['unpause']);
    expect(kube.objectsOf(machineConfigPools)).toMatchObject([{ metadata: { annotations: {} } }]);
  });

  it('is unpaused when the controller ends', async () => {
    const { clock, stop, written } = setUp([host('w0', infra)]);
    await clock.advance(seconds(5));
    await stop();
    expect(written()).toEqual(['pause', 'unpause']);
  });

  it('is unpaused by a controller that stops before the response to its pause', async () => {
    const inner = fakeKube().put(machineConfigPools, pool());
    const ends = Promise.withResolvers<undefined>();
    const kube: FakeKube = {
      ...inner,
      patch: async (ref, patch, signal) => {
        const answer = await inner.patch(ref, patch, signal);
        await ends.promise;
        signal.throwIfAborted();
        return answer;
      },
    };
    const { clock, stop, written } = setUp([host('w0', infra)], kube);
    await clock.advance(seconds(5));
    const ended = stop();
    ends.resolve(undefined);
    await ended;
    expect(written()).toEqual(['pause', 'unpause']);
  });

  it('stays paused when the lease is lost', async () => {
    const { clock, stop, written } = setUp([host('w0', infra)]);
    await clock.advance(seconds(5));
    await stop(leaseFailure('controller.lease-lost', 'another holds it'));
    expect(written()).toEqual(['pause']);
  });

  it('is paused at the next attempt when the first one fails', async () => {
    const kube = failingPatches(fakeKube().put(machineConfigPools, pool()), 1);
    const { clock, written } = setUp([host('w0', infra)], kube);
    await clock.advance(seconds(12));
    expect(written()).toEqual(['pause']);
  });

  it('is read once when that is forbidden, and does not delay labels', async () => {
    const inner = fakeKube();
    let asked = 0;
    const kube: FakeKube = {
      ...inner,
      get: (ref, signal) => {
        if (ref.kind !== machineConfigPools) return inner.get(ref, signal);
        asked += 1;
        return Promise.reject(
          kubeFailure('kube.denied', 'forbidden', { context: { status: 403 } }),
        );
      },
    };
    const { clock, node, written } = setUp([host('w0', infra)], kube);
    await clock.advance(seconds(90));
    node({ name: 'w0' });
    await clock.advance(seconds(3));
    expect(written()).toEqual(['label w0']);
    expect(asked).toBe(1);
  });
});
