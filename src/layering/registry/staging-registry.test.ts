import { describe, expect, it } from 'vitest';
import {
  answerArgv,
  registrySettings,
  runRegistryArgv,
  traceArgvs,
  tracesIn,
} from './staging-registry.ts';

const run = { image: 'r', data: '/data', served: '/served', authFile: '/auth' };

it('starts the plain registry of a release, and any other image as it starts by itself', () => {
  const ofRelease = runRegistryArgv({ ...run, isOfRelease: true });
  expect(ofRelease.slice(0, 4)).toEqual(['podman', 'run', '--detach', '--replace']);
  expect(ofRelease.slice(-5)).toEqual([
    '--entrypoint',
    '/usr/bin/distribution',
    'r',
    'serve',
    '/etc/bootwright-registry/settings.yml',
  ]);
  expect(runRegistryArgv({ ...run, isOfRelease: false })).not.toContain('--entrypoint');
});

it('listens with TLS, and knows its user from a file', () => {
  expect(JSON.parse(registrySettings({ port: 22_626 }))).toMatchObject({
    http: { addr: '127.0.0.1:22626', tls: { key: '/etc/bootwright-registry/tls.key' } },
    auth: { htpasswd: { path: '/etc/bootwright-registry/htpasswd' } },
    storage: { filesystem: { rootdirectory: '/var/lib/registry' } },
  });
});

it('asks with credentials from a file alone', () => {
  const options = { certificates: '/certs', credentials: '/curl' };
  expect(answerArgv('h:1', options)).toEqual(
    expect.arrayContaining(['--cacert', '/certs/ca.crt', '--config', '/curl', 'https://h:1/v2/']),
  );
  expect(answerArgv('h:1', { certificates: '/certs' })).not.toContain('--config');
});

const root = {
  root: '/run/staging',
  deployments: ['abc.0', 'abc.0.origin'],
  address: '[2001:db8::5]:22626',
};
const of = '/run/staging/ostree/deploy/rhcos/deploy';
const places = [
  `${of}/abc.0/etc/containers`,
  `${of}/abc.0/etc/docker`,
  `${of}/abc.0/etc/pki/ca-trust/source/anchors`,
  `${of}/abc.0.origin`,
];

describe('traces of a registry on a written disk', () => {
  it('are looked for in the origin and the settings of each deployment', () => {
    const [content = [], names = []] = traceArgvs(root);
    expect(content.slice(content.indexOf('-e'))).toEqual(['-e', root.address, '--', ...places]);
    expect(names.slice(1, -2)).toEqual(places);
  });

  it('are looked for by name without taking an IPv6 address for a pattern', () => {
    expect(traceArgvs(root)[1]?.slice(-2)).toEqual(['-name', String.raw`*\[2001:db8::5\]:22626*`]);
  });

  it('are counted once', () => {
    expect(tracesIn('/b\n/a', '/a', '')).toEqual(['/a', '/b']);
  });
});
