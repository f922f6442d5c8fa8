import { expect, it } from 'vitest';
import { registrySettings } from './staging-registry.ts';

it('registrySettings listens with TLS on localhost and reads users from an htpasswd file', () => {
  expect(JSON.parse(registrySettings(22_626))).toMatchObject({
    http: { addr: '127.0.0.1:22626', tls: { key: '/etc/bootwright-registry/tls.key' } },
    auth: { htpasswd: { path: '/etc/bootwright-registry/htpasswd' } },
    storage: { filesystem: { rootdirectory: '/var/lib/registry' } },
  });
});
