import { describe, expect, it } from 'vitest';
import {
  bootstrapIn,
  capiNamespace,
  conditionIn,
  controlPlaneIn,
  controlPlaneOf,
  controlPlaneUid,
  jobRunner,
  labMachines,
  labTemplates,
  machinesIn,
  managementCluster,
  report,
  reportBootstrap,
  controlPlanesAtWork,
} from '../../../test/support/capi-world.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import {
  certificateSigningRequests,
  clusterOperators,
  clusterVersions,
  configMaps,
  jobs,
  nodes,
  secrets,
} from '../../kube/kinds.ts';
import {
  alternativeNames,
  keyPair,
  pkcs10,
  signingRequestObject,
} from '../../../test/support/kubelet-request.ts';
import { untilAborted } from '../../engine/wait.ts';
import { hours, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import {
  assetKeys,
  bootstrapConfigs,
  capiNames,
  clusters,
  type OpenShiftControlPlane,
  controlPlanes,
  capiMachines,
  ownNames,
} from '../api.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { secretText } from '../objects.ts';
import { readMasters } from './guest.ts';
import { machineName } from './machines.ts';

const daemonSets: KubeKind = { group: 'apps', version: 'v1', plural: 'daemonsets' };

/** Runs a provider on a management cluster. */
function atWork(controlPlane: OpenShiftControlPlane = controlPlaneOf()) {
  const kube = managementCluster(controlPlane);
  const installer = jobRunner(kube);
  const guest = fakeKube();
  return { kube, guest, installer, ...controlPlanesAtWork({ kube, installer, guest }) };
}

/** Runs a provider until its bootstrap host reports a stage. */
async function bootstrapped(stage: Stage = 'Rebooting') {
  const world = atWork();
  await world.pass();
  reportBootstrap(world.kube, stage);
  return world;
}

const { signal } = new AbortController();
const removeControlPlane = (kube: FakeKube): Promise<void> =>
  kube.remove({ kind: controlPlanes, namespace: capiNamespace, name: 'demo' }, signal);
const pause = (kube: FakeKube): void => {
  const [cluster] = kube.objectsOf(clusters);
  const spec = { ...(cluster?.['spec'] as object), paused: true };
  if (cluster) kube.put(clusters, { ...cluster, spec });
};

/** A certificate request of a host, for serving if it has an address. */
async function requestOf(node: string, name = 'csr-1', address?: string): Promise<KubeObject> {
  const subject = `O=system:nodes, CN=system:node:${node}`;
  const names = address === undefined ? [] : alternativeNames(node, address);
  const pem = await pkcs10({ subject, names, keys: await keyPair() });
  return signingRequestObject(address === undefined ? 'client' : 'serving', pem, { name });
}
const approvedIn = (guest: FakeKube) =>
  guest.writes.filter(({ subresource }) => subresource === 'approval').map(({ name }) => name);

const secretNames = (kube: FakeKube): readonly string[] =>
  kube.objectsOf(secrets).map(({ metadata }) => metadata.name);

const assetsName = 'demo-install-assets';

it('gives up reading the masters of an unresponsive cluster after five seconds', async () => {
  const clock = fakeClock({ auto: false });
  const kube: Kube = {
    ...fakeKube(),
    get: (_, signal) =>
      new Promise((__, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  };
  const reading = readMasters(kube, clock, signal);
  await settle();
  await clock.advance(seconds(5));
  await expect(reading).resolves.toEqual({ etcd: undefined });
});

describe('a control plane of three', () => {
  it('reports why creating a Machine fails and retries without another infrastructure clone', async () => {
    const { kube, pass } = atWork();
    const { create } = kube;
    const refusal = 'failed calling webhook "validation.machine.cluster.x-k8s.io"';
    const refusing: FakeKube['create'] = (selection, ...rest) =>
      selection.kind === capiMachines
        ? Promise.reject(kubeFailure('kube.failed', refusal))
        : create(selection, ...rest);
    Object.assign(kube, { create: refusing });
    await pass();
    expect([machinesIn(kube), kube.objectsOf(labMachines).length]).toEqual([[], 1]);
    expect(conditionIn(kube, 'MachinesCreated')).toBe('False CreationDelayed');
    expect(JSON.stringify(controlPlaneIn(kube)?.status?.conditions)).toContain('failed calling');
    Object.assign(kube, { create });
    await pass(seconds(2));
    expect([machinesIn(kube).length, kube.objectsOf(labMachines).length]).toEqual([1, 1]);
    expect(conditionIn(kube, 'MachinesCreated')).toBe('False WaitingForBootstrap');
  });

  it('reports a forbidden template and an invalid selector, and continues once both are fixed', async () => {
    const selector = { matchLabels: { a: 'b,c!=d' } };
    const { kube, installer, pass } = atWork(controlPlaneOf({ manifestsSelector: selector }));
    const { get } = kube;
    const refusal = kubeFailure('kube.denied', 'labmachinetemplates "masters" is forbidden', {
      context: { status: 403 },
    });
    const refusing: Kube['get'] = (ref, signal, options) =>
      ref.kind.plural === labTemplates.plural && options?.denials === 'final'
        ? Promise.reject(refusal)
        : get(ref, signal);
    Object.assign(kube, { get: refusing });
    await pass();
    expect(conditionIn(kube, 'MachinesCreated')).toBe('False TemplateForbidden');
    expect(conditionIn(kube, 'ManifestsValid')).toBe('False Invalid');
    expect(controlPlaneIn(kube)?.metadata.finalizers).toEqual([ownNames.finalizer]);
    Object.assign(kube, { get });
    const now = controlPlaneIn(kube);
    if (now === undefined) throw new Error('no control plane');
    kube.put(controlPlanes, { ...now, spec: controlPlaneOf().spec });
    await pass(seconds(11));
    expect(installer.runs).toHaveLength(1);
    expect(machinesIn(kube)).toHaveLength(1);
  });

  it('reports that the installer Job is rejected, and retries it only twice within a minute', async () => {
    const { kube, pass } = atWork();
    const { create } = kube;
    let tries = 0;
    const refusing: FakeKube['create'] = (selection, object, ...rest) => {
      if (!object.metadata.name.includes('-images-')) return create(selection, object, ...rest);
      tries += 1;
      return Promise.reject(kubeFailure('kube.invalid', 'must be no more than 253 bytes'));
    };
    Object.assign(kube, { create: refusing });
    await pass(seconds(60));
    expect(conditionIn(kube, 'AssetsGenerated')).toBe('False CreationFailed');
    expect(JSON.stringify(controlPlaneIn(kube)?.status?.conditions)).toContain('253 bytes');
    expect(tries).toBe(2);
  });

  it('creates the kubeconfig once the API of the cluster answers, and stays Installed afterwards', async () => {
    const { kube, guest, pass } = atWork();
    await pass();
    guest.lastError(kubeFailure('kube.unreachable', 'no route'));
    const { name = '' } = bootstrapIn(kube)?.metadata ?? {};
    report(kube, name, 'Waiting for bootkube');
    await pass();
    expect(secretNames(kube)).not.toContain('demo-kubeconfig');
    expect(controlPlaneIn(kube)?.status?.initialization).toBeUndefined();
    guest.lastError(undefined).put(nodes, { metadata: { name: 'n0' } });
    await pass();
    expect(secretNames(kube)).toContain('demo-kubeconfig');
    expect(conditionIn(kube, 'Available')).toBe('False Installing');
    report(kube, name, 'Rebooting');
    await pass();
    expect(conditionIn(kube, 'ConfigServerAvailable')).toBe('False WaitingForMasters');
    const available = { type: 'Available', status: 'True' };
    const settled = (status: string): void => {
      const conditions = [available, { type: 'Progressing', status }];
      guest.put(clusterOperators, { metadata: { name: 'etcd' }, status: { conditions } });
    };
    guest.put(clusterVersions, {
      metadata: { name: 'version' },
      status: { conditions: [available] },
    });
    for (const [progressing, condition] of [
      ['True', 'False WaitingForOperators'],
      ['False', 'True Installed'],
      ['True', 'True Installed'],
    ] as const) {
      settled(progressing);
      await pass();
      expect(conditionIn(kube, 'Installed')).toBe(condition);
    }
  });

  it.each([
    ['the bootstrap is complete', 'Rebooting', true],
    ['a host installs with them', 'Writing image to disk', false],
  ])('does not regenerate removed install assets while %s', async (_, stage, isComplete) => {
    const { kube, guest, installer, pass } = atWork();
    guest.lastError(undefined).put(nodes, { metadata: { name: 'n0' } });
    await pass();
    const name = bootstrapIn(kube)?.metadata.name ?? '';
    for (const one of ['Waiting for control plane', stage].slice(isComplete ? 0 : 1)) {
      report(kube, name, one);
      await pass();
    }
    const runs = installer.runs.length;
    const [assets] = kube.objectsOf(secrets).filter(({ metadata }) => metadata.name === assetsName);
    kube.drop({ kind: secrets, namespace: capiNamespace, name: assetsName });
    const machines = machinesIn(kube).length;
    if (isComplete) kube.drop({ kind: capiMachines, namespace: capiNamespace, name });
    await pass(seconds(12));
    expect(installer.runs).toHaveLength(runs);
    expect(secretNames(kube)).not.toContain(assetsName);
    expect(conditionIn(kube, 'AssetsGenerated')).toBe('False AssetsLost');
    expect(conditionIn(kube, 'Available')).toBe(isComplete ? 'True Available' : 'False Installing');
    expect(machinesIn(kube)).toHaveLength(isComplete ? machines - 1 : machines);
    if (assets !== undefined) kube.put(secrets, assets);
    await pass();
    expect(conditionIn(kube, 'AssetsGenerated')).toBe('True Generated');
    expect(machinesIn(kube)).toHaveLength(machines);
  });

  it('reports a failed bootstrap host', async () => {
    const { kube, pass } = await bootstrapped('Failed');
    await pass();
    expect(conditionIn(kube, 'Available')).toBe('False HostInstallationFailed');
    expect(conditionIn(kube, 'BootstrapComplete')).toBe('False Failed');
  });
});

it('metadata for Machines cannot change their role, Cluster or control plane label', async () => {
  const { machineTemplate } = controlPlaneOf().spec;
  const metadata = {
    labels: { rack: 'r1', [capiNames.clusterName]: 'other', [capiNames.controlPlane]: 'no' },
    annotations: { [ownNames.role]: 'bootstrap' },
  };
  const { kube, pass } = atWork(
    controlPlaneOf({ machineTemplate: { ...machineTemplate, metadata } }),
  );
  await pass();
  reportBootstrap(kube, 'Waiting for control plane');
  await pass(seconds(3));
  const roles = machinesIn(kube).map((one) => one.metadata.annotations?.[ownNames.role]);
  expect(roles.toSorted()).toEqual(['bootstrap', undefined, undefined]);
  for (const { metadata: is } of machinesIn(kube))
    expect(is.labels).toMatchObject({
      rack: 'r1',
      [capiNames.clusterName]: 'demo',
      [capiNames.controlPlane]: '',
    });
  for (const kind of [bootstrapConfigs, labMachines]) {
    const racks = kube.objectsOf(kind).map(({ metadata: { labels } }) => labels?.['rack']);
    expect(racks).toEqual(['r1', 'r1', 'r1']);
  }
});

it('derives valid object names from a long control plane name with dots', async () => {
  const name = `${'a'.repeat(39)}.${'b'.repeat(16)}.${'c'.repeat(5)}.d`;
  const plane = controlPlaneOf();
  const kube = managementCluster({ ...plane, metadata: { ...plane.metadata, name } });
  const { pass } = controlPlanesAtWork({ kube, installer: null });
  await pass();
  const [job] = kube.objectsOf(jobs);
  const names = [job?.metadata.name ?? '', machineName({ ...plane, metadata: { name } }, 0)];
  for (const one of names) expect(one).toMatch(/^[a-z0-9-]+(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  for (const value of Object.values(job?.metadata.labels ?? {})) expect(value).toMatch(/[a-z0-9]$/);
});

/** A worker of day 2 with the objects of core and the bootstrap provider. */
function worker(kube: FakeKube, name: string, stage: string, address?: string): void {
  const metadata = { name, namespace: capiNamespace, labels: { [capiNames.clusterName]: 'demo' } };
  const ref = (kind: string) => ({ apiGroup: 'x', kind, name });
  kube.put(capiMachines, {
    metadata,
    spec: { clusterName: 'demo', bootstrap: { configRef: ref('c') } },
    status: { addresses: address === undefined ? [] : [{ type: 'InternalIP', address }] },
  });
  kube.put(bootstrapConfigs, {
    metadata,
    spec: {},
    status: { initialization: { dataSecretCreated: true } },
  });
  report(kube, name, stage);
}

describe('the installed cluster', () => {
  it('gets the certificate requests of its hosts approved, and no others', async () => {
    const { kube, guest, pass } = await bootstrapped();
    worker(kube, 'w0', 'Rebooting');
    guest.put(certificateSigningRequests, await requestOf('w0'));
    guest.put(certificateSigningRequests, await requestOf('stranger', 'csr-2'));
    await pass();
    guest.put(certificateSigningRequests, await requestOf('w0', 'csr-3'));
    await pass();
    expect(approvedIn(guest).filter((name) => name?.startsWith('csr-'))).toEqual([
      ...['csr-1', 'csr-3'],
    ]);
  });

  it.each([
    ['in the machine network', '198.51.100.7', ['csr-1']],
    ['outside of it', '203.0.113.7', []],
  ])('gets a serving request approved for a VLAN address %s', async (_, address, expected) => {
    const { kube, guest, pass } = await bootstrapped();
    worker(kube, 'm0', 'Rebooting', '192.0.2.9');
    guest.put(configMaps, {
      metadata: { name: 'cluster-config-v1', namespace: 'kube-system' },
      data: { 'install-config': 'networking: {machineNetwork: [{cidr: 198.51.100.0/24}]}' },
    });
    const addresses = [{ type: 'InternalIP', address }];
    guest.put(nodes, { metadata: { name: 'm0' }, status: { addresses } });
    guest.put(certificateSigningRequests, await requestOf('m0', 'csr-1', address));
    await pass();
    expect(approvedIn(guest)).toEqual(expected);
  });

  const masterNode = (status: string, role = 'master'): KubeObject => ({
    metadata: { name: 'm0', labels: { [`node-role.kubernetes.io/${role}`]: '' } },
    status: { conditions: [{ type: 'Ready', status }] },
  });
  const configServers = (numberReady: number, name = 'machine-config-server'): KubeObject => ({
    metadata: { name, namespace: 'openshift-machine-config-operator' },
    status: { numberReady },
  });
  it.each([
    ['one is ready', 'True Available', masterNode('False'), configServers(1)],
    ['none is ready', 'False WaitingForMasters', masterNode('True'), configServers(0)],
    ['none is listed, and a master is ready', 'True Available', masterNode('True')],
    [
      'none is listed, and a master with the newer label is ready',
      'True Available',
      masterNode('True', 'control-plane'),
      configServers(0, 'machine-config-daemon'),
    ],
    ['none is listed, and no master is ready', 'False WaitingForMasters', masterNode('False')],
    [
      'none is listed, and only a worker is ready',
      'False WaitingForMasters',
      masterNode('True', 'worker'),
    ],
  ])('reports after the bootstrap, when of its config servers %s: %s', async (...row) => {
    const [, expected, node, servers] = row;
    const { kube, guest, pass } = atWork();
    guest.put(nodes, node);
    if (servers !== undefined) guest.put(daemonSets, servers);
    await pass();
    reportBootstrap(kube, 'Waiting for control plane');
    await pass();
    expect(conditionIn(kube, 'ConfigServerAvailable')).toBe('False WaitingForMasters');
    reportBootstrap(kube, 'Rebooting');
    await pass();
    expect(conditionIn(kube, 'ConfigServerAvailable')).toBe(expected);
  });

  it('reports no config server before the cluster has listed them', async () => {
    const { kube, guest, pass } = atWork();
    const { follow } = guest;
    const unlisted: FakeKube['follow'] = (selection, seen, signal) =>
      selection.kind.plural === daemonSets.plural
        ? untilAborted(signal)
        : follow(selection, seen, signal);
    Object.assign(guest, { follow: unlisted });
    guest.put(nodes, masterNode('True'));
    await pass();
    reportBootstrap(kube, 'Rebooting');
    await pass();
    expect(conditionIn(kube, 'ConfigServerAvailable')).toBe('False WaitingForMasters');
  });

  it('keeps its config servers in the status while they restart', async () => {
    const { kube, guest, pass } = atWork();
    guest.put(daemonSets, configServers(1));
    await pass();
    reportBootstrap(kube, 'Rebooting');
    await pass();
    guest.put(daemonSets, configServers(0));
    await pass();
    expect(conditionIn(kube, 'ConfigServerAvailable')).toBe('True Available');
  });

  it('gets its config server CA stored in the install assets once masters use it', async () => {
    const { kube, guest, pass } = atWork();
    const place = { namespace: 'openshift-machine-config-operator' };
    const metadata = { ...place, name: 'machine-config-server-ca' };
    const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n`;
    await pass();
    const { name = '' } = bootstrapIn(kube)?.metadata ?? {};
    const seen: string[] = [];
    for (const [stage, authority] of [
      ['Waiting for control plane', pem('1')],
      ['Rebooting', pem('1')],
      ['Rebooting', ''],
      ['Rebooting', pem('2')],
    ] as const) {
      guest.put(configMaps, { metadata, data: { 'ca-bundle.crt': authority } });
      report(kube, name, stage);
      await pass();
      const assets = kube.objectsOf(secrets).find((one) => one.metadata.name === assetsName);
      seen.push(secretText(assets, assetKeys.configServerCa) ?? 'none');
    }
    expect(seen).toEqual(['none', pem('1'), pem('1'), pem('2')]);
    expect(
      kube.writes.filter((one) => one.verb === 'patch' && one.name === assetsName),
    ).toHaveLength(2);
  });

  it('is upgraded by digest through its ClusterVersion', async () => {
    const { kube, guest, pass } = await bootstrapped();
    const image = (digit: string): string => `r.test/ocp@sha256:${digit.repeat(64)}`;
    const history = [{ state: 'Completed', version: '4.19.7', image: image('0') }];
    await pass();
    // The last update may have been to the multi-arch payload: the API takes an image or that.
    const desiredUpdate = { architecture: 'Multi', version: '4.19.7' };
    const metadata = { name: 'version' };
    guest.put(clusterVersions, { metadata, spec: { desiredUpdate }, status: { history } });
    const found = controlPlaneIn(kube);
    if (found === undefined) throw new Error('no control plane');
    const spec = { ...found.spec, releaseImage: image('2'), distributionVersion: '4.19.9' };
    kube.put(controlPlanes, { ...found, spec });
    await pass();
    expect(guest.objectsOf(clusterVersions)[0]?.['spec']).toEqual({
      desiredUpdate: { image: image('2'), version: '4.19.9', force: false },
    });
    expect(conditionIn(kube, 'Upgrading')).toBe('True Progressing');
    expect(controlPlaneIn(kube)?.status?.distributionVersion).toBe('4.19.7');
  });
});

it.each<[string, (kube: FakeKube) => void, readonly [string, string]]>([
  [
    'without the infrastructure of the Cluster',
    (kube) => {
      const [cluster] = kube.objectsOf(clusters);
      if (cluster) kube.put(clusters, { ...cluster, status: {} });
    },
    ['AssetsGenerated', 'False WaitingForInputs'],
  ],
  [
    'without the state of the installer',
    (kube) => {
      kube.drop({ kind: secrets, namespace: capiNamespace, name: 'demo-install-state' });
    },
    ['InstallStateValid', 'False SecretNotFound'],
  ],
  [
    'with an install-config edited after its manifests were made',
    (kube) => {
      const [secret] = kube.objectsOf(secrets);
      const data = { ...(secret?.['data'] as object), '.openshift_install_state.json': 'e30=' };
      if (secret) kube.put(secrets, { ...secret, data });
      kube.put(secrets, {
        metadata: {
          name: 'demo-manifests-0',
          namespace: capiNamespace,
          labels: { [ownNames.installManifests]: 'demo' },
          annotations: { [ownNames.manifestFolder]: 'manifests' },
        },
        data: { 'cluster-config.yaml': 'e30=' },
      });
    },
    ['InstallStateValid', 'False Invalid'],
  ],
  ['while the Cluster is paused', pause, ['Paused', 'True Paused']],
])('creates nothing %s', async (_, change, [type, expected]) => {
  const kube = managementCluster();
  change(kube);
  const installer = jobRunner(kube);
  const { pass } = controlPlanesAtWork({ kube, installer });
  await pass(seconds(2));
  expect(conditionIn(kube, type)).toBe(expected);
  expect(installer.runs).toHaveLength(0);
  expect(machinesIn(kube)).toHaveLength(0);
});

it('a control plane keeps its finalizer until the last Machine is gone', async () => {
  const { kube, pass } = await bootstrapped('Waiting for control plane');
  await pass();
  for (const machine of machinesIn(kube)) {
    const metadata = { ...machine.metadata, finalizers: ['machine.cluster.x-k8s.io'] };
    kube.put(capiMachines, { ...machine, metadata });
  }
  await removeControlPlane(kube);
  await pass();
  expect(machinesIn(kube).filter((one) => one.metadata.deletionTimestamp === undefined)).toEqual(
    [],
  );
  expect(conditionIn(kube, 'Deleting')).toBe('True DeletingMachines');
  expect(machinesIn(kube)).toHaveLength(3);
  for (const { metadata } of machinesIn(kube)) {
    expect(controlPlaneIn(kube)?.metadata.uid).toBe(controlPlaneUid);
    kube.drop({ kind: capiMachines, namespace: capiNamespace, name: metadata.name });
    await pass();
  }
  expect(controlPlaneIn(kube)).toBeUndefined();
});

/** Runs a provider for two seconds. */
async function run(kube: FakeKube, installer = jobRunner(kube)): Promise<void> {
  const { pass } = controlPlanesAtWork({ kube, installer });
  await pass(seconds(2));
}

describe('a change after a decision', () => {
  it('does not touch a new control plane of the same name', async () => {
    const kube = managementCluster();
    kube.holdViews();
    kube.before('get', () => {
      kube.drop({ kind: controlPlanes, namespace: capiNamespace, name: 'demo' });
      const { metadata, ...rest } = controlPlaneOf();
      kube.put(controlPlanes, { ...rest, metadata: { ...metadata, uid: 'another' } });
    });
    await run(kube);
    expect(controlPlaneIn(kube)).toMatchObject({ metadata: { uid: 'another' } });
    expect(controlPlaneIn(kube)?.metadata.finalizers).toBeUndefined();
  });

  it('does not delete Machines of a Cluster that has just been paused', async () => {
    const { kube, pass } = atWork();
    await pass();
    await removeControlPlane(kube);
    kube.before('get', () => pause(kube));
    await pass();
    expect(machinesIn(kube)).toHaveLength(1);
    expect(machinesIn(kube)[0]?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('makes no Machine of a Cluster that has just been paused', async () => {
    const { kube, pass } = await bootstrapped('Waiting for control plane');
    kube.before('get', () => pause(kube));
    await pass();
    expect(machinesIn(kube)).toHaveLength(1);
  });

  it('requests no upgrade of a Cluster that has just been paused', async () => {
    const { kube, guest, pass } = await bootstrapped();
    await pass();
    kube.holdViews();
    pause(kube);
    const history = [{ state: 'Completed', version: '4.19.7', image: `r.test/ocp@sha256:1` }];
    guest.put(clusterVersions, { metadata: { name: 'version' }, spec: {}, status: { history } });
    await pass();
    expect(guest.objectsOf(clusterVersions)[0]?.['spec']).toEqual({});
  });

  it('keeps expired install assets when a host has just reported', async () => {
    const kube = managementCluster();
    const controlPlane = controlPlaneIn(kube);
    const ownerReferences = [{ uid: controlPlaneUid, controller: true }];
    const labels = { [capiNames.clusterName]: 'demo' };
    const place = { namespace: capiNamespace, labels, ownerReferences };
    const annotations = {
      [ownNames.inputsHash]: '1',
      [ownNames.generatedAt]: new Date(-hours(24)).toISOString(),
    };
    kube.put(secrets, { metadata: { ...place, name: assetsName, annotations } });
    const finalizers = [ownNames.finalizer];
    const metadata = { ...controlPlane?.metadata, name: 'demo', finalizers };
    kube.put(controlPlanes, { ...controlPlane, metadata });
    kube.before('list', () => {
      const spec = { clusterName: 'demo', bootstrap: { configRef: { name: 'm' } } };
      kube.put(capiMachines, { metadata: { ...place, name: 'm' }, spec });
      kube.put(bootstrapConfigs, { metadata: { ...place, name: 'm' }, spec: {} });
      report(kube, 'm', 'Installing');
    });
    await run(kube);
    expect(secretNames(kube)).toContain(assetsName);
  });

  it('does not approve a certificate request that has just been denied', async () => {
    const { kube, guest, pass } = await bootstrapped();
    worker(kube, 'w0', 'Rebooting');
    await pass();
    const request = await requestOf('w0');
    let reads = 0;
    guest.before('get', () => {
      reads += 1;
      const status = { conditions: [{ type: 'Denied', status: 'True' }] };
      guest.put(certificateSigningRequests, { ...request, status });
    });
    guest.put(certificateSigningRequests, request);
    await pass();
    expect(reads).toBeGreaterThan(0);
    expect(approvedIn(guest)).toEqual([]);
  });

  it('approves no serving request for an address that another node got right before', async () => {
    const { kube, guest, pass } = await bootstrapped();
    worker(kube, 'm0', 'Rebooting');
    const addresses = [{ type: 'InternalIP', address: '192.0.2.77' }];
    const nodeAt = (name: string) => ({ metadata: { name }, status: { addresses } });
    guest.put(nodes, nodeAt('m0'));
    await pass();
    const request = await requestOf('m0', 'csr-1', '192.0.2.77');
    let lists = 0;
    guest.before('list', () => {
      lists += 1;
      guest.put(nodes, nodeAt('other'));
    });
    guest.put(certificateSigningRequests, request);
    await pass();
    expect(lists).toBeGreaterThan(0);
    expect(approvedIn(guest)).toEqual([]);
  });

  it('creates no Machines from install assets of an earlier control plane of the same name', async () => {
    const kube = managementCluster();
    const ownerReferences = [{ uid: 'earlier' }];
    const annotations = {
      [ownNames.inputsHash]: '1',
      [ownNames.generatedAt]: '2026-01-01T00:00:00Z',
    };
    const labels = { 'cluster.x-k8s.io/cluster-name': 'demo' };
    const at = { name: assetsName, namespace: capiNamespace };
    const metadata = { ...at, labels, annotations, ownerReferences };
    kube.put(secrets, { metadata });
    await run(kube);
    expect(machinesIn(kube)).toEqual([]);
  });

  it('creates no Machine for an infrastructure machine that it does not own', async () => {
    const kube = managementCluster();
    const name = machineName(controlPlaneOf(), 0);
    kube.put(labMachines, { metadata: { name, namespace: capiNamespace } });
    await run(kube);
    expect(machinesIn(kube)).toEqual([]);
  });
});
