// The providers in one namespace, with their own rights there alone, before the real Cluster API
// core: from a Cluster to its end.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../mocks/kube/program.ts';
import {
  bootstrapConfigs,
  capiNames,
  clusters,
  type OpenShiftControlPlane,
  controlPlanes,
  capiMachines,
  ownNames,
} from '../../src/capi/api.ts';
import { nodes, secrets } from '../../src/kube/kinds.ts';
import { conditionOf, partOf, textAt } from '../../src/kube/object.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { PolicyRule } from '../../src/layering/manifests/service-account.ts';
import { clusterOf, clusterRoles } from '../kube/rig.ts';
import { clusterObjects, controlPlaneObject, devMachines } from './cluster.ts';
import { type ManagementNode, startNode } from './node.ts';
import { type CapiRig, deployedObjects, startCapi } from './rig.ts';

const cluster = 'shop';
const place = { namespace: cluster };
const program = resolve(import.meta.dirname, '../../src/main.ts');

let rig: CapiRig;
let folder: string;
let node: ManagementNode;
const managers: ChildProcess[] = [];
let inventory: string;

const providers = ['bootstrap', 'control-plane'] as const;
type Provider = (typeof providers)[number];

/**
 * Gives an account the rules of its cluster role in the one namespace; everywhere only those about
 * definitions, which are in none.
 */
async function confine(provider: Provider): Promise<void> {
  const name = `${provider}-bootwright-manager`;
  const isOwn = ({ kind, metadata }: KubeObject): boolean =>
    kind === 'ClusterRole' && metadata.name === name;
  const { rules = [] } = (deployedObjects().find(isOwn) ?? {}) as {
    readonly rules?: readonly PolicyRule[];
  };
  const isOfNone = ({ resources }: PolicyRule): boolean =>
    resources.includes('customresourcedefinitions');
  await rig.client.merge(
    { kind: clusterRoles, name },
    { rules: rules.filter((rule) => isOfNone(rule)) },
  );
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  await rig.apply({
    apiVersion,
    kind: 'Role',
    metadata: { name, ...place },
    rules: rules.filter((rule) => !isOfNone(rule)),
  });
  await rig.apply({
    apiVersion,
    kind: 'RoleBinding',
    metadata: { name, ...place },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', ...accountOf(provider) }],
  });
}

const accountOf = (provider: Provider) => ({
  namespace: `bootwright-${provider}-system`,
  name: 'manager',
});

