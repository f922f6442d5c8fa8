import { expect, it } from 'vitest';
import { answerArgv, registrySettings, runRegistryArgv } from './staging-registry.ts';

it('starts the plain registry of a release, and any other image as it starts by itself', () => {
  const ofRelease = runRegistryArgv('r', true, '/auth');
  expect(ofRelease.slice(0, 4)).toEqual(['podman', 'run', '--detach', '--replace']);
  expect(ofRelease.slice(-5)).toEqual([
    '--entrypoint',
    '/usr/bin/distribution',
    'r',
    'serve',
    '/etc/bootwright-registry/settings.yml',
  ]);
  expect(runRegistryArgv('r', false, '/auth')).not.toContain('--entrypoint');
});

it('listens with TLS, and knows its user from a file', () => {
  expect(JSON.parse(registrySettings(22_626))).toMatchObject({
    http: { addr: '127.0.0.1:22626', tls: { key: '/etc/bootwright-registry/tls.key' } },
    auth: { htpasswd: { path: '/etc/bootwright-registry/htpasswd' } },
    storage: { filesystem: { rootdirectory: '/var/lib/registry' } },
  });
});

it('asks with credentials from a file alone', () => {
  expect(answerArgv('h:1')).toEqual(
    expect.arrayContaining(['--cacert', '--config', 'https://h:1/v2/']),
  );
});
