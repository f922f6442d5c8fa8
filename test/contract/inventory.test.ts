import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clusterSeed, hostSeed, operatorSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { type InventoryConnection, inventoryOf } from '../../src/adapters/http/inventory.ts';
import { systemRandom } from '../../src/adapters/clock.ts';
import type {
  InstallationView,
  InstallingCluster,
  Inventory,
  InventoryHost,
} from '../../src/ports/inventory.ts';
import { fakeInventory, installingHost, inventoryHost } from '../support/fake-inventory.ts';
import { quickClock } from '../support/quick-clock.ts';

const signal = new AbortController().signal;

const overrides = '{"platform":{"vsphere":{"vcenters":[]}}}';
const cluster = clusterSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000001',
  kind: 'AddHostsCluster',
  status: 'installing',
  platform: 'vsphere',
  installConfigOverrides: overrides,
});
const seedOf = (
  last: number,
  seed: Omit<Parameters<typeof hostSeed>[0], 'clusterId' | 'infraEnvId'>,
) =>
  hostSeed({
    id: `b2f4d8f0-0000-4000-8000-00000000001${last}`,
    clusterId: cluster.id,
    // Version 1 of the service has no infra-envs; it uses the cluster's id.
    infraEnvId: cluster.id,
    ...seed,
  });
const m0 = seedOf(0, {
  hostname: 'm0',
  role: 'master',
  isBootstrap: true,
  addresses: ['FD00::0:5/64', '10.0.0.5/24'],
});
const hosts = [
  m0,
  seedOf(1, { hostname: 'W0', role: 'worker', addresses: ['10.0.0.6/24'], stage: 'Installing' }),
  seedOf(2, { hostname: 'd0', isRenamed: true, role: 'master', status: 'disabled', inventory: '' }),
  seedOf(3, { hostname: 'w1', role: 'worker', inventory: 'not JSON' }),
];
const host = { infraEnvId: m0.infraEnvId, hostId: m0.id };

let server: InventoryServer;
beforeEach(async () => {
  server = await startInventory({ cluster, hosts });
  server.store.setKubeconfig('kind: Config');
});
afterEach(() => server.close());

const options = () => ({
  url: server.url,
  clusterId: cluster.id,
  ...host,
  clock: quickClock(),
  random: systemRandom,
});

const fakeHosts: readonly InventoryHost[] = hosts.map(
  ({ id, infraEnvId, hostname, role, status, stage }, index) =>
    inventoryHost({
      id,
      infraEnvId,
      name: hostname,
      role,
      status,
      ...(stage === '' ? {} : { stage }),
      addresses: [['10.0.0.5', 'fd00::5'], ['10.0.0.6'], [], []][index] ?? [],
    }),
);

const subjects: readonly [string, () => Inventory][] = [
  ['version 2 of the service', () => inventoryOf('v2', options())],
  ['version 1 of the service', () => inventoryOf('v1', options())],
  ['its oldest form', () => inventoryOf('bm-inventory-v1', options())],
  [
    'the fake inventory',
    () =>
      fakeInventory({
        cluster: {
          id: cluster.id,
          kind: 'AddHostsCluster',
          platformType: 'vsphere',
          installConfigOverrides: overrides,
        },
        hosts: fakeHosts,
        ignition: '{"ignition":{}}',
        kubeconfig: 'kind: Config',
        files: { 'bootstrap.ign': '{"ignition":{}}' },
      }),
  ],
];

