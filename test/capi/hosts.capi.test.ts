// The bootstrap provider before the real Cluster API core: by the roles of its release, asked by an
// agent's own client.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inventoryV2 } from '../../src/adapters/http/inventory.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import { bootstrapConfigs, clusters, capiMachines } from '../../src/capi/api.ts';
import { secrets } from '../../src/kube/kinds.ts';
import { parseValidConfig } from '../../src/ignition/parse.ts';
import { readFileContent } from '../../src/ignition/resource.ts';
import { conditionOf, partOf, textAt } from '../../src/kube/object.ts';
import { Secret } from '../../src/model/secret.ts';
import type { Stage } from '../../src/model/stage.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { startMergeOracle } from '../ignition/oracles.ts';
import { type BootstrapProvider, startBootstrapProvider } from './bootstrap-provider.ts';
import { clusterObjects, configSpec, controlPlaneObject, machineObjects } from './cluster.ts';
import { type CapiRig, startCapi } from './rig.ts';

const { signal } = new AbortController();
let rig: CapiRig;
let provider: BootstrapProvider;
const ends = new AsyncDisposableStack();

beforeAll(async () => {
  rig = await startCapi();
  ends.defer(() => rig[Symbol.asyncDispose]());
  provider = await startBootstrapProvider(rig);
  ends.defer(() => provider[Symbol.asyncDispose]());
});
afterAll(() => ends.disposeAsync());

const put = async (objects: readonly KubeObject[]): Promise<void> => {
  for (const object of objects) await rig.apply(object);
};
const configIn = <T>(namespace: string, find: (config: KubeObject) => T | undefined) =>
  rig.found({ kind: bootstrapConfigs, namespace }, find);
const machineIn = <T>(namespace: string, find: (machine: KubeObject) => T | undefined) =>
  rig.found({ kind: capiMachines, namespace }, find);
const reasonOf = (object: KubeObject, type: string): string => conditionOf(object, type).reason;

/** The client of the agent that the data Secret of a config describes. */
async function agentOf(namespace: string, name: string) {
  const secret = await rig.client.get({ kind: secrets, namespace, name });
  const value = Buffer.from(textAt(secret, 'data', 'value'), 'base64');
  const config = parseValidConfig(value);
  const unit = config.systemd?.units?.[0]?.contents ?? '';
  const flag = (of: string): string => new RegExp(`--${of} (\\S+)`).exec(unit)?.[1] ?? '';
  const token = Buffer.from(readFileContent(config, '/etc/bootwright/token')).toString();
  const host = { infraEnvId: flag('infra-env-id'), hostId: flag('host-id') };
  const inventory = inventoryV2({
    url: flag('url'),
    clusterId: flag('cluster-id'),
    ...host,
    token: new Secret(token),
    clock: systemClock,
    random: systemRandom,
  });
  ends.defer(inventory.close);
  return {
    inventory,
    report: (stage: Stage, info = '') => inventory.report(host, { stage, info }, signal),
  };
}

const keyfile = '[connection]\nid=eth0\ntype=ethernet\n\n[ipv4]\nmethod=auto\n';
const given = {
  networkSecretRef: { name: 'network' },
  registries:
    '[[registry]]\nlocation = "quay.io"\nmirror = [{ location = "registry.example.com" }]\n',
  proxy: {
    httpsProxy: 'http://user:pass%20word@proxy.example.com:3128',
    noProxy: '.example.com,2001:db8::/64',
  },
};

