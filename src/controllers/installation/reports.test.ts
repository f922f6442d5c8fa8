import { describe, expect, it } from 'vitest';
import { type NodeSketch, nodeObject } from '../../../test/support/cluster-objects.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeInventory, installingHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runInstallation } from '../../../test/support/run-installation.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { nodes, pods } from '../../kube/kinds.ts';
import { cloudTaint } from '../../cluster/cloud-taint.ts';
import { seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { InstallingHost } from '../../ports/inventory.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';

const host = (name: string, change: Partial<InstallingHost> = {}) =>
  installingHost({ id: `id-${name}`, name, stage: 'Rebooting', ...change });

const namespace = 'openshift-machine-config-operator';
const server = {
  metadata: { name: 'mcs-0', namespace, labels: { 'k8s-app': 'machine-config-server' } },
};
const line = (address: string) =>
  `I1 api.go:66] Pool worker requested by address:"${address}:47018" User-Agent:"Ignition/2.14.0"\n`;

interface World {
  readonly kube?: FakeKube;
  readonly platform?: string;
  readonly isAgentBased?: boolean;
  readonly controlPlaneCount?: number;
}

function setUp(
  hosts: readonly InstallingHost[],
  { kube = fakeKube(), platform = '', isAgentBased = false, controlPlaneCount = 3 }: World = {},
) {
  const clock = fakeClock({ auto: false });
  const inventory = fakeInventory({ hosts, cluster: { platformType: platform } });
  const { stop } = runInstallation(
    ['report-nodes', 'check-nodes', 'read-config-server-logs', 'remove-cloud-taint'],
    {
      clock,
      inventory,
      kube,
      config: { cluster: { controlPlaneCount } },
      cluster: { isAgentBased, platform },
    },
  );
  const node = (sketch: NodeSketch) => kube.put(nodes, nodeObject(sketch));
  /** The reports, in the form `m0 Joined`. */
  const reported = () =>
    inventory.reports.map(({ host: { hostId }, stage }) => `${hostId.slice(3)} ${stage}`);
  return { clock, inventory, kube, node, reported, stop };
}

describe('reporting nodes', () => {
  it('reports Joined and Done without delay', async () => {
    const { clock, node, reported } = setUp([host('m0')]);
    node({ name: 'm0', notReady: 'container runtime network not ready' });
    await settle();
    expect(reported()).toEqual(['m0 Joined']);
    node({ name: 'm0' });
    await settle();
    expect(reported()).toEqual(['m0 Joined', 'm0 Done']);
    expect(clock.elapsed()).toBe(0);
  });

  it('reports Joined and Done in order for a node that is already Ready', async () => {
    const { node, reported } = setUp([host('m0', { stage: 'Configuring' })]);
    node({ name: 'M0' });
    await settle();
    expect(reported()).toEqual(['m0 Joined', 'm0 Done']);
  });

  it('refreshes the cluster only when the last host is Done', async () => {
    const { inventory, node } = setUp([host('m0'), host('m1'), host('m2', { status: 'error' })]);
    node({ name: 'm0' });
    await settle();
    expect(inventory.refreshes()).toBe(0);
    node({ name: 'm1' });
    await settle();
    expect(inventory.refreshes()).toBe(1);
  });

  it('reports Done once, even if the node changes later', async () => {
    const { clock, node, reported } = setUp([host('m0', { stage: 'Joined' })]);
    for (const notReady of [undefined, 'PLEG is not healthy', undefined]) {
      node({ name: 'm0', ...(notReady === undefined ? {} : { notReady }) });
      await clock.advance(seconds(5));
    }
    expect(reported()).toEqual(['m0 Done']);
  });

  it('matches a host by its address and warns about a node without a host', async () => {
    const { clock, node, reported, stop } = setUp([host('m0', { addresses: ['192.0.2.7'] })]);
    node({ name: 'localhost', notReady: 'x', addresses: ['192.0.2.7'] });
    node({ name: 'm1', addresses: ['192.0.2.9'] });
    await clock.advance(seconds(60));
    expect(reported()).toEqual(['m0 Joined']);
    expect((await stop()).notes).toContain('warn: node m1 is on no host of the service');
  });

  it('prefers the node with the name of the host over a former one named localhost', async () => {
    const { node, reported } = setUp([host('a0', { addresses: ['192.0.2.7'] })]);
    node({ name: 'localhost', notReady: 'x', addresses: ['192.0.2.7'] });
    await settle();
    node({ name: 'a0', addresses: ['192.0.2.7'] });
    await settle();
    expect(reported()).toEqual(['a0 Joined', 'a0 Done']);
  });

  it('warns about a node address that the host did not have', async () => {
    const { clock, node, stop } = setUp([host('m0', { addresses: ['192.0.2.7'] })]);
    node({ name: 'm0', addresses: ['192.0.2.8'] });
    await clock.advance(seconds(30));
    const about = (await stop()).notes.filter((one) => one.includes('has an address'));
    expect(about).toEqual(['warn: node m0 has an address that its host did not have']);
  });

  it('retries a failed report without delaying others', async () => {
    const { clock, inventory, node, reported } = setUp([host('m0'), host('m1')]);
    inventory.failing('report', inventoryFailure('inventory.unreachable', 'reset'));
    node({ name: 'm0', notReady: 'x' });
    node({ name: 'm1', notReady: 'x' });
    await settle();
    expect(reported()).toEqual(['m1 Joined']);
    await clock.advance(seconds(2));
    expect(reported()).toEqual(['m1 Joined', 'm0 Joined']);
  });

  it.each([
    ['does not report a node that has just been replaced', true],
    ['does not report Done for a node that is no longer Ready', false],
  ])('%s', async (_, isReplaced) => {
    const { kube, node, reported } = setUp([host('m0', { stage: 'Joined' })]);
    await settle();
    let reads = 0;
    kube.before('get', () => {
      reads += 1;
      if (isReplaced) kube.drop({ kind: nodes, name: 'm0' });
      kube.holdViews();
      node({ name: 'm0', notReady: 'x' });
    });
    node({ name: 'm0' });
    await settle();
    expect(reads).toBeGreaterThan(0);
    expect(reported()).toEqual([]);
  });

  it('repeats a refused report only when the host changes at the service', async () => {
    const { clock, inventory, node } = setUp([host('m0', { stage: 'Joined' })]);
    inventory.failing('report', inventoryFailure('inventory.refused', "Can't set progress"));
    node({ name: 'm0' });
    await clock.advance(seconds(300));
    expect(inventory.calls).toEqual(['report Done']);
    inventory.set({ hosts: [host('m0', { stage: 'Joined', status: 'installing' })] });
    await clock.advance(seconds(1));
    expect(inventory.calls).toEqual(['report Done', 'report Done']);
  });

  it('continues with the known hosts while the service is unreachable', async () => {
    const { inventory, node, reported } = setUp([host('m0')]);
    await settle();
    inventory.lose(inventoryFailure('inventory.unreachable', 'reset'));
    node({ name: 'm0', notReady: 'x' });
    await settle();
    expect(reported()).toEqual(['m0 Joined']);
  });

  it('does not report or wait for a failed host', async () => {
    const failed = host('m1', { status: 'error' });
    const { stop, inventory, node, reported } = setUp([host('m0'), failed]);
    node({ name: 'm0' });
    node({ name: 'm1' });
    await settle();
    inventory.set({ hosts: [host('m0', { stage: 'Done', status: 'installed' }), failed] });
    await settle();
    expect((await stop()).statuses).toContain('every host is installed or failed');
    expect(reported()).toEqual(['m0 Joined', 'm0 Done']);
  });
});

describe('the logs of the config server', () => {
  it('report Configuring hosts, and are read every ten seconds', async () => {
    const asked: (number | undefined)[] = [];
    const inner = fakeKube().put(pods, server).withPodLog('mcs-0', '');
    const kube: FakeKube = {
      ...inner,
      podLog: (pod, since, signal) => {
        asked.push(since);
        return inner.podLog(pod, since, signal);
      },
    };
    const { clock, reported } = setUp([host('w0', { addresses: ['2001:db8::7'] })], { kube });
    await clock.advance(seconds(25));
    expect(asked).toEqual([undefined, 15, 15]);
    inner.withPodLog('mcs-0', line('[2001:0db8::7]'));
    await clock.advance(seconds(10));
    expect(reported()).toEqual(['w0 Configuring']);
  });

  it('match no host by an address that two hosts share', async () => {
    const kube = fakeKube().put(pods, server).withPodLog('mcs-0', line('192.0.2.7'));
    const both = ['w0', 'w1'].map((name) => host(name, { addresses: ['192.0.2.7'] }));
    const { clock, inventory, reported } = setUp(both, { kube });
    await clock.advance(seconds(25));
    inventory.set({ hosts: both.map((one) => ({ ...one, status: 'installing' })) });
    await clock.advance(seconds(25));
    expect(reported()).toEqual([]);
  });

  it('are read once when that is forbidden', async () => {
    let asked = 0;
    const kube: FakeKube = {
      ...fakeKube().put(pods, server),
      podLog: () => {
        asked += 1;
        return Promise.reject(
          kubeFailure('kube.denied', 'forbidden', { context: { status: 403 } }),
        );
      },
    };
    const { clock, stop } = setUp([host('m0')], { kube });
    await clock.advance(seconds(60));
    expect(asked).toBe(1);
    expect((await stop()).notes).toEqual(['warn: cannot read a log of the config server']);
  });
});

describe('the cloud provider taint', () => {
  it.each<[string, Stage]>([
    ['nutanix', 'Rebooting'],
    ['vsphere', 'Joined'],
  ])('is removed on %s from a node that is not Ready', async (platform, stage) => {
    const { clock, inventory, kube, node } = setUp([host('m0', { stage })], { platform });
    node({ name: 'm0', notReady: 'x', taints: ['other', cloudTaint] });
    await clock.advance(seconds(10));
    expect(kube.writes.map(({ verb, name }) => `${verb} ${name}`)).toEqual(['patch m0']);
    expect(inventory.reports.map((one) => one.stage)).toEqual(stage === 'Joined' ? [] : ['Joined']);
  });

  it.each([
    [true, 3, ['patch m0']],
    [true, 1, []],
    [false, 3, []],
  ])(
    'is removed from a Ready node only if agent-based (%s) with several masters (%d)',
    async (isAgentBased, controlPlaneCount, writes) => {
      const world = { platform: 'nutanix', isAgentBased, controlPlaneCount };
      const { clock, kube, node } = setUp([host('m0')], world);
      node({ name: 'm0', taints: ['other', cloudTaint] });
      await clock.advance(seconds(30));
      expect(kube.writes.map(({ verb, name }) => `${verb} ${name}`)).toEqual(writes);
      const [left] = kube.objectsOf(nodes).map(({ spec }) => spec as { taints: unknown[] });
      expect(left?.taints).toHaveLength(writes.length === 0 ? 2 : 1);
    },
  );

  it('is patched once per node when that is forbidden', async () => {
    const kube = fakeKube();
    let patches = 0;
    const patch = () => {
      patches += 1;
      const denied = { context: { status: 403 } };
      return Promise.reject(kubeFailure('kube.denied', 'nodes is forbidden', denied));
    };
    Object.assign(kube, { patch });
    const { clock, node, stop } = setUp([host('m0')], { kube, platform: 'nutanix' });
    for (const name of ['m0', 'm1']) node({ name, notReady: 'x', taints: [cloudTaint] });
    await clock.advance(seconds(30));
    node({ name: 'm0', notReady: 'y', taints: [cloudTaint] });
    await clock.advance(seconds(30));
    expect(patches).toBe(2);
    expect((await stop()).notes).toContain('warn: may not remove the cloud provider taint');
  });

  it('is not removed from a recreated node or after it has gone', async () => {
    for (const taints of [[cloudTaint], []]) {
      const { clock, kube, node } = setUp([], { platform: 'nutanix' });
      let patches = 0;
      kube.before('patch', () => {
        patches += 1;
        kube.holdViews();
        if (taints.length > 0) kube.drop({ kind: nodes, name: 'm0' });
        node({ name: 'm0', notReady: 'x', taints });
      });
      node({ name: 'm0', notReady: 'x', taints: [cloudTaint] });
      await clock.advance(seconds(10));
      expect(patches).toBe(1);
      expect(kube.writes).toEqual([]);
    }
  });
});