describe.each(subjects)('%s implements the inventory port', (_, make) => {
  it('accepts reports and log states', async () => {
    const inventory = make();
    await inventory.report(host, { stage: 'Installing', info: 'master' }, signal);
    await inventory.report(host, { stage: 'Rebooting', info: '' }, signal);
    await expect(inventory.logsState(host, 'requested', signal)).resolves.toBeUndefined();
    await expect(inventory.clusterLogsState('requested', signal)).resolves.toBeUndefined();
  });

  it('streams the Ignition of the host', async () => {
    const { body, bytes, origin } = await make().hostIgnition('master', signal);
    const content = await text(body);
    expect(JSON.parse(content)).toHaveProperty('ignition');
    expect([undefined, content.length]).toContain(bytes);
    expect(origin).not.toBe('');
  });

  it('streams files of the cluster and rejects a missing one', async () => {
    const inventory = make();
    const { body } = await inventory.clusterFile('bootstrap.ign', signal);
    expect(JSON.parse(await text(body))).toHaveProperty('ignition');
    const missing = inventory.clusterFile('custom_manifests.json', signal);
    await expect(missing).rejects.toMatchObject({ kind: 'remote', isFinal: true });
  });

  it('streams the kubeconfig of the cluster', async () => {
    const { body } = await make().kubeconfig(signal);
    await expect(text(body)).resolves.toBe('kind: Config');
  });

  it('returns the cluster', async () => {
    await expect(make().cluster(signal)).resolves.toEqual({
      id: cluster.id,
      kind: 'AddHostsCluster',
      platformType: 'vsphere',
      installConfigOverrides: overrides,
    });
  });

  it('lists the hosts of a role, with names on request', async () => {
    const inventory = make();
    const listed = await inventory.hosts('master', signal);
    const masters = await inventory.namedHosts('master', signal);
    expect(listed.map(({ id }) => id)).toEqual(masters.map(({ id }) => id));
    expect(masters.map(({ name, role }) => [name, role])).toEqual([
      ['m0', 'master'],
      ['d0', 'master'],
    ]);
    expect(await inventory.hosts('arbiter', signal)).toEqual([]);
  });

  it('lists every enabled host with its addresses, without addresses for a broken inventory', async () => {
    await expect(make().enabledHosts(signal)).resolves.toEqual(
      fakeHosts.filter(({ name }) => name !== 'd0'),
    );
  });

  it('rejects with the abort reason', async () => {
    const reason = new Error('enough');
    const stopped = make().hosts('master', AbortSignal.abort(reason));
    await expect(stopped).rejects.toBe(reason);
  });
});

/** A service at the end of an installation. */
interface FinalizingWorld {
  readonly inventory: Inventory;
  /** Changes the cluster without the port; followers must see it. */
  readonly changeStatus: (status: 'finalizing' | 'installed') => void;
}

/** The cluster at the service, with one host disabled. */
const installingCluster: InstallingCluster = {
  id: 'b2f4d8f0-0000-4000-8000-000000000001',
  kind: 'Cluster',
  platformType: 'none',
  name: 'lab',
  baseDomain: 'example.com',
  status: 'finalizing',
  statusInfo: 'Installation in progress',
  hosts: [
    {
      id: 'b2f4d8f0-0000-4000-8000-000000000011',
      infraEnvId: 'b2f4d8f0-0000-4000-8000-000000000002',
      name: 'm0',
      role: 'master',
      status: 'installed',
      stage: 'Done',
      addresses: ['10.0.0.5'],
      labels: {},
      pool: '',
    },
    {
      id: 'b2f4d8f0-0000-4000-8000-000000000012',
      infraEnvId: 'b2f4d8f0-0000-4000-8000-000000000002',
      name: 'w0',
      role: 'worker',
      status: 'installing-in-progress',
      addresses: ['10.0.0.6'],
      labels: { 'node.example.com/rack': 'r1' },
      pool: 'infra',
    },
  ],
};

/** A report that the service accepts. */
const report = {
  name: 'lso',
  version: '4.20.1',
  status: 'failed',
  statusInfo: 'no disks',
} as const;

const { id, name, baseDomain } = installingCluster;
const [first, w0] = installingCluster.hosts;
const infraEnvId = first?.infraEnvId ?? '';
const seed = { clusterId: id, infraEnvId } as const;
const finalizingCluster = clusterSeed({
  id,
  name,
  baseDomain,
  platform: 'none',
  status: 'finalizing',
  operators: [
    operatorSeed({
      name: 'lso',
      namespace: 'openshift-local-storage',
      subscription: 'local-storage-operator',
    }),
  ],
});
const finalizingHosts = [
  hostSeed({
    ...seed,
    id: first?.id ?? '',
    hostname: 'm0',
    role: 'master',
    status: 'installed',
    stage: 'Done',
    addresses: ['10.0.0.5/24'],
  }),
  hostSeed({
    ...seed,
    id: w0?.id ?? '',
    hostname: 'w0',
    role: 'worker',
    status: 'installing-in-progress',
    addresses: ['10.0.0.6/24'],
    nodeLabels: { 'node.example.com/rack': 'r1' },
    pool: 'infra',
  }),
  hostSeed({ ...seed, hostname: 'd0', role: 'worker', status: 'disabled' }),
];

