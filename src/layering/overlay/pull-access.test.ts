import { describe, expect, it } from 'vitest';
import { readPullAccess } from './pull-access.ts';

const certificate = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';
const secret = '{"auths":{"registry.example":{"auth":"eDp5"}}}';

const configWith = (files: Readonly<Record<string, string>>): string =>
  JSON.stringify({
    ignition: { version: '3.4.0' },
    storage: {
      files: Object.entries(files).map(([path, text]) => ({
        path,
        contents: { source: `data:,${encodeURIComponent(text)}` },
      })),
    },
  });

const read = (files: Readonly<Record<string, string>>) =>
  readPullAccess(
    configWith({ '/var/lib/kubelet/config.json': secret, ...files }),
    'registry.example:5000/ocl/worker',
  );

describe('readPullAccess', () => {
  it('finds the pull secret', () => {
    expect(read({})).toEqual({ pullSecret: secret, certificates: [] });
  });

  it.each([
    ['/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt', certificate, 1],
    ['/etc/docker/certs.d/registry.example:5000/ca.crt', certificate, 1],
    ['/etc/docker/certs.d/other.example/ca.crt', certificate, 0],
    ['/etc/docker/certs.d/registry.example:5000/client.key', certificate, 0],
    ['/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt', '', 0],
    ['/etc/kubernetes/ca.crt', certificate, 0],
  ])('looks for certificates in %s', (path, text, count) => {
    expect(read({ [path]: text }).certificates).toHaveLength(count);
  });

  it('wants a pull secret', () => {
    expect(() => readPullAccess(configWith({}), 'registry.example/x')).toThrow(
      expect.objectContaining({ code: 'ignition.file-missing' }),
    );
  });
});
