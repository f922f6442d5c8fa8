import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { openTransport } from '../../mocks/kube/transport.ts';
import { etcdCluster, isOverridden, overridePatch } from '../../src/cluster/etcd.ts';
import { approved } from '../../src/cluster/csr/read-request.ts';
import { certificateSigningRequests, events as eventKind } from '../../src/kube/kinds.ts';
import { Config } from '../../src/config/schema.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { controllerManifests } from '../../src/steps/bootstrap/controller-manifests.ts';
import { recordRef } from '../../src/steps/cluster/left-record.ts';
import { attribute, der, pemOf, rawRequest, tags } from '../support/raw-request.ts';
import { putInstaller, putNode } from './new-cluster.ts';
import {
  askFor,
  leaveBehind,
  type PivotedCluster,
  putEtcdMember,
  startPivotedCluster,
  until,
  withoutService,
} from './pivoted-cluster.ts';
import { startProgram, transportOf } from './cluster-access.ts';

const namespace = 'assisted-installer';
const account = 'assisted-installer-controller';

let cluster: PivotedCluster;
let rig: Rig;
const programs: (() => unknown)[] = [];
const m0 = { name: 'm0', addresses: ['192.0.2.7/24', '2001:db8::7/64'] };
const stateOf = (name: string) => cluster.stateOf(name);

beforeAll(async () => {
  cluster = await startPivotedCluster();
  ({ rig } = cluster);
  await putInstaller(rig.client, 'openshift-installer');
});
afterAll(async () => {
  for (const kill of programs) kill();
  await cluster.close();
});

/** Sends an object unchanged; the server must know each of its fields. */
async function create(object: KubeObject): Promise<number> {
  const transport = openTransport(transportOf(rig.kubeconfig));
  const { apiVersion = '', kind = '', metadata } = object;
  const api = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies');
  const { status } = await transport.send({
    method: 'POST',
    path: `${api}${place}/${plural}?fieldValidation=Strict`,
    body: object,
  });
  await transport.close();
  return status;
}

/** Starts the controller as its job does without a service. */
async function start() {
  const user = { namespace, serviceAccount: account };
  const variables = { CLUSTER_ID: 'c', INVENTORY_URL: '', OPENSHIFT_VERSION: '4.18.1' };
  const program = await startProgram(rig, user, ['controller'], variables);
  programs.push(program.kill);
  return program;
}

describe('the controller without a service, on a real API server', () => {
  it('is deployed by manifests with known fields only', async () => {
    const files = controllerManifests(Config.parse(withoutService));
    const objects = files.map(({ content }) => parse(content) as KubeObject);
    const order = (one: KubeObject): number => (one.kind === 'Namespace' ? 0 : 1);
    for (const object of objects.toSorted((one, other) => order(one) - order(other))) {
      expect(await create(object), object.kind).toBe(201);
    }
    expect(objects.map(({ kind }) => kind)).toContain('Job');
  });

  it('keeps the record for its successor when it is stopped', async () => {
    await rig.client.merge(etcdCluster, overridePatch(null).body);
    const { kill, ended } = await start();
    await until(async () => {
      const event = { name: 'AssistedControllerIsReady', namespace };
      return (await rig.client.get({ kind: eventKind, ...event })) !== undefined;
    });
    await leaveBehind(cluster.admin);
    const before = await rig.client.get(recordRef);
    await leaveBehind(cluster.admin);
    expect(await rig.client.get(recordRef)).toEqual(before);
    expect(before?.['data']).toMatchObject({
      node: 'm0',
      addresses: '192.0.2.7,2001:db8::7',
      etcdOverridden: 'true',
    });
    // The API server accepts a subject of more parts, and line breaks in a name.
    const user = [
      attribute('organization', 'system:nodes'),
      attribute('commonName', 'system:node:m0'),
      attribute('organization', 'x'),
    ];
    const subject = user.map((one) => der(tags.set, one));
    const pem = pemOf(rawRequest({ subject }));
    await askFor('client', 'odd-client', { at: cluster, node: 'm0', pem });
    await askFor('client', 'odd\nclient', { at: cluster, node: 'm0', pem });
    await askFor('client', 'own-client', { at: cluster, node: 'm0' });
    await until(async () => (await stateOf('own-client')) === 'approved');
    kill('SIGTERM');
    expect(await ended).toEqual([143, null]);
    expect(await rig.client.get(recordRef)).toEqual(before);
  });

  it('approves only the bootstrap host, reverts the etcd override and ends', async () => {
    const odd = { kind: certificateSigningRequests, name: 'odd-client' };
    const why = { reason: 'Any', message: 'by another', at: Date.now() };
    const { signal } = new AbortController();
    const approval = approved((await cluster.requestOf(odd.name))!, why);
    await cluster.admin.replace(odd, approval, { subresource: 'approval', signal });
    const { ended, log } = await start();
    await askFor('client', 'foreign-client', { at: cluster, node: 'm9' });
    await askFor('client', 'second-client', { at: cluster, node: 'm0' });
    // Its host may have been installed again.
    await until(async () => (await stateOf('second-client')) === 'approved');
    await putNode(rig.client, { ...m0, isReady: false });
    const forged = ['m0', '192.0.2.7', '192.0.2.1'];
    await askFor('serving', 'forged-serving', { at: cluster, node: 'm0', names: forged });
    const foreign = ['m9', '192.0.2.7'];
    await askFor('serving', 'foreign-serving', { at: cluster, node: 'm9', names: foreign });
    const own = ['m0', '192.0.2.7', '2001:db8::7'];
    await askFor('serving', 'own-serving', { at: cluster, node: 'm0', names: own });
    await until(async () => (await stateOf('own-serving')) === 'approved');
    for (const member of ['m1', 'm2', 'm3']) await putEtcdMember(rig.client, member);
    await putNode(rig.client, { ...m0, isReady: true });
    const exit = await ended;
    expect(exit, log()).toEqual([0, null]);

    const left = ['odd\nclient', 'forged-serving', 'foreign-client', 'foreign-serving'];
    for (const name of left) expect(await stateOf(name), name).toBe('pending');
    const etcd = await rig.client.get(etcdCluster);
    expect(etcd !== undefined && isOverridden(etcd)).toBe(false);
    expect(await rig.client.get(recordRef)).toBeUndefined();
  });

  it('gets its approved certificates signed', async () => {
    for (const name of ['own-client', 'own-serving']) {
      await until(async () => {
        const { status } = (await cluster.requestOf(name)) as unknown as {
          readonly status: { readonly certificate?: string };
        };
        return status.certificate !== undefined;
      });
    }
    expect((await cluster.requestOf('forged-serving'))?.['status']).toEqual({});
  });

  it('needs no other permissions', async () => {
    const asked = await rig.audited(`system:serviceaccount:${namespace}:${account}`);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter(({ status }) => status === 403)).toEqual([]);
  });
});