let finalizing: InventoryServer;
let adapter: InventoryConnection;
beforeEach(async () => {
  finalizing = await startInventory({ cluster: finalizingCluster, hosts: finalizingHosts });
  adapter = inventoryOf('v2', {
    url: finalizing.url,
    clusterId: id,
    infraEnvId,
    hostId: '',
    clock: quickClock(1000),
    random: systemRandom,
  });
});
afterEach(async () => {
  await adapter.close();
  await finalizing.close();
});

const finalizingWorlds: readonly [string, () => FinalizingWorld][] = [
  [
    'version 2 of the service',
    () => ({
      inventory: adapter,
      changeStatus: (status) => {
        finalizing.store.setCluster({ ...finalizing.store.cluster(), status });
      },
    }),
  ],
  [
    'the fake inventory',
    () => {
      const { hosts: known, ...first } = installingCluster;
      const out = installingHost({ status: 'disabled' });
      const fake = fakeInventory({ cluster: first, hosts: [...known, out] });
      fake.setOperators([
        {
          name: 'lso',
          type: 'olm',
          namespace: 'openshift-local-storage',
          subscription: 'local-storage-operator',
        },
      ]);
      return { inventory: fake, changeStatus: (status) => fake.set({ status }) };
    },
  ],
];

describe.each(finalizingWorlds)('%s implements the inventory port for finalizing', (_, make) => {
  /** Follows until a view matches, and resolves with that view. */
  const viewWith = async (
    { inventory }: Pick<FinalizingWorld, 'inventory'>,
    isRight: (view: InstallationView) => boolean,
  ): Promise<InstallationView> => {
    const stop = new AbortController();
    let found: InstallationView = {};
    await inventory.follow((view) => {
      if (!isRight(view)) return;
      found = view;
      stop.abort();
    }, stop.signal);
    return found;
  };

  it('shows the cluster without its disabled hosts', async () => {
    const view = await viewWith(make(), ({ cluster }) => cluster !== undefined);
    expect(view).toEqual({ cluster: installingCluster });
  });

  it('shows a change to all followers, and at once to new ones', async () => {
    const { inventory, changeStatus } = make();
    const isInstalled = ({ cluster }: InstallationView) => cluster?.status === 'installed';
    const [one, other] = [0, 1].map(() => viewWith({ inventory }, isInstalled));
    await viewWith({ inventory }, ({ cluster }) => cluster !== undefined);
    changeStatus('installed');
    inventory.refresh();
    expect((await one)?.cluster?.status).toBe('installed');
    expect((await other)?.cluster?.status).toBe('installed');
    expect((await viewWith({ inventory }, () => true)).cluster?.status).toBe('installed');
  });

  it('calls no follower whose signal is aborted', async () => {
    let seen = 0;
    const count = (): void => {
      seen += 1;
    };
    await make().inventory.follow(count, AbortSignal.abort(new Error('enough')));
    expect(seen).toBe(0);
  });

  it('accepts a stage, the ingress CA and the completion', async () => {
    const { inventory } = make();
    const pem = '-----BEGIN CERTIFICATE-----\nTEFC\n-----END CERTIFICATE-----\n';
    await inventory.reportFinalizing('Waiting for cluster operators', signal);
    await inventory.uploadIngressCa(pem, signal);
    const result = { isSuccess: false, error: 'no console', data: { a: [1] } };
    await expect(inventory.complete(result, signal)).resolves.toBeUndefined();
  });

  it('lists operators with their reported status', async () => {
    const { inventory } = make();
    const lso = {
      name: 'lso',
      type: 'olm',
      namespace: 'openshift-local-storage',
      subscription: 'local-storage-operator',
      version: '',
      status: '',
      statusInfo: '',
    };
    expect(await inventory.operators(signal)).toEqual([lso]);
    await inventory.reportOperator(report, signal);
    expect(await inventory.operators(signal)).toEqual([{ ...lso, ...report }]);
  });

  it('rejects with the abort reason', async () => {
    const reason = new Error('enough');
    const aborted = AbortSignal.abort(reason);
    const { inventory } = make();
    await expect(inventory.operators(aborted)).rejects.toBe(reason);
    await expect(inventory.reportFinalizing('Done', aborted)).rejects.toBe(reason);
  });
});
