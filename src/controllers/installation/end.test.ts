import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { tryInstallationStep } from '../../../test/support/run-installation.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { clusterVersions, events, nodes } from '../../kube/kinds.ts';
import { cloudTaint } from '../../cluster/cloud-taint.ts';
import { minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { waitForCluster, waitForService } from './end.ts';

const refused = inventoryFailure('inventory.denied', 'no token', { context: { status: 401 } });
const forbidden = inventoryFailure('inventory.denied', 'no rights', { context: { status: 403 } });
const unknown = inventoryFailure('inventory.not-found', 'no cluster', { context: { status: 404 } });
const away = inventoryFailure('inventory.unreachable', 'no route to host');

function setUp({ isAgentBased = false, controlPlaneCount = 3 } = {}) {
  const clock = fakeClock();
  const [inventory, kube] = [fakeInventory(), fakeKube()];
  const later = (after: number, change: () => void): void => {
    void clock.sleep(after, new AbortController().signal).then(change);
  };
  const run = () =>
    tryInstallationStep(isAgentBased ? waitForCluster : waitForService, {
      clock,
      inventory,
      kube,
      config: { cluster: { controlPlaneCount, openshiftVersion: '4.14.0' } },
    });
  return { clock, inventory, kube, later, run };
}

describe('waitForService', () => {
  it.each([
    ['installed', 'installed'],
    ['in error', 'error'],
    ['reset', 'insufficient'],
    ['being installed again', 'preparing-for-installation'],
  ])('ends when the cluster is %s, after an outage of the service', async (_, status) => {
    const { clock, inventory, later, run } = setUp();
    later(minutes(1), () => inventory.lose(away));
    later(minutes(90), () => inventory.set({ status: 'finalizing' }));
    later(minutes(95), () => inventory.set({ status }));
    const { failure, notes, statuses } = await run();
    expect(failure).toBeUndefined();
    expect(statuses).toContain('the service does not answer (inventory.unreachable)');
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(`the cluster is ${status}`);
    expect(clock.elapsed()).toBe(minutes(95));
  });

  it('notes why the service has ended the installation in error', async () => {
    const { inventory, later, run } = setUp();
    const statusInfo = "finalizing stage 'Adding router ca' took longer than expected 60 minutes";
    later(minutes(1), () => inventory.set({ status: 'error', statusInfo }));
    expect((await run()).notes).toEqual([`info: the cluster is error: ${statusInfo}`]);
  });

  it('ends when the cluster has been unknown to the service for two minutes', async () => {
    const { clock, inventory, later, run } = setUp();
    for (const at of [1, 2, 3]) later(minutes(at), () => inventory.lose(unknown));
    const { notes } = await run();
    expect(notes).toEqual(['info: the service does not know the cluster any more']);
    expect(clock.elapsed()).toBe(minutes(3));
  });

  it.each([false, true])(
    'fails when the token has been rejected for two minutes (event forbidden: %s)',
    async (isWithoutEvent) => {
      const { clock, inventory, kube, later, run } = setUp();
      if (isWithoutEvent) {
        Object.assign(kube, { create: () => Promise.reject(kubeFailure('kube.denied', 'no')) });
      }
      for (const at of [1, 2, 3]) later(minutes(at), () => inventory.lose(refused));
      const { failure } = await run();
      // The job restarts it after any exit code but 0.
      expect(failure).toMatchObject({ code: 'controller.token-rejected', kind: 'remote' });
      expect(clock.elapsed()).toBe(minutes(3));
      expect(kube.objectsOf(events)).toMatchObject(
        isWithoutEvent ? [] : [{ reason: 'InventoryTokenRejected', type: 'Warning' }],
      );
    },
  );

  it('does not end on a temporary 401 or 404, or on a 403', async () => {
    const { inventory, later, run } = setUp();
    later(minutes(1), () => inventory.lose(refused));
    later(minutes(2), () => inventory.set({ status: 'installing' }));
    later(minutes(3.5), () => inventory.lose(unknown));
    later(minutes(4), () => inventory.set({ status: 'installing' }));
    later(minutes(5), () => inventory.lose(forbidden));
    later(minutes(50), () => inventory.set({ status: 'installed' }));
    expect((await run()).notes).toEqual(['info: the cluster is installed']);
  });
});

const version = (...conditions: readonly (readonly [string, string, string])[]) => ({
  metadata: { name: 'version' },
  status: { conditions: conditions.map(([type, status, message]) => ({ type, status, message })) },
});
const available = version(['Available', 'True', 'done']);
const working = version(['Available', 'False', ''], ['Progressing', 'True', '5 of 9 done']);

const master = (name: string, taints: readonly object[] = []) => ({
  metadata: { name, labels: { 'node-role.kubernetes.io/master': '' } },
  spec: { taints },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});

describe('waitForCluster', () => {
  it('ends when the cluster is available and every control-plane node is Ready', async () => {
    const { clock, kube, later, run } = setUp({ isAgentBased: true });
    kube
      .put(clusterVersions, working)
      .put(nodes, master('master-0'))
      .put(nodes, master('master-1'));
    kube.put(nodes, { metadata: { name: 'worker-0' } });
    later(minutes(20), () => kube.put(clusterVersions, available));
    later(minutes(25), () => kube.put(clusterVersions, working));
    const joined = { ...master('master-2'), status: {} };
    later(minutes(28), () => kube.put(nodes, joined));
    later(minutes(30), () => kube.put(nodes, master('master-2')));
    const { failure, statuses } = await run();
    expect(failure).toBeUndefined();
    expect(clock.elapsed()).toBe(minutes(30));
    expect(statuses).toEqual([
      'the cluster version is not available yet: 5 of 9 done',
      '2 of 3 control-plane nodes are Ready',
    ]);
  });

  it('ends on a single node when the cluster is available, and writes nothing', async () => {
    const { kube, run } = setUp({ isAgentBased: true, controlPlaneCount: 1 });
    const taint = { key: cloudTaint, effect: 'NoSchedule' };
    kube.put(clusterVersions, available).put(nodes, master('master-0', [taint]));
    expect((await run()).failure).toBeUndefined();
    expect(kube.writes).toEqual([]);
  });
});
