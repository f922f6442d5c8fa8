import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, statusesOf } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { etcdCluster, overridePatch } from '../../cluster/etcd.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { configMaps } from '../../kube/kinds.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { leaveRecord, parseAddresses } from './leave-record.ts';
import { recordRef } from './left-record.ts';

describe('cluster/leave-record', () => {
  const config = {
    role: 'bootstrap',
    service: { url: 'http://svc.example' },
    cluster: { id: 'c', hostId: 'h0', openshiftVersion: '4.18.1' },
    images: { self: 'quay.io/b:v1', controller: 'quay.io/b:v1' },
  } satisfies ConfigInput;

  const own = inventoryHost({ id: 'h0', name: 'M0', addresses: ['192.0.2.7', '192.0.2.7'] });
  const world = () => ({
    config,
    kube: fakeKube(),
    host: fakeHost(),
    inventory: fakeInventory({ hosts: [inventoryHost({ id: 'h1', name: 'm1' }), own] }),
  });

  const recordIn = (kube: FakeKube): unknown => kube.objectsOf(configMaps)[0]?.['data'];

  const foreign = { self: 'quay.io/b:v1', controller: 'quay.io/other:v2' };

  it('creates only the record for the controller', async () => {
    const run = world();
    await runStep(leaveRecord, run);
    expect(run.kube.writes.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual([
      'create configmaps',
    ]);
    const { metadata } = run.kube.objectsOf(configMaps)[0]!;
    expect([metadata.namespace, metadata.name]).toEqual([
      'assisted-installer',
      'bootwright-bootstrap-host',
    ]);
    expect(recordIn(run.kube)).toMatchObject({
      node: 'm0',
      addresses: '192.0.2.7',
      etcdOverridden: 'false',
    });
    const { hosts } = recordIn(run.kube) as { readonly hosts: string };
    expect(JSON.parse(hosts)).toMatchObject([
      { name: 'm0', addresses: ['192.0.2.7'] },
      { name: 'm1' },
    ]);
  });

  it('changes nothing when it is run again', async () => {
    const run = world();
    await runStep(leaveRecord, run);
    const before = run.kube.writes.length;
    await runStep(leaveRecord, run);
    expect(run.kube.writes.slice(before)).toEqual([]);
  });

  it('corrects the record of an earlier attempt', async () => {
    const run = world();
    await runStep(leaveRecord, run);
    const { signal } = new AbortController();
    const late = { type: 'merge', body: { data: { node: 'late' } } } as const;
    await run.kube.patch(recordRef, late, signal);
    await runStep(leaveRecord, run);
    expect(recordIn(run.kube)).toMatchObject({ node: 'm0' });
  });

  it('records that etcd is overridden', async () => {
    const run = world();
    run.kube.put(etcdCluster.kind, { metadata: { name: 'cluster' }, spec: {} });
    await run.kube.patch(etcdCluster, overridePatch(null), new AbortController().signal);
    await runStep(leaveRecord, run);
    expect(recordIn(run.kube)).toMatchObject({ etcdOverridden: 'true' });
  });

  it.each<[string, ReturnType<typeof fakeInventory>]>([
    ['has no such host', fakeInventory({ hosts: [] })],
    [
      'does not answer',
      fakeInventory().failing('enabledHosts', inventoryFailure('inventory.unreachable', 'down')),
    ],
  ])('reads the name and addresses from the host when the service %s', async (_, inventory) => {
    const run = { ...world(), inventory };
    run.host.withFile('/proc/sys/kernel/hostname', 'Live-1\n');
    const output = [{ addr_info: [{ family: 'inet', local: '192.0.2.9', prefixlen: 24 }] }];
    run.host
      .on(['ip', '-json', 'address', 'show', 'scope', 'global'])
      .prints(JSON.stringify(output));
    await runStep(leaveRecord, run);
    expect(recordIn(run.kube)).toMatchObject({ node: 'live-1', addresses: '192.0.2.9' });
  });

  it('waits at most 30 s for an unreachable service', async () => {
    const clock = fakeClock();
    const inventory = fakeInventory();
    const enabledHosts: typeof inventory.enabledHosts = async (signal) => {
      await clock.sleep(minutes(10), signal);
      return [];
    };
    const run = { ...world(), clock, inventory: { ...inventory, enabledHosts } };
    run.host.withFile('/proc/sys/kernel/hostname', 'live-1\n');
    await runStep(leaveRecord, run);
    expect(recordIn(run.kube)).toMatchObject({ node: 'live-1' });
    expect(clock.now()).toBe(seconds(30));
  });

  it.each<[string, ConfigInput, string]>([
    [
      'another controller',
      { ...config, images: foreign },
      'the controller is quay.io/other:v2, and not this program, quay.io/b:v1',
    ],
    [
      'an unknown image of this program',
      { ...config, images: { controller: 'quay.io/b:v1' } },
      'the controller is quay.io/b:v1, and the image of this program is unknown',
    ],
    [
      'neither a service nor an image',
      { ...config, images: {}, service: { url: '' } },
      'there is no service, and the image of this program is unknown',
    ],
  ])('is skipped with %s and gives the reason', async (_, other, why) => {
    const run = { ...world(), config: other };
    const { events } = await runStep(leaveRecord, run);
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
    expect(JSON.stringify(events)).toContain(why);
    expect(run.kube.writes).toEqual([]);
  });

  it('is retried for 9 minutes while the API server is unreachable', async () => {
    const clock = fakeClock({ auto: false });
    const run = { ...world(), clock };
    run.kube.lastError(kubeFailure('kube.unreachable', 'connection refused'));
    const end = runStep(leaveRecord, run);
    await clock.advance(minutes(9));
    expect(recordIn(run.kube)).toBeUndefined();
    run.kube.lastError(undefined);
    await clock.advance(minutes(1));
    const { events, notes } = await end;
    expect(recordIn(run.kube)).toMatchObject({ node: 'm0' });
    expect(statusesOf(events)).toEqual([
      'the record of this host is not in the cluster yet (kube.unreachable)',
    ]);
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([]);
  });

  it('gives up at once when the API server rejects the record', async () => {
    const clock = fakeClock();
    const invalid = kubeFailure('kube.invalid', 'no', { context: { status: 422 } });
    const run = { ...world(), clock };
    run.kube.lastError(invalid);
    const { notes } = await runStep(leaveRecord, run);
    expect([clock.now(), notes.length]).toEqual([0, 1]);
  });

  it.each<[string, string, string, (run: ReturnType<typeof world>) => void]>([
    [
      'after 15 minutes',
      'an API server that does not answer',
      'wait.timed-out',
      ({ kube }) => kube.lastError(kubeFailure('kube.unreachable', 'down')),
    ],
    [
      'at once',
      'a record that is not corrected',
      'cluster.record-not-left',
      ({ kube }) => {
        const { kind, ...metadata } = recordRef;
        kube.put(kind, { metadata, data: {} });
        Object.assign(kube, { patch: () => Promise.resolve(kube.objectsOf(kind)[0]) });
      },
    ],
  ])('only warns %s about %s', async (...[when, , code, prepare]) => {
    const clock = fakeClock();
    const run = { ...world(), clock };
    prepare(run);
    const { notes, events } = await runStep(leaveRecord, run);
    expect(notes).toEqual([expect.stringMatching(/^warn: could not write the record ConfigMap/)]);
    expect(JSON.stringify(events)).toContain(code);
    expect(clock.now()).toBe(when === 'at once' ? 0 : minutes(15));
  });
});

describe('parseAddresses', () => {
  const link = (...addresses: readonly object[]) => ({ ifname: 'x', addr_info: addresses });
  const v4 = (local: string, prefixlen: number, dynamic?: boolean) => ({
    family: 'inet',
    local,
    prefixlen,
    scope: 'global',
    ...(dynamic === undefined ? {} : { dynamic }),
  });
  const v6 = (local: string, prefixlen: number, dynamic?: boolean) => ({
    ...v4(local, prefixlen, dynamic),
    family: 'inet6',
  });

  it.each<[string, unknown, readonly string[]]>([
    [
      'the addresses of every link',
      [link(v4('192.0.2.7', 24)), link(v6('2001:db8::7', 64))],
      ['192.0.2.7', '2001:db8::7'],
    ],
    ['a leased /128 address', [link(v6('2001:db8::7', 128, true))], ['2001:db8::7']],
    [
      'addresses without the VIPs of keepalived',
      [link(v4('192.0.2.7', 24), v4('192.0.2.1', 32), v6('2001:db8::1', 128))],
      ['192.0.2.7'],
    ],
    ['no addresses of links without addresses', [{ ifname: 'x' }, {}], []],
    ['no addresses without links', [], []],
    ['no addresses from other JSON', { addr_info: [] }, []],
  ])('returns %s', (_, output, addresses) => {
    expect(parseAddresses(JSON.stringify(output))).toEqual(addresses);
  });

  it('returns no addresses from unreadable output', () => {
    expect(parseAddresses('Object "x" is unknown')).toEqual([]);
  });
});
