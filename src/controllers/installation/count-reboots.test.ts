import { describe, expect, it } from 'vitest';
import { withEndedPods } from '../../../test/support/ended-pods.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeInventory, installingHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runInstallation } from '../../../test/support/run-installation.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { nodes, pods } from '../../cluster/kinds.ts';
import { untilAborted } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Inventory, InstallationView } from '../../ports/inventory.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { ControllerPorts } from './step.ts';
import { countingPod, countIn, countsDue, waitForCounts } from './count-reboots.ts';

const config = { controller: { notifyNumReboots: true } };
const own = {
  metadata: {
    name: 'assisted-installer-controller-x',
    namespace: 'assisted-installer',
    labels: { 'job-name': 'assisted-installer-controller' },
  },
  spec: { containers: [{ image: 'registry.example/bootwright@sha256:1' }] },
  status: { phase: 'Running' },
};
const node = (name: string, annotations = {}) => ({ metadata: { name, annotations } });
const host = (name: string, stage: string | undefined, status = 'installed') =>
  installingHost({ id: `id-${name}`, infraEnvId: 'I', name, status, ...(stage ? { stage } : {}) });
const twice = 'reboot   system boot  5.14\nreboot   system boot  5.14\n\nwtmp begins Mon\n';
const counted = (log = twice) => withEndedPods(fakeKube(), { phase: 'Succeeded', log });
const clusterWith = (...names: readonly string[]) =>
  names.reduce((kube, name) => kube.put(nodes, node(name)), fakeKube().put(pods, own));

const only = ['count-reboots'];

/** Runs the controller for a minute. */
async function count(ports: Partial<ControllerPorts>) {
  const { clock, stop } = runInstallation(only, { ...ports, config });
  await clock.advance(minutes(1));
  return stop();
}

describe('controller/count-reboots', () => {
  it('tells of each node that is Done, marks it and leaves no pod', async () => {
    const kube = clusterWith('m0', 'm1');
    const admin = counted();
    const inventory = fakeInventory({ hosts: [host('m0', 'Done'), host('M1', 'Done')] });
    await count({ kube, adminKube: admin, inventory });
    expect(inventory.events).toEqual(
      ['m0', 'M1'].map((name) => ({
        name: 'reboots_for_node',
        category: 'user',
        severity: 'info',
        message: `Node ${name.toLowerCase()} has been rebooted 2 times before completing installation`,
        hostId: `id-${name}`,
        infraEnvId: 'I',
      })),
    );
    expect(kube.objectsOf(nodes).map(({ metadata }) => metadata.annotations)).toEqual(
      Array.from({ length: 2 }, () => ({ 'bootwright.io/reboots-reported': '2' })),
    );
    expect(admin.objectsOf(pods)).toEqual([]);
    expect(admin.writes[0]?.body).toMatchObject({
      spec: { nodeName: 'm0', containers: [{ image: 'registry.example/bootwright@sha256:1' }] },
    });
  });

  it('tells nothing of a node that an earlier controller has told of', async () => {
    const kube = fakeKube().put(nodes, node('m0', { 'bootwright.io/reboots-reported': '1' }));
    const inventory = fakeInventory({ hosts: [host('m0', 'Done')] });
    const admin = fakeKube();
    await count({ kube, adminKube: admin, inventory });
    expect([...inventory.events, ...admin.writes]).toEqual([]);
  });

  it('waits for a host to be Done', async () => {
    const kube = clusterWith('m0');
    const inventory = fakeInventory({ hosts: [host('m0', 'Joined', 'installing')] });
    const { clock, stop } = runInstallation(only, {
      ...{ kube, adminKube: counted(), inventory, config },
    });
    await clock.advance(minutes(10));
    expect(inventory.events).toEqual([]);
    inventory.set({ hosts: [host('m0', 'Done')] });
    await clock.advance(seconds(5));
    await stop();
    expect(inventory.events).toHaveLength(1);
  });

  it('tries again for six minutes, and then continues without', async () => {
    const kube = clusterWith('m0');
    const admin = withEndedPods(fakeKube(), { phase: 'Failed', log: 'last: no such file\n' });
    const inventory = fakeInventory({ hosts: [host('m0', 'Done')] });
    const { clock, stop } = runInstallation(only, { kube, adminKube: admin, inventory, config });
    const made = () => admin.writes.filter(({ verb }) => verb === 'create').length;
    await clock.advance(minutes(5.5));
    const before = made();
    await clock.advance(minutes(1));
    const last = made();
    expect(last).toBeGreaterThan(before);
    await clock.advance(minutes(10));
    expect(made()).toBe(last);
    expect((await stop()).notes).toEqual(['warn: reboots of node m0: trying again']);
    expect(inventory.events).toEqual([]);
    expect(admin.objectsOf(pods)).toEqual([]);
  });

  it('tells once although the service and the mark failed', async () => {
    const kube = clusterWith('m0');
    const denied = kubeFailure('kube.denied', 'nodes: 403', { context: { status: 403 } });
    const unmarkable = { ...kube, patch: () => Promise.reject(denied) };
    const inventory = fakeInventory({ hosts: [host('m0', 'Done')] });
    inventory.failing('addEvent', inventoryFailure('inventory.unreachable', 'away'), 1);
    const { notes } = await count({ kube: unmarkable, adminKube: counted(), inventory });
    expect(inventory.events).toHaveLength(1);
    expect(notes).toEqual([
      'warn: reboots of node m0: trying again',
      'warn: node m0 could not be marked; its reboots may be reported again',
    ]);
  });

  it('asks nothing more of a cluster that refuses', async () => {
    let asked = 0;
    const admin = {
      ...fakeKube(),
      create: () => {
        asked += 1;
        return Promise.reject(
          kubeFailure('kube.denied', 'pods: 403', { context: { status: 403 } }),
        );
      },
    };
    const inventory = fakeInventory({ hosts: [host('m0', 'Done')] });
    await count({ kube: clusterWith('m0'), adminKube: admin, inventory });
    expect(asked).toBe(1);
  });

  it('removes its pod when the installation ends meanwhile', async () => {
    const kube = clusterWith('m0');
    const admin = fakeKube();
    const inventory = fakeInventory({ hosts: [host('m0', 'Done')] });
    const { stop } = runInstallation(only, { kube, adminKube: admin, inventory, config });
    await settle();
    expect(admin.objectsOf(pods)).toHaveLength(1);
    await stop(new Error('installed'));
    expect(admin.objectsOf(pods)).toEqual([]);
  });

  it('is left out where nobody asked for it', async () => {
    const { ids, stop } = runInstallation(only, {});
    expect(ids).not.toContain('controller/count-reboots');
    await stop();
  });
});

