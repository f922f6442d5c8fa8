import { describe, expect, it } from 'vitest';
import { servedIgnition } from '../../../test/layering/served.ts';
import {
  OS_REPOSITORY_PATH,
  readPullAccess,
  readServedConfig,
  repositoryConfig,
  repositoryIn,
  servedImageProblem,
} from './served-config.ts';

const final = `registry.example.com/ocl/master@sha256:${'a'.repeat(64)}`;
const rendered = `rendered-master-${'0'.repeat(32)}`;

describe('readServedConfig', () => {
  it('reads the config that a layered pool is served', () => {
    const text = servedIgnition({ rendered, osImage: final, image: final });
    expect(readServedConfig(text)).toEqual({
      rendered,
      osImage: final,
      currentImage: final,
      desiredImage: final,
    });
    expect(readServedConfig(Buffer.from(text))).toEqual(readServedConfig(text));
  });

  it('returns no image for a pool that is not layered', () => {
    const text = servedIgnition({ rendered, osImage: 'release' });
    expect(readServedConfig(text)).toEqual({ rendered, osImage: 'release' });
  });

  it.each([
    ['two MachineConfigs', { named: 'rendered-master-1' }, 'layering.served-config-invalid'],
    ['a MachineConfig without a name', { named: '' }, 'layering.served-config-invalid'],
    ['no annotations', { annotations: undefined }, 'ignition.file-missing'],
    ['annotations that are a list', { annotations: '[]' }, 'layering.served-config-invalid'],
    ['malformed annotations', { annotations: '{' }, 'layering.served-config-invalid'],
  ])('refuses %s', (_, more, code) => {
    const text = servedIgnition({ rendered, osImage: 'release', ...more });
    expect(() => readServedConfig(text)).toThrow(expect.objectContaining({ code }));
  });

  it('refuses a config of spec 2', () => {
    const text = servedIgnition({ rendered, osImage: 'release', version: '2.2.0' });
    expect(() => readServedConfig(text)).toThrow(
      expect.objectContaining({ code: 'ignition.spec-2' }),
    );
  });
});

describe('servedImageProblem', () => {
  const whole = { rendered, osImage: final, currentImage: final, desiredImage: final };

  it.each([
    [{ ...whole, osImage: 'release' }, 'osImageURL is release instead of'],
    [{ ...whole, currentImage: 'other' }, 'currentImage is other instead of'],
    [
      readServedConfig(servedIgnition({ rendered, osImage: final })),
      'currentImage is not set, desiredImage is not set instead of',
    ],
  ])('names the field that differs', (served, words) => {
    expect(servedImageProblem(served, final)).toContain(words);
  });
});

const named = { pool: 'worker', repository: 'registry.example:5000/ocl/worker' };
const served = (...files: readonly object[]): string =>
  JSON.stringify({ ignition: { version: '3.2.0' }, storage: { files } });

describe('the repository of a pool', () => {
  it('is read back from the config of repositoryConfig', () => {
    const { spec } = repositoryConfig(named.pool, named.repository) as { spec: { config: object } };
    expect(repositoryIn(JSON.stringify(spec.config))).toBe(named.repository);
  });

  it('is undefined for an empty config and for other files', () => {
    expect(repositoryIn(served())).toBeUndefined();
    expect(repositoryIn('{"ignition":{"version":"3.2.0"}}')).toBeUndefined();
    const other = { path: `${OS_REPOSITORY_PATH}.bak`, contents: { source: 'data:,x' } };
    expect(repositoryIn(served(other))).toBeUndefined();
  });
});

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
  it('reads the pull secret', () => {
    expect(read({})).toEqual({ pullSecret: secret, certificates: [] });
  });

  it.each([
    ['/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt', certificate, 1],
    ['/etc/docker/certs.d/registry.example:5000/ca.crt', certificate, 1],
    ['/etc/docker/certs.d/other.example/ca.crt', certificate, 0],
    ['/etc/docker/certs.d/registry.example:5000/client.key', certificate, 0],
    ['/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt', '', 0],
    ['/etc/kubernetes/ca.crt', certificate, 0],
  ])('reads certificates from %s', (path, text, count) => {
    expect(read({ [path]: text }).certificates).toHaveLength(count);
  });

  it('requires a pull secret', () => {
    expect(() => readPullAccess(configWith({}), 'registry.example/x')).toThrow(
      expect.objectContaining({ code: 'ignition.file-missing' }),
    );
  });
});
