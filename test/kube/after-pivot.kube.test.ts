import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Kube as Rig, startKube } from '../../mocks/kube/start.ts';
import { openTransport } from '../../mocks/kube/transport.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { noJournal } from '../../src/adapters/journal/no-journal.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { readKubeconfig } from '../../src/adapters/kube/kubeconfig.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import { nodeBootstrapper } from '../../src/cluster/csr/judge.ts';
import { readSigningRequest, type RequestPurpose } from '../../src/cluster/csr/signing-request.ts';
import { etcdCluster, isOverridden, overridePatch } from '../../src/cluster/etcd.ts';
import {
  certificateSigningRequests,
  clusterRoleBindings,
  configMaps,
  jobs,
  namespaces,
  nodes,
  pods,
  roleBindings,
  roles,
  serviceAccounts,
} from '../../src/cluster/kinds.ts';
import { Config, type ConfigInput } from '../../src/config/schema.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { runRole } from '../../src/engine/run.ts';
import type { KubeObject, KubeRef } from '../../src/ports/kube.ts';
import { afterPivot } from '../../src/roles/after-pivot.ts';
import { leaveFollowUp } from '../../src/steps/after-pivot/leave-job.ts';
import {
  clusterRoleManifest,
  clusterRoleRef,
  jobManifest,
  namespaceManifest,
  ownedManifests,
} from '../../src/steps/after-pivot/manifests.ts';
import { leftName, leftNamespace, recordRef } from '../../src/steps/after-pivot/record.ts';
import { fakeHost } from '../support/fake-host.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { alternativeNames, pkcs10, signingRequestObject } from '../support/kubelet-request.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf } from './cluster-of.ts';

const config = {
  role: 'bootstrap',
  service: { url: 'http://svc.example' },
  cluster: { id: 'c', hostId: 'h0', openshiftVersion: '4.18.1' },
  images: { self: 'quay.io/b:v1' },
  bootstrap: { followUp: 'always' },
} satisfies ConfigInput;
const host = inventoryHost({ id: 'h0', name: 'm0', addresses: ['192.0.2.7', '2001:db8::7'] });

const { signal } = new AbortController();
let rig: Rig;
let admin: KubeCluster;
const open: KubeCluster[] = [];

beforeAll(async () => {
  rig = await startKube({ crds: ['etcds'] });
  admin = opened(rig.kubeconfig);
  await rig.startControllerManager();
  await rig.client.apply(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'openshift-etcd' },
  });
  await rig.client.apply(etcdCluster.kind, {
    apiVersion: 'operator.openshift.io/v1',
    kind: 'Etcd',
    metadata: { name: 'cluster' },
    spec: { managementState: 'Managed' },
  });
  await rig.client.apply(clusterRoleBindings, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'bootstrapper' },
    roleRef: roleRef('system:node-bootstrapper'),
    subjects: [{ kind: 'User', name: nodeBootstrapper.username, apiGroup: rbac }],
  });
});
afterAll(async () => {
  for (const one of open) await one.close();
  await rig.close();
});

const rbac = 'rbac.authorization.k8s.io';
const roleRef = (name: string) => ({ apiGroup: rbac, kind: 'ClusterRole', name });

function opened(kubeconfig: string): KubeCluster {
  const cluster = clusterOf(kubeconfig);
  open.push(cluster);
  return cluster;
}

const clusterAs = async (name: string, groups: readonly string[]): Promise<KubeCluster> =>
  opened(await rig.kubeconfigFor({ user: { name, groups } }));

/** Asks for a certificate as a kubelet does. */
async function ask(
  purpose: RequestPurpose,
  name: string,
  { node, names = [] }: { readonly node: string; readonly names?: readonly string[] },
): Promise<void> {
  const { username, groups } = nodeBootstrapper;
  const asker =
    purpose === 'client'
      ? await clusterAs(username, groups)
      : await clusterAs(`system:node:${node}`, ['system:nodes']);
  const pem = await pkcs10({
    subject: `O=system:nodes, CN=system:node:${node}`,
    names: alternativeNames(...names),
  });
  // The API server itself writes who asks.
  const spec = { username: undefined, groups: undefined };
  const object = { ...signingRequestObject(purpose, pem, { name, spec }), metadata: { name } };
  await asker.create({ kind: certificateSigningRequests }, object, signal);
}

