import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { KubeRefusal, type WatchEvent } from '../../mocks/kube/transport.ts';
import {
  certificateSigningRequests,
  etcds,
  machineConfigs,
  nodes,
  pods,
  serviceAccounts,
} from '../../src/cluster/kinds.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { quickClock } from '../support/quick-clock.ts';
import { clusterOf, hostClient, nodeOf, serviceAccountOf, signingRequest } from './rig.ts';
import { clusterOperators } from '../support/cluster-objects.ts';

const TIMEOUT_MILLIS = 1500;

describe('a rig with all kinds', () => {
  let kube: Kube;
  beforeAll(async () => {
    kube = await startRig();
  });
  afterAll(() => kube.close());

  it('creates a node and reads it back', async () => {
    await kube.client.create(nodes, nodeOf('m0'));
    const read = await kube.client.get({ kind: nodes, name: 'm0' });
    expect(read?.metadata.uid).toBeTypeOf('string');
    const names = (await kube.client.list({ kind: nodes })).map(({ metadata }) => metadata.name);
    expect(names).toContain('m0');
    await expect(kube.client.get({ kind: nodes, name: 'none' })).resolves.toBeUndefined();
  });

  it.each([
    ['Etcd', etcds],
    ['MachineConfig', machineConfigs],
    ['ClusterOperator', clusterOperators],
  ])('serves %s', async (_, kind) => {
    await expect(kube.client.list({ kind })).resolves.toEqual([]);
  });

  it('refuses what a kind does not allow', async () => {
    const wrong = { ...nodeOf('Not A Name') };
    await expect(kube.client.create(nodes, wrong)).rejects.toMatchObject({
      status: 422,
      reason: 'Invalid',
    });
  });

  it('applies, merges, replaces a status and removes', async () => {
    const ref = { kind: clusterOperators, name: 'etcd' };
    const operator: KubeObject = {
      apiVersion: 'config.openshift.io/v1',
      kind: 'ClusterOperator',
      metadata: { name: 'etcd' },
      spec: {},
    };
    await kube.client.apply(clusterOperators, operator);
    await kube.client.apply(clusterOperators, operator);
    await kube.client.merge(ref, { metadata: { labels: { a: 'b' } } });
    const condition = {
      type: 'Available',
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await kube.client.replaceStatus(ref, { conditions: [condition] });
    await kube.client.mergeStatus(ref, { versions: [{ name: 'operator', version: '4.20.0' }] });
    await expect(kube.client.get(ref)).resolves.toMatchObject({
      metadata: { labels: { a: 'b' } },
      status: { conditions: [condition], versions: [{ version: '4.20.0' }] },
    });
    await kube.client.remove(ref);
    await kube.client.remove(ref);
    await expect(kube.client.get(ref)).resolves.toBeUndefined();
  });

  it('watches what is created', async () => {
    const stopped = new AbortController();
    const seen: string[] = [];
    const { signal } = stopped;
    const following = (async () => {
      for await (const { type, object } of kube.client.watch({ kind: nodes }, { signal }))
        seen.push(`${type} ${object.metadata.name}`);
    })();
    await kube.client.create(nodes, nodeOf('watched'));
    await expect.poll(() => seen).toContain('ADDED watched');
    stopped.abort();
    await following;
  });

  it('takes a user without rights for what it is', async () => {
    const kubeconfig = await kube.kubeconfigFor({ user: { name: 'nobody' } });
    const client = hostClient(kubeconfig);
    await expect(client.list({ kind: nodes })).rejects.toMatchObject({ status: 403 });
    await client.close();
  });

  it('refuses the certificates of administrators for as long as it is told, and no others', async () => {
    const client = hostClient(kube.kubeconfig);
    await client.list({ kind: nodes });
    await kube.refuseAdmins(true);
    await expect(client.list({ kind: nodes })).rejects.toMatchObject({ status: 401 });
    await expect(kube.client.list({ kind: nodes })).resolves.toBeDefined();
    await kube.refuseAdmins(false);
    await expect(client.list({ kind: nodes })).resolves.toBeDefined();
    await client.close();
  });

  it('lets no pod in whose service account is missing', async () => {
    const metadata = { name: 'p', namespace: 'default' };
    const spec = { containers: [{ name: 'c', image: 'i' }], serviceAccountName: 'missing' };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
    await expect(kube.client.create(pods, pod)).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('serviceaccount "missing" not found') as string,
    });
  });

  it('knows a service account by its token', async () => {
    const account = { namespace: 'default', serviceAccount: 'reader' };
    await expect(kube.kubeconfigFor({ user: account })).rejects.toMatchObject({ status: 404 });
    await kube.client.create(serviceAccounts, serviceAccountOf('default', 'reader'));
    const reader = clusterOf(await kube.kubeconfigFor({ user: account }), quickClock(20));
    const { signal } = new AbortController();
    await expect(reader.get({ kind: nodes, name: 'm0' }, signal)).rejects.toMatchObject({
      code: 'kube.denied',
      message: expect.stringContaining('system:serviceaccount:default:reader') as string,
    });
    await reader.close();
  });

  it('does not answer when frozen, and continues when thawed', async () => {
    await kube.api.freeze();
    const signal = AbortSignal.timeout(TIMEOUT_MILLIS);
    await expect(kube.api.client.read('/readyz', signal)).rejects.toThrow(/timeout/);
    await kube.api.thaw();
    await expect.poll(() => kube.api.client.read('/readyz')).toBe('ok');
  });

  it.each(['kill', 'stop'] as const)('keeps its data over a %s and a start', async (end) => {
    const name = `kept-${end}`;
    await kube.client.create(nodes, nodeOf(name));
    await kube.api[end]();
    expect(kube.api.isRunning()).toBe(false);
    await expect(kube.client.list({ kind: nodes })).rejects.toThrow('fetch failed');
    await kube.api.start();
    await expect(kube.client.get({ kind: nodes, name })).resolves.toMatchObject({
      metadata: { name },
    });
  });

  it('keeps its data when etcd is killed', async () => {
    await kube.client.create(nodes, nodeOf('kept-etcd'));
    await kube.etcd.kill();
    await kube.etcd.start();
    await expect
      .poll(() => kube.client.get({ kind: nodes, name: 'kept-etcd' }))
      .toMatchObject({ metadata: { name: 'kept-etcd' } });
  });

  it('answers an old watch with 410 once its history is compacted', async () => {
    const { metadata } = await kube.client.create(nodes, nodeOf('old'));
    for (const label of ['1', '2', '3'])
      await kube.client.merge({ kind: nodes, name: 'old' }, { metadata: { labels: { label } } });
    await kube.compact();
    await kube.api.restart();
    const events: WatchEvent[] = [];
    const { signal } = new AbortController();
    const resourceVersion = metadata.resourceVersion ?? '';
    for await (const event of kube.client.watch({ kind: nodes }, { resourceVersion, signal }))
      events.push(event);
    expect(events).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
  });

  it('issues certificates once a controller manager runs', async () => {
    const ref = { kind: certificateSigningRequests, name: 'csr-1' };
    const request = await signingRequest('csr-1', 'm0');
    const created = await kube.client.create(ref.kind, request);
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'a test' }];
    await kube.client.replace(ref, { ...created, status: { conditions } }, 'approval');
    const manager = await kube.startControllerManager();
    const certificate = async () =>
      ((await kube.client.get(ref))?.['status'] as { certificate?: string } | undefined)
        ?.certificate;
    await expect.poll(certificate).toBeTypeOf('string');
    await manager.stop();
    expect(manager.isRunning()).toBe(false);
  });
});