describe('a worker', () => {
  const cluster = 'workers';
  const place = { namespace: cluster };

  it('gets its data Secret while nothing is known of masters; core takes its name over', async () => {
    await put(clusterObjects(cluster, rig.guest.port));
    await put([controlPlaneObject(cluster)]);
    await rig.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'network', ...place },
      stringData: { 'w0_eth0.nmconnection': keyfile },
    });
    await put(machineObjects({ cluster, name: 'w0' }, { ...configSpec, ...given }));
    const name = await machineIn(cluster, (machine) => {
      const found = partOf(machine, 'spec', 'bootstrap', 'dataSecretName');
      return found === undefined ? undefined : found;
    });
    expect(name).toBe('w0');
    const secret = await rig.client.get({ kind: secrets, ...place, name: 'w0' });
    expect(secret).toMatchObject({
      type: 'cluster.x-k8s.io/secret',
      metadata: { labels: { 'cluster.x-k8s.io/cluster-name': cluster } },
    });
  });

  it('is given registries, a proxy and keyfiles by a file that Ignition takes', async () => {
    const secret = await rig.client.get({ kind: secrets, ...place, name: 'w0' });
    const value = Buffer.from(textAt(secret, 'data', 'value'), 'base64');
    const oracle = startMergeOracle();
    ends.defer(oracle.stop);
    expect(await oracle.ask(value.toString())).not.toHaveProperty('error');
    const config = parseValidConfig(value);
    const content = (path: string): string => Buffer.from(readFileContent(config, path)).toString();
    const names = '/etc/NetworkManager/system-connections/';
    expect(content('/etc/containers/registries.conf.d/99-bootwright.conf')).toBe(given.registries);
    expect(content(`${names}eth0.nmconnection`)).toBe(keyfile);
    expect(config.storage?.files?.filter(({ path }) => path.startsWith(names))).toHaveLength(1);
    expect(content('/etc/bootwright/proxy.env')).toBe(
      'HTTPS_PROXY="http://user:pass%20word@proxy.example.com:3128"\nNO_PROXY=".example.com,2001:db8::/64"\n',
    );
    const [unit] = config.systemd?.units ?? [];
    expect(unit?.contents).toContain('EnvironmentFile=/etc/bootwright/proxy.env\n');
    expect(unit?.contents).toContain('--copy-network');
  });

  it('reports; config and Machine have it as conditions', async () => {
    const { report } = await agentOf(cluster, 'w0');
    await report('Starting installation');
    await report('Installing', 'worker');
    await report('Failed', 'disk.busy: /dev/vda is mounted — unmount it');
    const config = await configIn(cluster, (one) =>
      reasonOf(one, 'Ready') === 'InstallationFailed' ? one : undefined,
    );
    expect(conditionOf(config, 'Ready').message).toMatch(/^Installing: disk\.busy: /);
    await machineIn(cluster, (one) =>
      reasonOf(one, 'BootstrapConfigReady') === 'InstallationFailed' ? true : undefined,
    );
  });

  it('is paused with its Cluster, reports too, and continues afterwards', async () => {
    const ref = { kind: clusters, ...place, name: cluster };
    await rig.client.merge(ref, { spec: { paused: true } });
    const paused = await configIn(cluster, (one) =>
      conditionOf(one, 'Paused').status === 'True' ? one : undefined,
    );
    await rig.client.merge(ref, { spec: { paused: null } });
    const after = await configIn(cluster, (one) =>
      conditionOf(one, 'Paused').status === 'False' ? one : undefined,
    );
    expect(partOf(after, 'status', 'progress')).toEqual(partOf(paused, 'status', 'progress'));
    const { report } = await agentOf(cluster, 'w0');
    await report('Starting installation');
    await configIn(cluster, (one) =>
      partOf(one, 'status', 'progress', 'attempt') === 2 ? true : undefined,
    );
  });

  it('loses its token once it is done, and all of it when its Machine is deleted', async () => {
    const { inventory, report } = await agentOf(cluster, 'w0');
    await report('Rebooting');
    const config = await configIn(cluster, (one) => one);
    const progress = { ...(partOf(config, 'status', 'progress') as object), stage: 'Done' };
    await rig.client.mergeStatus({ kind: bootstrapConfigs, ...place, name: 'w0' }, { progress });
    await rig.gone({ kind: secrets, ...place, name: 'w0-agent' });
    await machineIn(cluster, (one) =>
      conditionOf(one, 'BootstrapConfigReady').status === 'True' ? true : undefined,
    );
    await expect(inventory.cluster(signal)).rejects.toMatchObject({ code: 'inventory.denied' });
    await rig.client.remove({ kind: capiMachines, ...place, name: 'w0' });
    await rig.gone({ kind: bootstrapConfigs, ...place, name: 'w0' });
    await rig.gone({ kind: secrets, ...place, name: 'w0' });
    expect(provider.failures).toEqual([]);
  });
});