async function until(what: () => Promise<boolean>): Promise<void> {
  const limit = AbortSignal.timeout(30_000);
  while (!(await what())) await systemClock.sleep(100, limit);
}

const requestOf = async (name: string): Promise<KubeObject | undefined> =>
  rig.client.get({ kind: certificateSigningRequests, name });
const stateOf = async (name: string): Promise<string | undefined> => {
  const object = await requestOf(name);
  return object && readSigningRequest(object)?.state;
};

async function putNode(isReady: boolean): Promise<void> {
  await rig.client.apply(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm0' } });
  const at = '2026-11-21T00:00:00Z';
  const ready = {
    type: 'Ready',
    status: isReady ? 'True' : 'False',
    reason: 'x',
    message: 'x',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  };
  await rig.client.mergeStatus({ kind: nodes, name: 'm0' }, { conditions: [ready] });
}

async function putEtcdMember(name: string): Promise<void> {
  await rig.client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `etcd-${name}`, namespace: 'openshift-etcd', labels: { app: 'etcd' } },
    spec: { nodeName: name, containers: [{ name: 'etcd', image: 'quay.example/etcd:1' }] },
  });
  const ref = { kind: pods, name: `etcd-${name}`, namespace: 'openshift-etcd' };
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-21T00:00:00Z' };
  await rig.client.mergeStatus(ref, { phase: 'Running', conditions: [ready] });
}

const leaveIt = () =>
  runStep(leaveFollowUp, {
    config,
    kube: admin,
    host: fakeHost(),
    inventory: fakeInventory({ hosts: [host] }),
    clock: systemClock,
  });

const left = { node: 'm0', addresses: ['192.0.2.7'], role: 'master', isEtcdOverridden: false };
const record = { ...left, images: [] };
const manifests = [
  namespaceManifest,
  clusterRoleManifest([]),
  ...ownedManifests({ record, ownerUid: '11111111-2222-3333-4444-555555555555' }),
  jobManifest({ image: 'quay.io/b:v1', openshiftVersion: '4.18.1' }),
  jobManifest({ image: 'quay.io/b:v1', openshiftVersion: '4.6' }),
];

describe('what is left in the cluster, on a real API server', () => {
  beforeAll(async () => {
    await rig.client.apply(namespaces, namespaceManifest.object);
  });

  it.each(manifests)('is a $object.kind in which the server knows every field', async (one) => {
    const access = readKubeconfig(rig.kubeconfig);
    const transport = openTransport({
      url: () => access.server,
      ca: access.ca ?? '',
      user: { certificate: access.certificate ?? '', key: access.key?.reveal() ?? '' },
    });
    const { kind, namespace } = one.ref;
    const api = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
    const place = namespace === undefined ? '' : `/namespaces/${namespace}`;
    const query = 'fieldValidation=Strict&dryRun=All';
    const name = { ...one.object.metadata, name: `${one.ref.name}-strict` };
    const answer = await transport.send({
      method: 'POST',
      path: `${api}${place}/${kind.plural}?${query}`,
      body: { ...one.object, metadata: name },
    });
    expect(answer.status).toBe(201);
    await transport.close();
  });

  it('is there after the step, and after the step again', async () => {
    await leaveIt();
    const before = await rig.client.get(recordRef);
    await leaveIt();
    expect(await rig.client.get(recordRef)).toEqual(before);
    expect(before?.['data']).toMatchObject({ node: 'm0', addresses: '192.0.2.7,2001:db8::7' });
    const job = await rig.client.get({ kind: jobs, name: leftName, namespace: leftNamespace });
    expect(job?.metadata.uid).toBeTypeOf('string');
  });
});