/** A manager as its Deployment would run it, with the rights of its account. */
async function start(provider: Provider, args: readonly string[]) {
  await confine(provider);
  const { namespace, name: serviceAccount } = accountOf(provider);
  const account = { namespace, serviceAccount };
  const kubeconfig = join(folder, `${provider}.kubeconfig`);
  const text = await rig.kube.kubeconfigFor({ user: account, server: rig.kube.url });
  await writeFile(kubeconfig, text, { mode: 0o600 });
  const line = [program, 'capi', 'manager', '--controllers', provider, '--kubeconfig', kubeconfig];
  const manager = spawn(process.execPath, [...line, '--namespace', cluster, ...args], {
    env: {
      ...process.env,
      POD_NAMESPACE: namespace,
      BOOTWRIGHT_IMAGE: 'registry.example/bootwright:latest',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  managers.push(manager);
}

beforeAll(async () => {
  rig = await startCapi();
  await rig.deploy();
  folder = await mkdtemp(join(tmpdir(), 'bootwright-capi-'));
  node = await startNode(rig, await rig.kube.kubeconfigFor({ server: rig.guest.url }));
  const port = await freePort();
  const [namespace] = clusterObjects(cluster, rig.guest.port);
  if (namespace !== undefined) await rig.apply(namespace);
  inventory = `http://127.0.0.1:${port}`;
  const address = ['--inventory-address', `127.0.0.1:${port}`, '--inventory-url', inventory];
  await start('bootstrap', address);
  await start('control-plane', []);
});
afterAll(async () => {
  for (const manager of managers) manager.kill('SIGKILL');
  await node[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const hostName = ({ metadata: { name } }: KubeObject): string => name;

/** A host reports as its agent does. */
async function report(name: string, stage: string): Promise<void> {
  const selection = { kind: secrets, ...place, fieldSelector: `metadata.name=${name}-agent` };
  const token = await rig.found(selection, (secret) => textAt(secret, 'data', 'token'));
  const config = await rig.client.get({ kind: bootstrapConfigs, ...place, name });
  const owner = await rig.client.get({ kind: clusters, ...place, name: cluster });
  const [host, infraEnv] = [config, owner].map((object) => object?.metadata.uid ?? '');
  const url = `${inventory}/api/assisted-install/v2/infra-envs/${infraEnv}/hosts/${host}/progress`;
  const answer = await fetch(url, {
    method: 'PUT',
    headers: {
      'content-type': 'application/json',
      'x-secret-key': Buffer.from(token, 'base64').toString(),
    },
    body: JSON.stringify({ current_stage: stage, progress_info: '' }),
  });
  expect({ stage, status: answer.status, body: await answer.text() }).toMatchObject({
    status: 200,
  });
}

const ofControlPlane = { kind: controlPlanes, ...place, fieldSelector: `metadata.name=${cluster}` };
const isTrue = (type: string) => (object: KubeObject) =>
  conditionOf(object, type).status === 'True' ? true : undefined;

describe('a Cluster of three masters', () => {
  it('is installed, bootstrap host first, and ends with all of it', async () => {
    for (const object of clusterObjects(cluster, rig.guest.port)) await rig.apply(object);
    await rig.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'install-state', ...place, labels: { [ownNames.installState]: cluster } },
      stringData: {
        'install-config.yaml': `apiVersion: v1
metadata: {name: ${cluster}}
baseDomain: lab.test
controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 0}]
platform: {none: {}}
pullSecret: '{"auths":{"r.test":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
`,
      },
    });
    await rig.apply(controlPlaneObject(cluster));
    const ofMachines = { kind: capiMachines, ...place };
    const bootstrap = hostName(await rig.found(ofMachines, (machine) => machine));
    await rig.found(
      { kind: bootstrapConfigs, ...place, fieldSelector: `metadata.name=${bootstrap}` },
      (config) => (partOf(config, 'status', 'dataSecretName') === undefined ? undefined : true),
    );
    await rig.found(ofMachines, (machine) =>
      textAt(machine, 'spec', 'bootstrap', 'dataSecretName') === '' ? undefined : true,
    );
    await report(bootstrap, 'Starting installation');
    await report(bootstrap, 'Waiting for control plane');
    await rig.found(ofControlPlane, (one) =>
      (one as OpenShiftControlPlane).status?.upToDateReplicas === 3 ? true : undefined,
    );
    await rig.found({ kind: clusters, ...place }, (one) =>
      partOf(one, 'status', 'initialization', 'controlPlaneInitialized') === true
        ? true
        : undefined,
    );
    const all = await rig.client.list(ofMachines);
    expect(all).toHaveLength(3);
    expect(
      all
        .filter(({ metadata }) => metadata.annotations?.[ownNames.role] === 'bootstrap')
        .map(hostName),
    ).toEqual([bootstrap]);
    const clones = await rig.client.list({ kind: devMachines, ...place });
    expect(clones.map((one) => one.metadata.annotations?.[capiNames.clonedFromName])).toEqual(
      Array.from({ length: 3 }, () => 'masters'),
    );

    for (const stage of ['Waiting for bootkube', 'Rebooting']) await report(bootstrap, stage);
    await rig.found(ofControlPlane, isTrue('BootstrapComplete'));
    const guest = clusterOf(await rig.kube.kubeconfigFor({ server: rig.guest.url }));
    const signal = AbortSignal.timeout(120_000);
    const labels = { 'node-role.kubernetes.io/master': '' };
    await guest.create({ kind: nodes }, { metadata: { name: bootstrap, labels } }, signal);
    const conditions = [{ type: 'Ready', status: 'True' }];
    const ready = {
      type: 'merge',
      subresource: 'status',
      body: { status: { conditions } },
    } as const;
    await guest.patch({ kind: nodes, name: bootstrap }, ready, signal);
    await rig.found(ofControlPlane, isTrue('Available'));
    await rig.found(ofControlPlane, isTrue('ConfigServerAvailable'));
    await rig.found(
      { kind: bootstrapConfigs, ...place, fieldSelector: `metadata.name=${bootstrap}` },
      (config) => (textAt(config, 'status', 'progress', 'stage') === 'Done' ? true : undefined),
    );
    await guest.close();

    await rig.client.remove({ kind: clusters, ...place, name: cluster });
    await rig.gone({ kind: clusters, ...place, name: cluster });
    expect(await rig.client.list(ofMachines)).toEqual([]);
    expect(await rig.client.list({ kind: controlPlanes, ...place })).toEqual([]);
  });

  it.each(providers)(
    'is asked about by the %s provider in its own namespace alone',
    async (provider) => {
      const { namespace, name } = accountOf(provider);
      const asked = await rig.kube.audited(`system:serviceaccount:${namespace}:${name}`);
      expect(asked.filter(({ status }) => status === 403)).toEqual([]);
      const elsewhere = asked.filter((one) => ![cluster, namespace].includes(one.namespace));
      expect([...new Set(elsewhere.map(({ verb, resource }) => `${verb} ${resource}`))]).toEqual(
        provider === 'bootstrap' ? [] : ['get customresourcedefinitions'],
      );
    },
  );
});
