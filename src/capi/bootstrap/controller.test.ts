import { afterEach, describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { fakeRandom } from '../../../test/support/fake-random.ts';
import {
  namespace,
  putCluster,
  putHost,
  putSecret,
  runBootstrap,
} from '../../../test/support/capi-cluster.ts';
import { killedBy } from '../../../test/support/run-pools.ts';
import { secrets } from '../../kube/kinds.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { readFileContent } from '../../ignition/resource.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { type BootstrapConfig, bootstrapConfigs, capiMachines } from '../api.ts';
import { findCondition } from '../conditions.ts';
import { requireLabels } from './machine-input.ts';

let stop = new AbortController();
afterEach(() => stop.abort(new Error('the test has ended')));

/** Runs the provider on a cluster until nothing changes any more. */
async function provider(kube: FakeKube, port: Kube = kube) {
  stop = new AbortController();
  const clock = fakeClock({ auto: false, start: Date.UTC(2026, 10, 27) });
  const run = runBootstrap({ kube: port, clock, random: fakeRandom() }, stop.signal);
  await settle(60);
  const pass = async (time = 0): Promise<void> => {
    if (time > 0) await clock.advance(time);
    await settle(60);
  };
  return { ...run, clock, pass };
}

type Host = Parameters<typeof putHost>[2];

/** A worker of a Cluster. */
function withWorker(
  host: Host = {},
  before: (kube: FakeKube) => unknown = () => undefined,
): FakeKube {
  const kube = fakeKube();
  putCluster(kube);
  before(kube);
  putHost(kube, 'w0', host);
  return kube;
}

/** A worker of a Cluster with the objects that the provider makes. */
async function prepared(...given: Parameters<typeof withWorker>) {
  const kube = withWorker(...given);
  return { kube, ...(await provider(kube)) };
}

const named = (kube: FakeKube, kind: KubeKind, name = 'w0'): KubeObject | undefined =>
  kube
    .objectsOf(kind)
    .find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
const configOf = (kube: FakeKube) => named(kube, bootstrapConfigs) as BootstrapConfig;
const secretOf = (kube: FakeKube, name?: string) => named(kube, secrets, name);
const textIn = (secret: KubeObject | undefined, key: string): string =>
  Buffer.from(
    (secret?.['data'] as Record<string, string> | undefined)?.[key] ?? '',
    'base64',
  ).toString();
const conditionOf = (kube: FakeKube, type: string) =>
  findCondition(configOf(kube).status?.conditions, type);
const reasonOf = (kube: FakeKube, type: string) => conditionOf(kube, type)?.reason;
const ignitionOf = (kube: FakeKube, name?: string) =>
  parseValidConfig(textIn(secretOf(kube, name), 'value'));
const tokenOf = (kube: FakeKube): string => textIn(secretOf(kube, 'w0-agent'), 'token');
const unitOf = (kube: FakeKube) => ignitionOf(kube).systemd?.units?.[0]?.contents ?? '';
const fileIn = (kube: FakeKube, path: string, name?: string): string =>
  Buffer.from(readFileContent(ignitionOf(kube, name), path)).toString();

/** Has fewer characters than the definition allows, but three times as many bytes. */
const largeIgnition = JSON.stringify({
  ignition: { version: '3.2.0' },
  systemd: { units: [{ name: 'a.service', contents: '€'.repeat(260_000) }] },
});

const keyfile = (id: string): string => `[connection]\nid=${id}\ntype=ethernet\n`;

describe('the bootstrap provider', () => {
  it('creates the data Secret of a worker and keeps the token out of the status', async () => {
    const { kube } = await prepared();
    const secret = secretOf(kube);
    expect(secret?.metadata).toMatchObject({
      ownerReferences: [{ kind: 'OpenShiftBootstrapConfig', uid: 'config-w0', controller: true }],
    });
    expect(textIn(secret, 'format')).toBe('ignition');
    const token = fileIn(kube, '/etc/bootwright/token');
    expect(tokenOf(kube)).toBe(token);
    expect(reasonOf(kube, 'Ready')).toBe('WaitingForAgent');
    expect(JSON.stringify(configOf(kube))).not.toContain(token);
  });

  it('reports why the API server rejects the Secret and retries', async () => {
    const kube = withWorker();
    const { create } = kube;
    const refusal = kubeFailure('kube.denied', 'exceeded quota: secrets', {
      context: { status: 403 },
    });
    const refusing: FakeKube['create'] = ({ denials }) =>
      denials === 'final' ? Promise.reject(refusal) : Promise.resolve({} as KubeObject);
    Object.assign(kube, { create: refusing });
    const { pass } = await provider(kube);
    expect(reasonOf(kube, 'Ready')).toBe('SecretFailed');
    expect(conditionOf(kube, 'Ready')?.message).toContain('exceeded quota');
    Object.assign(kube, { create });
    await pass(seconds(10));
    expect(reasonOf(kube, 'Ready')).toBe('WaitingForAgent');
  });

  it('waits with a master until the install assets exist', async () => {
    const ownerReferences = [{ uid: 'a former control plane', controller: true }];
    const metadata = { name: 'plane-install-assets', namespace, ownerReferences };
    const { kube, pass } = await prepared({ role: 'bootstrap' }, (one) =>
      one.put(secrets, { metadata }),
    );
    expect(reasonOf(kube, 'DataSecretAvailable')).toBe('WaitingForAssets');
    expect(configOf(kube).status?.ready).toBeUndefined();
    putSecret(kube, metadata.name, { 'mco-image': 'r.test/mco' });
    putCluster(kube, { plane: { assets: { secretName: metadata.name } } });
    await pass();
    const line = unitOf(kube)
      .split('\n')
      .find((one) => one.startsWith('ExecStart='));
    for (const words of ['-r bootstrap', '--mco-image r.test/mco', '--control-plane-count 3'])
      expect(line).toContain(words);
  });

  it.each([
    [
      'whose Machine is gone',
      (kube: FakeKube) => kube.drop({ kind: capiMachines, namespace, name: 'w0' }),
    ],
    [
      'without an owning Machine',
      (kube: FakeKube) => {
        const config = configOf(kube);
        kube.put(bootstrapConfigs, {
          ...config,
          metadata: { ...config.metadata, ownerReferences: [] },
        } as KubeObject);
      },
    ],
  ])('ignores a config %s', async (_, change) => {
    const kube = withWorker();
    change(kube);
    await provider(kube);
    expect(kube.writes).toEqual([]);
  });

  // test/capi/sizes.capi.test.ts covers a pause of the Cluster.
  it('writes only the Paused condition when the pause annotation is empty', async () => {
    const { kube } = await prepared({ annotations: { 'cluster.x-k8s.io/paused': '' } });
    expect(reasonOf(kube, 'Paused')).toBe('Paused');
    expect(kube.writes.map(({ verb, subresource }) => [verb, subresource])).toEqual([
      ['patch', 'status'],
    ]);
  });

  it('waits for the infrastructure of the Cluster', async () => {
    const { kube } = await prepared({}, (one) =>
      putCluster(one, { status: { initialization: {} } }),
    );
    expect(reasonOf(kube, 'Ready')).toBe('WaitingForClusterInfrastructure');
    expect(kube.objectsOf(secrets)).toEqual([]);
  });

  it.each([
    ['a missing pull secret', { pullSecretRef: { name: 'none' } }, 'PullSecretNotFound'],
    [
      'an override that is not Ignition',
      { ignitionConfigOverride: '{"secret":"x"}' },
      'InvalidIgnitionOverride',
    ],
    [
      'an inventory with an invalid URL',
      { inventory: { mode: 'External', url: 'https://a.test:99999', clusterId: 'c' } },
      'InventoryUnknown',
    ],
    [
      'an inventory by an octal address',
      { inventory: { mode: 'External', url: 'https://192.168.010.5', clusterId: 'c' } },
      'InventoryUnknown',
    ],
    [
      'an Ignition over the size limit in bytes',
      { ignitionConfigOverride: largeIgnition, additionalTrustBundle: 'a'.repeat(262_144) },
      'IgnitionTooLarge',
    ],
  ])('reports %s and creates no data Secret', async (_, spec, reason) => {
    const { kube } = await prepared({ spec });
    expect(reasonOf(kube, 'DataSecretAvailable')).toBe(reason);
    expect(secretOf(kube)).toBeUndefined();
  });

  it('gives each host the current certificate authority of the inventory', async () => {
    const kube = withWorker();
    let authority = 'first';
    stop = new AbortController();
    const run = { kube, clock: fakeClock({ auto: false }), random: fakeRandom() };
    runBootstrap(run, stop.signal, () => Promise.resolve(authority));
    await settle(60);
    authority = 'second';
    putHost(kube, 'w1');
    await settle(60);
    const trusted = ['w0', 'w1'].map((name) => fileIn(kube, '/etc/bootwright/ca.crt', name));
    expect(trusted).toEqual(['first', 'second']);
  });

  it('uses a referenced Secret that the user creates later', async () => {
    const { kube, pass } = await prepared({ spec: { pullSecretRef: { name: 'pull' } } });
    putSecret(kube, 'pull', { '.dockerconfigjson': '{"auths":{}}' });
    await pass(seconds(10));
    expect(fileIn(kube, '/root/.docker/config.json')).toBe('{"auths":{}}');
    const writes = kube.writes.length;
    await pass(minutes(1));
    expect(kube.writes.length).toBe(writes);
  });

  const network = { networkSecretRef: { name: 'network' } };
  const elsewhere = {
    mode: 'External',
    url: 'https://other.test',
    clusterId: 'c-9',
    tokenSecretRef: { name: 'other' },
  };
  const root = { writeMode: 'ExistingRoot' };
  it.each([
    ['the OS image of the release', root, ['--coreos-image r.test/os']],
    ['an OS image', { ...root, osImage: 'r.test/own' }, ['--coreos-image r.test/own']],
    [
      'another inventory',
      { inventory: elsewhere },
      ['--url https://other.test', '--cluster-id c-9', '--infra-env-id c-9'],
    ],
    ['keyfiles', network, ['--copy-network']],
  ])('passes the settings of a config to the agent: %s', async (_, spec, words) => {
    const kube = fakeKube();
    putCluster(kube);
    putSecret(kube, 'plane-install-assets', { 'coreos-image': 'r.test/os' });
    putSecret(kube, 'other', { token: 'of another' });
    const keyfiles = { 'all.nmconnection': keyfile('a'), 'w0_own.nmconnection': keyfile('b') };
    putSecret(kube, 'network', { ...keyfiles, 'w1_own.nmconnection': '3' });
    putHost(kube, 'w0', { spec });
    putHost(kube, 'w1');
    await provider(kube);
    for (const word of words) expect(unitOf(kube)).toContain(word);
    const names = (ignitionOf(kube).storage?.files ?? []).flatMap(
      ({ path }) => /system-connections\/(.*)$/.exec(path)?.[1] ?? [],
    );
    const hasNetwork = 'networkSecretRef' in spec;
    expect(names).toEqual(hasNetwork ? ['all.nmconnection', 'own.nmconnection'] : []);
  });

  it.each(['zz', 'all'])(
    'prefers the keyfile %s of the host over the one for all hosts',
    async (name) => {
      const keyfiles = {
        [`w0_${name}.nmconnection`]: keyfile('own'),
        [`${name}.nmconnection`]: keyfile('all'),
      };
      const { kube } = await prepared({ spec: network }, (one) =>
        putSecret(one, 'network', keyfiles),
      );
      const path = `/etc/NetworkManager/system-connections/${name}.nmconnection`;
      expect(fileIn(kube, path)).toBe(keyfile('own'));
    },
  );

  it.each([
    ['that NetworkManager cannot parse', { 'b.nmconnection': 'id=b\n' }, 'b.nmconnection'],
    ...[
      'eno1',
      'Wired_connection_1.nmconnection',
      'bond0_vlan.nmconnection',
      'wired 1.nmconnection',
    ].map((key): [string, Record<string, string>, string] => [
      `with the key ${key}, which matches no host`,
      { [key]: keyfile('b') },
      `no host takes ${key};`,
    ]),
  ])('creates no data Secret from keyfiles %s', async (_, keyfiles, message) => {
    const all = { 'w0_a.nmconnection': keyfile('a'), ...keyfiles };
    const { kube } = await prepared({ spec: network }, (one) => putSecret(one, 'network', all));
    const { reason, message: text } = conditionOf(kube, 'DataSecretAvailable') ?? {};
    expect(reason).toBe('NetworkSecretInvalid');
    expect(text).toContain(message);
    expect(secretOf(kube)).toBeUndefined();
  });

  it('creates the data Secret once the Machine that a keyfile names exists', async () => {
    const keyfiles = { 'w1_eth0.nmconnection': keyfile('b') };
    const { kube, pass } = await prepared({ spec: network }, (one) =>
      putSecret(one, 'network', keyfiles),
    );
    expect(reasonOf(kube, 'DataSecretAvailable')).toBe('NetworkSecretInvalid');
    putHost(kube, 'w1');
    await pass();
    await pass(seconds(10));
    expect(reasonOf(kube, 'DataSecretAvailable')).toBe('Available');
  });

  it.each([
    ['updates', {}, true],
    [
      'keeps, once the infrastructure is provisioned,',
      { status: { initialization: { infrastructureProvisioned: true } } },
      false,
    ],
  ])('%s the data Secret when the config changes', async (_, machine, isNew) => {
    const { kube, pass } = await prepared();
    const before = textIn(secretOf(kube), 'value');
    const config = configOf(kube);
    putHost(kube, 'w0', { machine });
    const spec = { ...config.spec, installDevice: '/dev/vdb' };
    kube.put(bootstrapConfigs, {
      ...config,
      metadata: { ...config.metadata, generation: 2 },
      spec,
    } as unknown as KubeObject);
    await pass();
    expect(textIn(secretOf(kube), 'value') !== before).toBe(isNew);
    expect(configOf(kube).status).toMatchObject({ ready: true, observedGeneration: 2 });
  });

  // test/capi/install.capi.test.ts covers that nothing changes after a move.
  it.each([
    ['has not booted', false],
    ['may have booted', true],
  ])('recreates a removed token Secret with the same token for a host that %s', async (_, is) => {
    const { kube } = await prepared();
    const before = textIn(secretOf(kube), 'value');
    const token = tokenOf(kube);
    const [machine] = kube.objectsOf(capiMachines);
    const spec = { ...(machine?.['spec'] as object), ...(is ? { providerID: 'lab://w0' } : {}) };
    putHost(kube, 'w0', { machine: { spec } });
    await settle(60);
    kube.drop({ kind: secrets, namespace, name: 'w0-agent' });
    await settle(60);
    expect(tokenOf(kube)).toBe(token);
    expect(textIn(secretOf(kube), 'value')).toBe(before);
  });

  it('does not overwrite a Secret that it does not own', async () => {
    const kube = withWorker();
    putSecret(kube, 'w0', { value: 'of a user' });
    await provider(kube);
    expect(reasonOf(kube, 'DataSecretAvailable')).toBe('SecretNameTaken');
    expect(textIn(secretOf(kube), 'value')).toBe('of a user');
  });

  it('reports a silent agent as lost after its timeout, and revokes the token of an installed host', async () => {
    const { kube, clock, pass } = await prepared();
    const at = new Date(clock.now()).toISOString();
    const report = (stage: string) => {
      const config = configOf(kube);
      const progress = { stage, attempt: 1, stageStartedAt: at, updatedAt: at };
      kube.put(bootstrapConfigs, {
        ...config,
        status: { ...config.status, progress },
      });
    };
    report('Writing image to disk');
    await pass();
    expect(reasonOf(kube, 'Ready')).toBe('WritingImageToDisk');
    await pass(minutes(31));
    expect(reasonOf(kube, 'Ready')).toBe('AgentLost');
    report('Done');
    await pass();
    expect(reasonOf(kube, 'Ready')).toBe('Installed');
    expect(reasonOf(kube, 'AgentReporting')).toBe('Installed');
    expect(secretOf(kube, 'w0-agent')).toBeUndefined();
    expect(secretOf(kube)).toBeDefined();
  });

  it('retries without a warning when the config has changed in the meantime (409)', async () => {
    const kube = withWorker();
    kube.before('patch', () => {
      const config = configOf(kube);
      const metadata = { ...config.metadata, generation: 2 };
      const spec = { ...config.spec, installDevice: '/dev/vdb' };
      kube.put(bootstrapConfigs, { ...config, metadata, spec });
    });
    const { events, pass } = await provider(kube);
    expect(configOf(kube).status).toBeUndefined();
    await pass(seconds(1));
    expect(configOf(kube).status).toMatchObject({ ready: true, observedGeneration: 2 });
    expect(textIn(secretOf(kube), 'value')).toContain('/dev/vdb');
    expect(events.filter((event) => event.type === 'note' && event.level === 'warn')).toEqual([]);
  });

  it('converges to the same objects when it is killed right after any of its writes', async () => {
    for (const last of [0, 1, 2]) {
      const kube = withWorker();
      const killed = new AbortController();
      killed.signal.addEventListener('abort', () => stop.abort(killed.signal.reason));
      await provider(kube, killedBy(kube, { verbs: ['create', 'patch'], last, killed }));
      expect(killed.signal.aborted).toBe(true);
      await provider(kube);
      const token = tokenOf(kube);
      expect(fileIn(kube, '/etc/bootwright/token')).toBe(token);
      expect(configOf(kube).status).toMatchObject({ ready: true, dataSecretName: 'w0' });
      expect(kube.writes.filter(({ verb }) => verb === 'create')).toHaveLength(2);
    }
  });
});

describe('the labels that a kubelet registers', () => {
  const refused = (label: string): boolean => {
    const spec = { agent: { image: 'a' }, nodeRegistration: { labels: { [label]: 'a' } } };
    try {
      requireLabels(spec);
      return false;
    } catch (error) {
      expect(error).toMatchObject({ message: expect.stringContaining(label) as string });
      return true;
    }
  };

  it.each([
    'node-role.kubernetes.io/infra',
    'node-role.kubernetes.io/worker-rt',
    'app.kubernetes.io/name',
    'node-restriction.kubernetes.io/zone',
    'node.k8s.io/a',
    'k8s.io/a',
    'a b',
  ])('may not have %s, with which the kubelet does not start', (label) => {
    expect(refused(label)).toBe(true);
  });

  it.each([
    'node-role.kubernetes.io/worker',
    'node.kubernetes.io/a',
    'a.node.kubernetes.io/a',
    'topology.kubernetes.io/zone',
    'mykubernetes.io/a',
    'metal3.io/uuid',
    'a',
  ])('may have %s', (label) => {
    expect(refused(label)).toBe(false);
  });
});
