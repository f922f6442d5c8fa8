import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runInstallation } from '../../../test/support/run-installation.ts';
import { bareMetalHosts, machines, provisionings } from '../../kube/kinds.ts';
import { seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';

const namespace = 'openshift-machine-api';
const start = Date.parse('2026-11-23T08:00:00.250Z');

interface Sketch {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

const bmh = (name: string, { annotations = {}, spec = {}, status }: Sketch = {}): KubeObject => ({
  metadata: { name, namespace, annotations: { other: 'stays', ...annotations } },
  spec: { online: true, ...spec },
  ...(status === undefined ? {} : { status }),
});

const machine = (name: string, role = 'worker'): KubeObject => ({
  metadata: {
    name,
    namespace,
    labels: { 'machine.openshift.io/cluster-api-machine-role': role },
  },
});

const consumer = (name: string) => ({
  apiVersion: 'machine.openshift.io/v1beta1',
  kind: 'Machine',
  namespace,
  name,
});

/** A kind is served as soon as it has an object. */
function cluster(hosts: readonly KubeObject[], workers: readonly KubeObject[]): FakeKube {
  const kube = fakeKube();
  for (const one of hosts) kube.put(bareMetalHosts, one);
  for (const one of workers) kube.put(machines, one);
  return kube;
}

const provisioned = (kube: FakeKube): FakeKube =>
  kube.put(provisionings, { metadata: { name: 'provisioning-configuration' } });

function setUp(kube: FakeKube, platform = 'baremetal') {
  const clock = fakeClock({ start, auto: false });
  const only = ['register-bare-metal-hosts'];
  const { ids, stop } = runInstallation(only, { kube, clock, cluster: { platform } });
  const host = (name: string) =>
    kube.objectsOf(bareMetalHosts).find(({ metadata }) => metadata.name === name);
  /** Runs the controller until it has nothing more to do. */
  const finish = async () => {
    await clock.advance(seconds(5));
    return stop();
  };
  return { clock, finish, host, ids, kube, stop };
}

const statusText = JSON.stringify({ hardware: { cpu: 4 }, poweredOn: true });
const withStatus = { annotations: { 'baremetalhost.metal3.io/status': statusText } };
const written = { hardware: { cpu: 4 }, poweredOn: true, lastUpdated: '2026-11-23T08:00:00Z' };

describe('with a provisioning network', () => {
  it('marks a host as externally provisioned, unpauses it and assigns its machine', async () => {
    const paused = {
      'baremetalhost.metal3.io/paused': '',
      'baremetalhost.metal3.io/status': statusText,
    };
    const kube = provisioned(cluster([bmh('b0', { annotations: paused })], [machine('w-0')]));
    const { finish, host } = setUp(kube);
    expect((await finish()).statuses.at(-1)).toBe('the bare metal hosts are registered');
    expect(host('b0')?.metadata.annotations).toEqual({
      other: 'stays',
      'baremetalhost.metal3.io/status': statusText,
    });
    expect(host('b0')?.['spec']).toEqual({
      online: true,
      externallyProvisioned: true,
      consumerRef: consumer('w-0'),
    });
    expect(kube.writes.map(({ verb, subresource }) => [verb, subresource])).toEqual([
      ['patch', undefined],
    ]);
  });

  it.each([
    ['unmanaged', 1],
    ['', 1],
    ['provisioned', 0],
    ['inspecting', 0],
  ])('writes to a host in state %j %d times', async (state, changes) => {
    const host = bmh('b0', { status: { provisioning: { state } } });
    const kube = provisioned(cluster([host], [machine('w-0')]));
    await setUp(kube).finish();
    expect(kube.writes).toHaveLength(changes);
  });
});

describe('without a provisioning network', () => {
  it('restores the status from the annotation, removes it and assigns the machine', async () => {
    const { finish, host, kube } = setUp(cluster([bmh('b0', withStatus)], [machine('w-0')]));
    expect((await finish()).notes).toEqual(['info: BareMetalHost b0 is registered']);
    expect(host('b0')).toMatchObject({
      spec: { online: true, consumerRef: consumer('w-0') },
      status: written,
    });
    expect(host('b0')?.metadata.annotations).toEqual({ other: 'stays' });
    expect(kube.writes.map(({ subresource }) => subresource)).toEqual(['status', undefined]);
  });

  it('keeps the lastUpdated time of the status', async () => {
    const text = JSON.stringify({ lastUpdated: '2026-01-01T00:00:00Z' });
    const host = bmh('b0', { annotations: { 'baremetalhost.metal3.io/status': text } });
    const run = setUp(cluster([host], [machine('w-0')]));
    await run.finish();
    expect(run.host('b0')?.['status']).toEqual({ lastUpdated: '2026-01-01T00:00:00Z' });
  });

  it('writes the status once while no machine exists, and assigns the machine later', async () => {
    const masters = [machine('m-0', 'master')];
    const { clock, finish, host, kube } = setUp(cluster([bmh('b0', withStatus)], masters));
    await clock.advance(seconds(120));
    expect(host('b0')).toMatchObject({ status: written, spec: { online: true } });
    expect(host('b0')?.metadata.annotations).toHaveProperty('baremetalhost.metal3.io/status');
    expect(kube.writes).toHaveLength(1);
    kube.put(machines, machine('w-0'));
    await finish();
    expect(host('b0')?.['spec']).toMatchObject({ consumerRef: consumer('w-0') });
    expect(kube.writes).toHaveLength(2);
  });
});

describe('registering bare metal hosts', () => {
  it('assigns each machine to one host and keeps existing assignments', async () => {
    const hosts = [bmh('b0'), bmh('b1', { spec: { consumerRef: consumer('w-1') } }), bmh('b2')];
    const kube = cluster(hosts, [machine('w-0'), machine('w-1'), machine('w-2')]);
    const run = setUp(kube);
    await run.finish();
    expect(
      kube
        .objectsOf(bareMetalHosts)
        .map((one) => (one['spec'] as { consumerRef: unknown }).consumerRef),
    ).toEqual([consumer('w-0'), consumer('w-1'), consumer('w-2')]);
  });

  it('assigns no machine that is being deleted, and writes to no host that is', async () => {
    const deletionTimestamp = '2026-11-23T07:00:00Z';
    const leaving = (one: KubeObject): KubeObject => ({
      ...one,
      metadata: { ...one.metadata, deletionTimestamp },
    });
    const hosts = [leaving(bmh('b0', withStatus)), bmh('b1')];
    const run = setUp(cluster(hosts, [leaving(machine('w-0')), machine('w-1')]));
    await run.finish();
    expect(run.host('b0')).toMatchObject(hosts[0] ?? {});
    expect(run.host('b1')?.['spec']).toMatchObject({ consumerRef: consumer('w-1') });
  });

  it('does not wait for a host whose status cannot be read', async () => {
    const odd = bmh('b0', { annotations: { 'baremetalhost.metal3.io/status': '{' } });
    const kube = cluster([odd, bmh('b1')], [machine('w-0')]);
    const { clock, host } = setUp(kube);
    await clock.advance(seconds(5));
    expect(host('b1')?.['spec']).toMatchObject({ consumerRef: consumer('w-0') });
  });

  it.each([
    ['rejected with a conflict', kubeFailure('kube.conflict', 'changed'), 2],
    ['forbidden', kubeFailure('kube.denied', 'forbidden', { context: { status: 403 } }), 1],
  ])('retries only a conflict: a patch that is %s', async (_, failure, tries) => {
    const inner = cluster([bmh('b0')], [machine('w-0')]);
    let tried = 0;
    const kube: FakeKube = {
      ...inner,
      patch: (ref, patch, signal) => {
        tried += 1;
        return tried === 1 ? Promise.reject(failure) : inner.patch(ref, patch, signal);
      },
    };
    await setUp(kube).finish();
    expect(tried).toBe(tries);
  });

  it('does not write to a host that was recreated under the same name', async () => {
    const kube = cluster([bmh('b0', withStatus)], [machine('w-0')]);
    let patches = 0;
    kube.before('patch', () => {
      patches += 1;
      kube.drop({ kind: bareMetalHosts, namespace, name: 'b0' });
      kube.holdViews();
      kube.put(bareMetalHosts, bmh('b0'));
    });
    await setUp(kube).finish();
    expect(patches).toBeGreaterThan(0);
    expect(kube.writes).toEqual([]);
  });

  it('does not overwrite the status of a host whose annotation has been removed', async () => {
    const kube = cluster([bmh('b0', withStatus)], [machine('w-0')]);
    kube.before('patch', () => {
      kube.holdViews();
      kube.put(bareMetalHosts, bmh('b0', { status: { poweredOn: false } }));
    });
    const { finish, host } = setUp(kube);
    await finish();
    expect(host('b0')?.['status']).toEqual({ poweredOn: false });
  });

  it('keeps the machine that somebody else has just assigned', async () => {
    const kube = cluster([bmh('b0')], [machine('w-0'), machine('w-1')]);
    kube.before('patch', () => {
      kube.put(bareMetalHosts, bmh('b0', { spec: { consumerRef: consumer('w-1') } }));
    });
    const { finish, host } = setUp(kube);
    await finish();
    expect(host('b0')?.['spec']).toMatchObject({ consumerRef: consumer('w-1') });
  });

  it('does not run on another platform', () => {
    const { ids } = setUp(fakeKube(), 'none');
    expect(ids).not.toContain('controller/register-bare-metal-hosts');
  });
});