describe('a rig seen by a host', () => {
  let kube: Kube;
  beforeAll(async () => {
    kube = await startRig({ crds: ['etcds', 'machineconfigs'] });
  });
  afterAll(() => kube.close());

  it('serves only the kinds that were asked for', async () => {
    await expect(kube.client.list({ kind: etcds })).resolves.toEqual([]);
    await expect(kube.client.list({ kind: machineConfigs })).resolves.toEqual([]);
    await expect(kube.client.list({ kind: clusterOperators })).rejects.toBeInstanceOf(KubeRefusal);
  });

  it('hears nothing behind a partition, and everything after it', async () => {
    const client = hostClient(kube.kubeconfig);
    await client.list({ kind: nodes });
    kube.forwarder.partition();
    let isAnswered = false;
    const asked = client.list({ kind: nodes }).finally(() => (isAnswered = true));
    await kube.client.create(nodes, nodeOf('behind'));
    expect(isAnswered).toBe(false);
    kube.forwarder.heal();
    await expect(asked).resolves.toMatchObject([{ metadata: { name: 'behind' } }]);
    await client.close();
  });

  it('is answered by the final server at the same address when the first one is gone', async () => {
    const client = hostClient(kube.kubeconfig);
    await kube.client.create(nodes, nodeOf('handed-over'));
    const final = await kube.startFinal();
    kube.forwarder.moveTo(final);
    await kube.api.kill();
    // What it had open to the first one may break once.
    await expect
      .poll(() => client.get({ kind: nodes, name: 'handed-over' }))
      .toMatchObject({ metadata: { name: 'handed-over' } });
    await expect(kube.client.get({ kind: nodes, name: 'handed-over' })).resolves.toBeDefined();
    await client.close();
  });
});

describe('the end of a rig', () => {
  it('leaves nothing that runs or lies about', async () => {
    const kube = await startRig({ crds: [] });
    const final = await kube.startFinal();
    await kube.close();
    expect([kube.api, kube.etcd, final].map(({ isRunning }) => isRunning())).toEqual([
      false,
      false,
      false,
    ]);
    expect(existsSync(kube.folder)).toBe(false);
    await kube.close();
  });
});