describe('controller/wait-for-counts', () => {
  const setUp = () => {
    const [kube, clock] = [clusterWith('m0', 'm1'), fakeClock({ auto: false })];
    const hosts = [
      host('m0', 'Done'),
      host('m1', 'Joined', 'error'),
      host('m2', undefined, 'error'),
    ];
    const inventory = fakeInventory({ hosts, cluster: { status: 'error' } });
    const ended = tryStep(waitForCounts, { kube, clock, inventory, config });
    return { kube, clock, ended, inventory };
  };

  it('waits for each node that is Done, and for no other', async () => {
    const { kube, clock, ended } = setUp();
    let isOver = false;
    void ended.then(() => (isOver = true));
    await clock.advance(minutes(5));
    expect(isOver).toBe(false);
    kube.put(nodes, node('m0', { 'bootwright.io/reboots-reported': '2' }));
    await settle();
    const { failure, notes } = await ended;
    expect([failure, notes]).toEqual([undefined, []]);
  });

  it('removes the pods that a controller before it has left, where it may', async () => {
    const pod = countingPod({ namespace: 'assisted-installer', node: 'm0', image: 'i' });
    const kube = clusterWith().put(pods, pod);
    await runStep(waitForCounts, { kube, config });
    expect(kube.objectsOf(pods).map(({ metadata }) => metadata.name)).toEqual([own.metadata.name]);
    const denied = kubeFailure('kube.denied', 'pods: 403', { context: { status: 403 } });
    const unable = { ...kube, removeAll: () => Promise.reject(denied) };
    expect((await runStep(waitForCounts, { kube: unable, config })).notes).toEqual([
      'warn: pods that counted could not be removed',
    ]);
  });

  it('continues after six minutes without', async () => {
    const { clock, ended } = setUp();
    await clock.advance(minutes(6));
    const { failure, notes } = await ended;
    expect([failure, notes]).toEqual([
      undefined,
      ['warn: continuing without the starts of all nodes'],
    ]);
  });

  it('ends at once where the service has left before it listed any host', async () => {
    const inventory = fakeInventory();
    const away = inventoryFailure('inventory.unreachable', 'away');
    const gone = { ...inventory, follow: withoutCluster(away) };
    const kube = clusterWith('m0');
    const { failure, notes } = await tryStep(waitForCounts, { kube, inventory: gone, config });
    expect([failure, notes]).toEqual([undefined, []]);
  });

  const withoutCluster =
    (lastError: NonNullable<InstallationView['lastError']>): Inventory['follow'] =>
    (seen, signal) => {
      seen({ lastError });
      return untilAborted(signal);
    };
});

describe('the starts that `last reboot` prints', () => {
  it.each([
    ['reboot   system boot  5.14.0\n', 1],
    [twice, 2],
    ['\nwtmp begins reboot \n', 0],
    ['', 0],
  ])('%j are %i', (printed, expected) => {
    expect(countIn(printed)).toBe(expected);
  });
});

describe('the count of a host', () => {
  it.each<[string, Parameters<typeof countsDue>[0], readonly string[]]>([
    ['that is unknown', { host: undefined, node: node('m0') }, []],
    ['without a node', { host: host('m0', 'Done'), node: undefined }, []],
    ['that has joined', { host: host('m0', 'Joined'), node: node('m0') }, []],
    ['that is Done', { host: host('m0', 'Done'), node: node('m0') }, ['m0']],
  ])('%s', (_, given, names) => {
    expect(countsDue(given).map(({ target }) => target)).toEqual(names);
  });
});

describe('the pod that counts', () => {
  it('ends by itself, and has no rights at the API server', () => {
    const pod = countingPod({ namespace: 'ns', node: 'm0', image: 'i' });
    expect(pod).toMatchObject({
      metadata: { namespace: 'ns' },
      spec: {
        ...{ activeDeadlineSeconds: 360, hostPID: true, automountServiceAccountToken: false },
        containers: [{ command: ['nsenter', '--target', '1', '--mount', '--', 'last', 'reboot'] }],
      },
    });
  });
});