describe('the role after-pivot on a real API server', () => {
  it('follows the host with no rights but its own, and takes itself away', async () => {
    await rig.client.merge(etcdCluster, overridePatch(null).body);
    await leaveIt();
    const own = await clusterAs(`system:serviceaccount:${leftNamespace}:${leftName}`, [
      'system:serviceaccounts',
      `system:serviceaccounts:${leftNamespace}`,
    ]);
    const events: RunEvent[] = [];
    const run = runRole({
      role: afterPivot,
      config: Config.parse({}),
      ports: { kube: own, clock: systemClock, random: systemRandom },
      clock: systemClock,
      journal: noJournal,
      header: { version: '1', fingerprint: 'f', bootId: 'b' },
      run: 'test',
      sinks: [(event) => events.push(event)],
      signal,
    });

    await ask('client', 'foreign-client', { node: 'm9' });
    await ask('client', 'own-client', { node: 'm0' });
    await until(async () => (await stateOf('own-client')) === 'approved');
    await ask('client', 'second-client', { node: 'm0' });
    await putNode(false);
    await ask('serving', 'forged-serving', { node: 'm0', names: ['m0', '192.0.2.7', '192.0.2.1'] });
    await ask('serving', 'foreign-serving', { node: 'm9', names: ['m9', '192.0.2.7'] });
    await ask('serving', 'own-serving', { node: 'm0', names: ['m0', '192.0.2.7', '2001:db8::7'] });
    await until(async () => (await stateOf('own-serving')) === 'approved');
    for (const member of ['m1', 'm2', 'm3']) await putEtcdMember(member);
    await putNode(true);
    await run;

    const states = ['own-client', 'own-serving', 'second-client', 'forged-serving'].map(stateOf);
    expect(await Promise.all(states)).toEqual(['approved', 'approved', 'pending', 'pending']);
    const others = ['foreign-client', 'foreign-serving'].map(stateOf);
    expect(await Promise.all(others)).toEqual(['pending', 'pending']);
    const etcd = await rig.client.get(etcdCluster);
    expect(etcd !== undefined && isOverridden(etcd)).toBe(false);
    const warnings = events.filter((event) => event.type === 'note' && event.level === 'warn');
    expect(warnings.map((event) => 'message' in event && event.message)).toEqual([
      expect.stringContaining('request second-client') as string,
      expect.stringContaining('request forged-serving') as string,
    ]);
  });

  it('has its certificates signed', async () => {
    for (const name of ['own-client', 'own-serving']) {
      await until(async () => {
        const { status } = (await requestOf(name)) as unknown as {
          readonly status: { readonly certificate?: string };
        };
        return status.certificate !== undefined;
      });
    }
    expect((await requestOf('forged-serving'))?.['status']).toEqual({});
  });

  it('leaves nothing behind but its job', async () => {
    const place = { name: leftName, namespace: leftNamespace };
    const gone: readonly KubeRef[] = [
      clusterRoleRef,
      { kind: clusterRoleBindings, name: leftName },
      { kind: configMaps, ...place },
      { kind: serviceAccounts, ...place },
      ...[roles, roleBindings].flatMap((kind) => [
        { kind, ...place },
        { kind, name: leftName, namespace: 'openshift-etcd' },
      ]),
    ];
    await until(async () => {
      const found = await Promise.all(gone.map((ref) => rig.client.get(ref)));
      return found.every((object) => object === undefined);
    });
    expect(await rig.client.get({ kind: jobs, ...place })).toBeDefined();
  });
});

describe('the command after-pivot', () => {
  const started: ChildProcess[] = [];
  afterAll(() => {
    for (const program of started) program.kill('SIGKILL');
  });

  const start = async () => {
    const file = join(rig.folder, 'for-the-command.kubeconfig');
    await writeFile(file, rig.kubeconfig);
    const main = resolve(import.meta.dirname, '../../src/main.ts');
    const argv = [main, 'after-pivot', '--kubeconfig', file];
    const program = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
    started.push(program);
    return {
      stop: () => program.kill('SIGTERM'),
      ended: Promise.all([text(program.stdout), text(program.stderr), once(program, 'exit')]),
    };
  };

  it('ends well where no host is waited for', async () => {
    const { ended } = await start();
    const [log, complaints, exit] = await ended;
    expect({ complaints, exit }).toEqual({ complaints: '', exit: [0, null] });
    const lines = log.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({ step: 'after-pivot/remove-record', msg: 'step finished' }),
    );
  });

  it('is stopped within four seconds, and leaves everything to the next run', async () => {
    // The requests that were approved hold the key that the node is to have.
    await rig.client.remove({ kind: certificateSigningRequests, name: 'own-client' });
    await rig.client.remove({ kind: nodes, name: 'm0' });
    await leaveIt();
    await ask('client', 'late-client', { node: 'm0' });
    const { stop, ended } = await start();
    await until(async () => (await stateOf('late-client')) === 'approved');
    const since = performance.now();
    stop();
    const [, , exit] = await ended;
    expect(exit).toEqual([143, null]);
    expect(performance.now() - since).toBeLessThan(4000);
    expect((await rig.client.get(recordRef))?.['data']).toMatchObject({
      clientKey: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });
});
