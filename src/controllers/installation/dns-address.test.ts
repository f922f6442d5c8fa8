import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runInstallation } from '../../../test/support/run-installation.ts';
import { pods, services } from '../../cluster/kinds.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { dnsAddressOf } from './dns-address.ts';

describe('the address of the DNS service', () => {
  it.each([
    ['172.30.0.0/16', '172.30.0.10'],
    // Written otherwise than as a network: the one that is replaced takes 172.30.5.10.
    ['172.30.5.77/16', '172.30.0.10'],
    ['10.0.7.0/20', '10.0.0.10'],
    ['192.0.2.32/28', '192.0.2.42'],
    ['fd02::/112', 'fd02::a'],
    ['fd02:0:0:0::1:0/108', 'fd02::a'],
    ['FD02::FFFF/112', 'fd02::a'],
    ['2001:db8:1:2:3:4:5:6/64', '2001:db8:1:2::a'],
    ['172.30.0.0', undefined],
    ['172.30.0.0/29', undefined],
    ['172.30.0.0/99', undefined],
    ['fd02::/x', undefined],
    ['example.com/16', undefined],
    ['', undefined],
  ])('in %s is %s', (network, address) => {
    expect(dnsAddressOf(network)).toBe(address);
  });
});

const service = (namespace: string, name: string, clusterIP: string) => ({
  metadata: { namespace, name },
  spec: { clusterIP },
});

function setUp(kube: FakeKube = fakeKube(), network = '172.30.0.0/16') {
  const clock = fakeClock({ auto: false });
  const cluster = { serviceNetworks: [network] };
  const { ids, stop } = runInstallation(['free-dns-address'], { kube, clock, cluster });
  const written = () =>
    kube.writes.map(({ verb, namespace, name = '*' }) => `${verb} ${namespace}/${name}`);
  return { clock, ids, kube, stop, written };
}

describe('freeing the address', () => {
  it.each([
    ['172.30.0.0/16', '172.30.0.10'],
    ['fd02::/112', 'fd02::a'],
  ])('of %s removes the service that has it, and restarts the operator', async (network, taken) => {
    const kube = fakeKube()
      .put(services, service('default', 'other', '172.30.0.1'))
      .put(services, service('shop', 'cart', taken))
      .put(pods, { metadata: { namespace: 'openshift-dns-operator', name: 'dns-operator-1' } });
    const { stop, written } = setUp(kube, network);
    await settle();
    expect(written()).toEqual(['remove shop/cart', 'removeAll openshift-dns-operator/*']);
    kube.put(services, service('openshift-dns', 'dns-default', taken));
    await settle();
    await stop();
    expect(written()).toHaveLength(2);
  });

  it('leaves another service that has taken the name of the one that had it', async () => {
    const kube = fakeKube().put(services, service('shop', 'cart', '172.30.0.10'));
    kube.before('remove', () => {
      kube.drop({ kind: services, namespace: 'shop', name: 'cart' });
      kube.put(services, service('shop', 'cart', '172.30.0.99'));
    });
    const { clock, stop, written } = setUp(kube);
    await clock.advance(minutes(1));
    expect(kube.objectsOf(services)).toMatchObject([{ spec: { clusterIP: '172.30.0.99' } }]);
    expect(written()).toEqual([]);
    await stop();
  });

  it('removes the next one that gets it', async () => {
    const { clock, kube, stop, written } = setUp();
    await clock.advance(seconds(5));
    for (const name of ['a', 'b']) {
      kube.put(services, service('shop', name, '172.30.0.10'));
      await clock.advance(seconds(2));
    }
    expect(written().filter((one) => one.startsWith('remove shop'))).toEqual([
      'remove shop/a',
      'remove shop/b',
    ]);
    kube.put(services, service('openshift-dns', 'dns-default', '172.30.0.10'));
    await settle();
    await stop();
    expect(written().filter((one) => one.includes('openshift-dns/'))).toEqual([]);
  });

  it('removes a service once, however long the view still shows it', async () => {
    const taken = service('shop', 'cart', '172.30.0.10');
    const shown = { ...taken, metadata: { ...taken.metadata, uid: 'u1' } };
    let removals = 0;
    const kube: FakeKube = {
      ...fakeKube().put(services, shown),
      remove: () => {
        removals += 1;
        return Promise.resolve();
      },
    };
    const { clock, stop } = setUp(kube);
    await clock.advance(seconds(30));
    expect(removals).toBe(1);
    await stop();
  });

  it('tries a removal again that failed', async () => {
    const inner = fakeKube().put(services, service('shop', 'cart', '172.30.0.10'));
    let failures = 4;
    const kube: FakeKube = {
      ...inner,
      remove: (ref, signal) => {
        failures -= 1;
        if (failures >= 0) return Promise.reject(kubeFailure('kube.failed', 'no'));
        return inner.remove(ref, signal);
      },
    };
    const { clock, stop } = setUp(kube);
    await clock.advance(minutes(1));
    expect(inner.objectsOf(services)).toEqual([]);
    await stop();
  });

  it('asks once where it may remove no service', async () => {
    const inner = fakeKube().put(services, service('shop', 'cart', '172.30.0.10'));
    const denied = () =>
      Promise.reject(kubeFailure('kube.denied', 'services', { context: { status: 403 } }));
    const { clock, stop } = setUp({ ...inner, remove: denied });
    await clock.advance(seconds(5));
    inner.put(services, service('shop', 'other', '172.30.0.10'));
    await clock.advance(seconds(5));
    expect((await stop()).notes).toEqual(['warn: service shop/cart: may not be removed']);
  });

  it('continues where the operator cannot be restarted', async () => {
    const inner = fakeKube().put(services, service('shop', 'cart', '172.30.0.10'));
    const denied = () =>
      Promise.reject(kubeFailure('kube.denied', 'pods', { context: { status: 403 } }));
    const { stop } = setUp({ ...inner, removeAll: denied });
    await settle();
    expect((await stop()).notes).toEqual([
      'warn: service shop/cart: removed, as it had the address of the DNS service',
      'warn: cannot restart the DNS operator',
    ]);
  });

  it('removes nothing after 15 minutes without a DNS service', async () => {
    const { clock, kube, stop, written } = setUp();
    await clock.advance(minutes(15));
    kube.put(services, service('shop', 'cart', '172.30.0.10'));
    await clock.advance(minutes(1));
    expect(written()).toEqual([]);
    await stop();
  });

  it('is left out without a network', async () => {
    const { ids, stop } = setUp(fakeKube(), '');
    expect(ids).not.toContain('controller/free-dns-address');
    await stop();
  });
});
