import { describe, expect, it } from 'vitest';
import { apiServerFlags, controllerManagerFlags, etcdFlags, keyFilesIn } from './server-flags.ts';

const keys = keyFilesIn('/rig/pki');

describe('the arguments of the servers', () => {
  it('keeps etcd on loopback, with a data folder of its own', () => {
    const flags = etcdFlags({ data: '/rig/etcd', port: 10_001, peerPort: 10_002 });
    expect(flags).toContain('--data-dir=/rig/etcd');
    const urls = flags.filter((flag) => flag.includes('://'));
    expect(urls).toHaveLength(5);
    expect(urls.every((flag) => /http:\/\/127\.0\.0\.1:1000[12]$/.test(flag))).toBe(true);
  });

  it('lets API servers share an etcd and the keys, not a port', () => {
    const [one, other] = [10_003, 10_004].map((port) =>
      apiServerFlags({ etcdPort: 10_001, port, keys }),
    );
    expect(one?.filter((flag) => !other?.includes(flag))).toEqual(['--secure-port=10003']);
    expect(one).toContain('--etcd-servers=http://127.0.0.1:10001');
  });

  it('leaves every admission plugin on that is on by default', () => {
    const flags = apiServerFlags({ etcdPort: 10_001, port: 10_003, keys });
    expect(flags.filter((flag) => flag.startsWith('--disable-'))).toEqual([]);
    expect(flags).toContain('--authorization-mode=Node,RBAC');
  });

  it('lets the controller manager run what it is told, and sign', () => {
    const flags = controllerManagerFlags({
      kubeconfig: '/rig/kubeconfig',
      port: 10_005,
      keys,
      controllers: ['one', 'two'],
    });
    expect(flags).toContain('--controllers=one,two');
    expect(flags).toContain('--cluster-signing-key-file=/rig/pki/ca.key');
  });
});
