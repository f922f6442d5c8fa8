import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { openTransport } from '../../mocks/kube/transport.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { noJournal } from '../../src/adapters/journal.ts';
import { readKubeconfig } from '../../src/adapters/kube/kubeconfig.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import { etcdCluster, isOverridden, overridePatch } from '../../src/cluster/etcd.ts';
import {
  certificateSigningRequests,
  clusterRoleBindings,
  configMaps,
  jobs,
  namespaces,
  nodes,
  roleBindings,
  roles,
  serviceAccounts,
} from '../../src/cluster/kinds.ts';
import { Config } from '../../src/config/schema.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { runRole } from '../../src/engine/run.ts';
import type { KubeRef } from '../../src/ports/kube.ts';
import { afterPivot } from '../../src/roles/after-pivot.ts';
import {
  clusterRoleManifest,
  clusterRoleRef,
  jobManifest,
  namespaceManifest,
  ownedManifests,
} from '../../src/steps/after-pivot/manifests.ts';
import { leftName, leftNamespace, recordRef } from '../../src/steps/after-pivot/record.ts';
import {
  askFor,
  leaveBehind,
  type PivotedCluster,
  putEtcdMember,
  putNode,
  startPivotedCluster,
  until,
} from './pivoted-cluster.ts';

const { signal } = new AbortController();
let cluster: PivotedCluster;
let rig: Rig;
const stateOf = (name: string) => cluster.stateOf(name);

beforeAll(async () => {
  cluster = await startPivotedCluster();
  ({ rig } = cluster);
});
afterAll(() => cluster.close());

const leaveIt = () => leaveBehind(cluster.admin);

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
    const own = await cluster.clusterOfPod(leftNamespace, leftName);
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

    await askFor('client', 'foreign-client', { at: cluster, node: 'm9' });
    await askFor('client', 'own-client', { at: cluster, node: 'm0' });
    await until(async () => (await stateOf('own-client')) === 'approved');
    await askFor('client', 'second-client', { at: cluster, node: 'm0' });
    await putNode(rig.client, false);
    await askFor('serving', 'forged-serving', {
      at: cluster,
      node: 'm0',
      names: ['m0', '192.0.2.7', '192.0.2.1'],
    });
    await askFor('serving', 'foreign-serving', {
      at: cluster,
      node: 'm9',
      names: ['m9', '192.0.2.7'],
    });
    await askFor('serving', 'own-serving', {
      at: cluster,
      node: 'm0',
      names: ['m0', '192.0.2.7', '2001:db8::7'],
    });
    await until(async () => (await stateOf('own-serving')) === 'approved');
    for (const member of ['m1', 'm2', 'm3']) await putEtcdMember(rig.client, member);
    await putNode(rig.client, true);
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
        const { status } = (await cluster.requestOf(name)) as unknown as {
          readonly status: { readonly certificate?: string };
        };
        return status.certificate !== undefined;
      });
    }
    expect((await cluster.requestOf('forged-serving'))?.['status']).toEqual({});
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

  it('ends well where there is no record of a bootstrap host', async () => {
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
    await askFor('client', 'late-client', { at: cluster, node: 'm0' });
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
